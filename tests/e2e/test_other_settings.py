"""What a server does that has other settings: accounts of a company, a provider, longer words."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.chatapp.accounts.provider import CLIENT, SECRET, providing
from tests.cluster.services import free_port
from tests.e2e import pseudo
from tests.e2e.accessibility import PAGES, open_all
from tests.e2e.server import serving
from tests.e2e.tabs import Tabs
from tests.standin.server import Standin
from tests.tooling import messages


@pytest.fixture(scope="module")
def claude() -> int:
    """The port at which the server looks for Anthropic."""
    return free_port()


@pytest.fixture(scope="module")
def issuer_and_window(
    browser: Browser, seeded: Path, claude: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Tabs]]:
    """The company's provider of accounts and the tabs at the server, which is one for all tests."""
    folder, port = tmp_path_factory.mktemp("other"), free_port()
    shutil.copytree(seeded, folder / "data")
    pseudo.write(folder / "locale", messages.collect())
    # Ports of one name share their cookies, and the provider has the other name.
    with providing(folder, f"http://localhost:{port}") as issuer:
        told = {
            "PORT": str(port),
            "OIDC_ISSUER": issuer,
            "OIDC_NAME": "Example",
            "OIDC_CLIENT_ID": CLIENT,
            "OIDC_CLIENT_SECRET": SECRET,
            "OIDC_GROUPS": "writers",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{claude}",
            "DJANGO_SETTINGS_MODULE": "tests.e2e.pseudo_settings",
            "STRETCHED": str(folder / "locale"),
        }
        with serving(folder, **told) as server:
            window = Tabs(browser, server)
            yield issuer, window
            assert not window.tidy()
            window.page.context.close()
            assert not server.errors()


@pytest.fixture
def issuer(issuer_and_window: tuple[str, Tabs]) -> str:
    """The address of the company's provider."""
    return issuer_and_window[0]


@pytest.fixture
def window(issuer_and_window: tuple[str, Tabs]) -> Tabs:
    """The tabs at that server."""
    return issuer_and_window[1]


def test_a_company_account_signs_in(issuer: str, window: Tabs) -> None:
    """A click leads to the provider, and from there back into the chat."""
    origin = window.server.url.replace("127.0.0.1", "localhost")
    for name in ("dana", "erin"):
        guest = window.open(known=False)
        guest.goto(origin)
        guest.get_by_role("link", name="Sign in with Example").click()
        guest.wait_for_url(f"{issuer}/**")
        guest.get_by_label("Username").fill(name)
        guest.get_by_label("Password").fill(name)
        guest.get_by_role("button", name="Sign In").click()
        guest.wait_for_url(f"{origin}/**")
        is_writer = name == "dana"
        expect(guest.get_by_role("textbox", name="Message")).to_have_count(int(is_writer))
    expect(guest.get_by_text("isn't allowed on this server")).to_be_visible()


# Words of the page that nobody has marked: those of users, names and code aside.
UNMARKED = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const own = "script, style, code, pre, kbd, textarea, option, .prose, [dir=auto], bdi, h1, a,"
    + " td, li";
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.textContent.trim();
    if (!node.parentElement.closest(own) && / /.test(text) && /[a-z]{3}/.test(text)
        && !/[áéíóúýčñšž]/i.test(text)) found.push(text);
  }
  return found;
}"""


def test_longer_words_break_no_layout(window: Tabs, addresses: dict[str, str]) -> None:
    """No page scrolls sideways at 360 px, with everything open; and none has an unmarked word."""
    page = window.open(locale=pseudo.CODE)
    page.set_viewport_size({"width": 360, "height": 800})
    for place in PAGES:
        page.goto(addresses.get(place, place))
        open_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place
        # Conversations are full of what was said in them.
        assert place in addresses or page.evaluate(UNMARKED) == [], place


# The last one here: the name of its model is a word of no language.
def test_one_field_and_two_clicks_lead_to_an_answer_of_a_real_model(
    window: Tabs, claude: int
) -> None:
    """The key is tested at once; a wrong one stays in its field, and so does what was written."""
    page = window.page
    page.goto("/")
    box, key = page.get_by_role("textbox", name="Message"), page.get_by_label("API key")
    connect = page.get_by_role("button", name="Connect")
    chosen = page.get_by_role("combobox", name="Answered by").locator("option:checked")
    expect(chosen).to_have_text("Offline")
    with Standin(port=claude, key="sk-right") as standin:
        box.fill("Hello")
        key.fill("sk-wrong")
        connect.click()
        expect(page.get_by_role("alert")).to_contain_text("did not accept this key")
        expect(key).to_have_value("sk-wrong")
        page.reload()
        expect(box).to_have_value("Hello")
        box.clear()
        # Here the clicks and the fields are counted.
        key.fill("sk-right")
        connect.click()
        expect(chosen).to_have_text("Claude Opus 5.5")
        expect(box).to_be_focused()
        page.keyboard.type("Who answers?")
        page.get_by_role("button", name="Send").click()
        log = page.get_by_role("log", name="Conversation")
        expect(log.get_by_role("article", name="Agent")).to_contain_text("You said: Who answers?")
        expect(page.get_by_role("status").filter(has_text="Done.").first).to_be_visible()
        assert standin.requests[-1].body["model"] == "claude-opus-5-5"
    assert not standin.problems
