"""A real browser against a real server, started the way people start it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from django.conf import settings
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    StorageState,
    expect,
    sync_playwright,
)

from chatapp.providers import provider_specs
from tests.first_start import FirstStart

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ADDRESS = re.compile(r"(http://\S+?)(/sign-in/\S+)")
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
PATIENCE = 60_000  # milliseconds; the machine may be busy

expect.set_options(timeout=PATIENCE)

MANAGE = Path(settings.BASE_DIR) / "manage.py"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where it is, how to sign in, and the environment of its data."""

    base: str
    sign_in: str
    environment: dict[str, str]

    def run(self, script: str) -> str:
        """Run Python in the server's project and return what it prints."""
        command = [sys.executable, str(MANAGE), "shell", "-v0", "-c", script]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Iterator[Server]:
    """`manage.py serve` on a free port, over a folder of its own."""
    folder = first_start.copy(tmp_path_factory.mktemp("data"))
    environment = {**os.environ, "DATA_DIR": str(folder), "HOST": "127.0.0.1", "PORT": "0"}
    keys = {spec.key_variable for spec in provider_specs().values()}
    urls = {spec.url_variable for spec in provider_specs().values()}
    for name in (*keys, *urls, "WORKSPACES_ROOT"):
        environment.pop(name, None)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", str(MANAGE), "serve"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdout
        line = process.stdout.readline()
        found = ADDRESS.search(line)
        assert found, (line, (folder / "log").read_text())
        yield Server(found[1], found[2], environment)
        process.terminate()
        process.wait(timeout=PATIENCE / 1000)
        process.stdout.close()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Debian's chromium; it lives as long as a file's tests, for its event loop bears no other."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def session(server: Server) -> StorageState:
    """The cookies of the owner, who followed the printed link."""
    cookies = CookieJar()
    opener, link = build_opener(HTTPCookieProcessor(cookies)), server.base + server.sign_in
    with opener.open(link) as page:
        token = TOKEN.search(page.read().decode())
    assert token
    opener.open(link, urlencode({"csrfmiddlewaretoken": token[1]}).encode()).close()
    host = str(urlsplit(server.base).hostname)
    return {
        "cookies": [
            {"name": cookie.name, "value": cookie.value or "", "domain": host, "path": "/"}
            for cookie in cookies
        ],
    }


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, server: Server, session: StorageState) -> Iterator[OpenPage]:
    """Open pages of the owner: ``open_page("/", width=360, theme="dark")``.

    With ``known=False`` they are a stranger's, who has no session.

    An error in a page's script, or a refused inline style, fails the test.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_one(
        path: str = "/",
        *,
        width: int = 1280,
        theme: str = "light",
        known: bool = True,
        locale: str = "en-US",
    ) -> Page:
        context = browser.new_context(
            base_url=server.base,
            storage_state=session if known else None,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if theme == "dark" else "light",
            locale=locale,
            # Nothing is looked at halfway.
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda line: problems.append(line.text) if "Content Security" in line.text else None,
        )
        page.goto(path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not problems


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The first page, signed in."""
    return open_page("/")


SEED = Path(__file__).with_name("seed.py")


@pytest.fixture(scope="session")
def long_chat(server: Server) -> str:
    """The address of a conversation that has every kind of row."""
    return f"/c/{server.run(SEED.read_text('utf-8'))}/"


@pytest.fixture(scope="session")
def turns_chat(server: Server) -> str:
    """The address of a conversation whose turns failed, were cut, and were answered again."""
    return f"/c/{server.run(SEED.with_name('seed_turns.py').read_text('utf-8'))}/"


HISTORY_SEED = Path(__file__).with_name("seed_history.py")


@pytest.fixture(scope="session")
def history(server: Server) -> str:
    """The address of a conversation of hundreds of messages, in which nothing more is said."""
    return f"/c/{server.run(HISTORY_SEED.read_text('utf-8'))}/"
