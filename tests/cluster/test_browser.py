"""A browser at the proxy: whichever web process answers it, it shows the same."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.cluster.narrator import story
from tests.cluster.pages import Reading
from tests.cluster.proxy import Proxy
from tests.cluster.services import PATIENCE
from tests.cluster.stage import Stage, in_cluster, make_link
from tests.e2e.chat import Chat
from tests.e2e.tabs import FLAGS

pytestmark = [in_cluster, pytest.mark.browser]


@pytest.fixture
def proxy(stage: Stage, reading: Reading) -> Iterator[Proxy]:
    """The proxy before both web processes."""
    proxy = Proxy([web.port for web in stage.cluster.webs])
    reading.begin(proxy.open()).result(PATIENCE)
    yield proxy
    reading.begin(proxy.close()).result(PATIENCE)


@pytest.fixture
def browser(chromium: str) -> Iterator[Browser]:
    """A browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def signed_in(browser: Browser, address: str) -> Iterator[Page]:
    """Yield a tab whose person has followed a link."""
    context = browser.new_context()
    context.set_default_timeout(1_000 * PATIENCE)
    tab = context.new_page()
    tab.goto(address)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url(re.compile(r"/$"))
    yield tab
    context.close()


def test_what_is_sent_in_one_tab_is_followed_in_another(
    stage: Stage, proxy: Proxy, browser: Browser
) -> None:
    """Word by word, in two browsers' sessions; who signs out in one is told so in its other tab."""
    origin, told = f"http://127.0.0.1:{proxy.port}", story(120)
    address = f"{origin}/c/{stage.converse()}/"
    links = [origin + make_link(stage.cluster) for _ in range(2)]
    expect.set_options(timeout=1_000 * PATIENCE)
    with signed_in(browser, links[0]) as first, signed_in(browser, links[1]) as second:
        here, there = Chat(first, address), Chat(second, address)
        here.type(told.message)
        expect(there.log).to_contain_text(told.words[8])
        expect(there.stop).to_be_visible()
        for chat in (here, there):
            chat.finished()
            text = chat.rows("Agent").last.locator(".prose").inner_text()
            assert text.split() == [*told.words]
        again = first.context.new_page()
        again.goto(f"{origin}/")
        again.get_by_role("button", name="Sign out").click()
        expect(first.locator("#connection")).to_contain_text("Sign in")
