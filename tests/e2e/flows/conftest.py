"""A server, a browser and a stand-in for the provider; each test has its own conversation.

The browser lives as long as this folder's tests: its event loop must not meet those of others.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    sync_playwright,
)

from tests.chatapp.providers.doors import DOORS, Door
from tests.e2e.conftest import PATIENCE
from tests.e2e.flows.chat import Chat
from tests.e2e.flows.serving import Desk, Server, serving
from tests.first_start import FirstStart
from tests.standin.server import Standin

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
NETWORK = ("Failed to load resource", "WebSocket connection")

OpenChat = Callable[..., Chat]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as one that needs a browser."""
    for item in items:
        if "tests/e2e/flows/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Iterator[Server]:
    """One server for all tests; its settings are put back by whoever changes them."""
    folder = tmp_path_factory.mktemp("server")
    first_start.copy(folder / "data")
    with serving(folder, ALLOW_COMMANDS="true") as running:
        yield running


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def signed_in(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    """The context in which the printed link was opened."""
    context = browser.new_context(base_url=server.url)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(server.link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(server.url + "/")
    page.close()
    yield context
    context.close()


@pytest.fixture(scope="package")
def desk(signed_in: BrowserContext) -> Desk:
    """Arranges what a test begins with."""
    return Desk(signed_in.request)


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A provider; in the end, every request must have satisfied its rules."""
    with Standin() as server:
        yield server
    assert not server.problems
    assert not server.unused


@pytest.fixture
def context(
    browser: Browser, server: Server, signed_in: BrowserContext
) -> Iterator[BrowserContext]:
    """A signed-in browser window of the test's own, in which no script may fail."""
    complaints: list[str] = []
    context = browser.new_context(
        base_url=server.url,
        storage_state=signed_in.storage_state(),
        viewport={"width": 1280, "height": 800},
        locale="en-US",
        # Nothing is looked at halfway.
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    context.on("console", lambda said: complaints.extend(_complaint(said)))
    known = len(server.errors())
    yield context
    context.close()
    assert not complaints
    assert not server.errors()[known:]


def _complaint(said: ConsoleMessage) -> list[str]:
    """Return an error of a script or the page's policy; a lost connection is none."""
    is_error = said.type == "error" and not said.text.startswith(NETWORK)
    return [said.text] if is_error else []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A tab of the test's window."""
    return context.new_page()


@pytest.fixture
def open_chat(page: Page, desk: Desk, standin: Standin) -> OpenChat:
    """Open a conversation that the stand-in answers: ``open_chat(window=6_000)``."""

    def start(
        *,
        door: Door = DOORS[0],
        window: int = 200_000,
        max_output: int = 400,
        threshold: str = "",
    ) -> Chat:
        limits = {"window": window, "max_output": max_output}
        desk.use_profile(door.url(standin), door, threshold=threshold, **limits)
        return Chat(page, desk.new_conversation())

    return start
