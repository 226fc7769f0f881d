"""A real browser against a real server, started the way people start it.

The server lives as long as the run, the browser as long as this folder's tests: its event loop
must not meet those of others. The tests share a tab, because the first page of a new one takes
twice as much of the processor as each further page. What a tab keeps (its clock, its listeners, its
language) belongs into one of the test's own.

A test that fails leaves pictures of its tabs and logs, in the folder that its report names.
"""

import json
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e import evidence
from tests.e2e.chat import Chat
from tests.e2e.line import Line
from tests.e2e.server import Desk, Server, serving
from tests.e2e.tabs import FLAGS, PATIENCE, Tabs
from tests.first_start import FirstStart
from tests.processes import started
from tests.standin.server import Standin

expect.set_options(timeout=PATIENCE)

OpenChat = Callable[..., Chat]
OpenPage = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as one that needs a browser."""
    for item in items:
        if "tests/e2e/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep how the tabs were and what was logged, while a test that fails still has them open."""
    report = yield
    known = getattr(item, "funcargs", {})
    window, browser = known.get("window"), known.get("browser")
    if browser and call.when != "teardown" and (report.failed or (window and window.complaints)):
        servers = [one.log for one in known.values() if isinstance(one, Server)]
        logs = [*servers, *known["tmp_path"].glob("*.log")]
        place = evidence.keep(browser, item.nodeid, logs)
        report.sections.append(("Pictures and logs", str(place)))
    return report


@pytest.fixture(scope="session")
def seeded(first_start: FirstStart) -> Path:
    """A server's folder, with what `seeds` makes and a file that says where it is."""

    def make(folder: Path) -> None:
        first_start.copy(folder)
        code = "from tests.e2e import seeds; seeds.print_made()"
        shell = ("manage.py", "shell", "-v0", "-c", code)
        with started(*shell, DATA_DIR=str(folder)) as (_pid, made):
            (folder / "made.json").write_text(made)

    return first_start.once("e2e", make)


@pytest.fixture(scope="session")
def made(seeded: Path) -> dict[str, dict[str, str]]:
    """What is in that folder."""
    made: dict[str, dict[str, str]] = json.loads((seeded / "made.json").read_text())
    return made


@pytest.fixture(scope="session")
def addresses(made: dict[str, dict[str, str]]) -> dict[str, str]:
    """The address of each of those conversations, by its name."""
    return made["addresses"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, seeded: Path) -> Iterator[Server]:
    """One server for all tests; its settings are put back by whoever changes them."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copytree(seeded, folder / "data")
    with serving(folder, ALLOW_COMMANDS="true", RECALL_BY_MEANING="false") as running:
        yield running


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def window(browser: Browser, server: Server) -> Tabs:
    """The tabs of all tests, signed in with the printed link."""
    return Tabs(browser, server)


@pytest.fixture(scope="package")
def desk(window: Tabs, server: Server) -> Iterator[Desk]:
    """Arranges what a test begins with, as who is signed in at ``window``."""
    desk = Desk(server)
    yield desk
    desk.client.close()


@pytest.fixture
def tabs(window: Tabs, server: Server) -> Iterator[Tabs]:
    """The tabs, in which no script may fail, and nor may the server."""
    known = len(server.errors())
    yield window
    complaints = window.tidy()
    assert not complaints, evidence.FOLDER
    assert not server.errors()[known:]


@pytest.fixture
def page(tabs: Tabs) -> Page:
    """The tab that all tests share, as a person would find it."""
    return tabs.page


@pytest.fixture
def own_page(tabs: Tabs) -> Page:
    """A tab of the test's own."""
    return tabs.open()


@pytest.fixture
def line(tabs: Tabs) -> Line:
    """The sockets of a tab, which the test holds: ``line.page``."""
    return Line(tabs)


@pytest.fixture
def open_page(tabs: Tabs, desk: Desk) -> OpenPage:
    """Open a page where Offline answers: ``open_page("/", width=360)``.

    With ``own`` it has a tab of its own.
    """

    def open_one(path: str = "/", *, width: int = 1280, own: bool = False) -> Page:
        desk.choose_default("Offline")
        page = tabs.open() if own else tabs.page
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(path)
        return page

    return open_one


@pytest.fixture
def first_page(open_page: OpenPage) -> Page:
    """The first page, where Offline answers."""
    return open_page()


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A provider; in the end, every request must have satisfied its rules."""
    with Standin() as server:
        yield server
    assert not server.problems
    assert not server.unused


@pytest.fixture
def open_chat(tabs: Tabs, desk: Desk, standin: Standin) -> OpenChat:
    """Open a conversation that the stand-in answers: ``open_chat(window=6_000)``."""

    def start(
        *, page: Page | None = None, words: Callable[[str], str] = str, **limits: Any
    ) -> Chat:
        desk.use_profile(standin.url, **limits)
        return Chat(page or tabs.page, desk.new_conversation(), words)

    return start
