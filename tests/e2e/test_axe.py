"""axe-core finds nothing to complain about, on any page, in either theme."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage, Server

pytestmark = pytest.mark.browser

PAGES = [
    "/",
    "/condensations/",
    "/costs/",
    "/profiles/",
    "/profiles/new/",
    "/settings/",
    "/mcp/",
    "/mcp/new/",
    "/c/missing/",
]
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = [1280, 360]

# Prints the address of a conversation in which a picture and a program were attached.
ATTACHED = """
import condense
from django.contrib.auth.models import User
from chatapp import services
from chatapp.models import store
from tests.chatapp.pictures import make_png

talk = services.start_conversation(owner=User.objects.get())
files = (("photo.png", make_png(300, 200)), ("a.py", b"print(1)"))
blocks = [services.block_for(name, data) for name, data in files]
message = condense.Message("user", (condense.TextBlock("Look"), *blocks))
store.append_message(talk.pk, message, tokens=1)
print(f"/c/{talk.pk}/")
"""

# Prints the address of a conversation in which one condensation stands on another.
STACKED = """
import condense
from django.contrib.auth.models import User
from chatapp import services
from chatapp.models import store
from tests.chatapp.conftest import summarise
from tests.records import put_on_record

talk = services.start_conversation(owner=User.objects.get())
for text in ("One", "Two"):
    store.append_message(talk.pk, condense.Message("user", text), tokens=1)
    store.append_message(talk.pk, condense.Message("assistant", text), tokens=1)
    made = summarise(talk)
    put_on_record(talk, message=made, at_seq=made.seq - 1)
print(f"/c/{talk.pk}/")
"""


def complaints(page: Page) -> list[str]:
    """Return one line for each violation, in either theme of the system; the page follows it."""
    return [line for theme in THEMES for line in complaints_in(page, theme)]


def complaints_in(page: Page, theme: Literal["light", "dark"]) -> list[str]:
    """Return those in one theme, in which the page stays."""
    page.emulate_media(color_scheme=theme)
    found = Axe().run(page).response["violations"]
    return [
        f"{theme}: {one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


def test_pages_are_accessible(page: Page) -> None:
    """Contrast, names, roles, landmarks."""
    for path in PAGES:
        page.goto(path)
        assert complaints(page) == [], path


@pytest.mark.parametrize("width", WIDTHS)
def test_a_chat_with_every_kind_of_row_is_accessible(
    open_page: OpenPage, long_chat: str, width: int
) -> None:
    """With everything that can be opened, open."""
    page = open_page(long_chat, width=width)
    page.evaluate(
        "for (const one of document.querySelectorAll('#transcript details')) one.open = true"
    )
    page.get_by_text("What was hidden").first.click()
    page.locator(".hidden-list").first.wait_for()
    assert complaints(page) == []
    page.get_by_text("Files folded").click()
    assert complaints(page) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_turns_that_failed_were_cut_or_answered_again_are_accessible(
    open_page: OpenPage, turns_chat: str, width: int
) -> None:
    """Open and closed; nothing scrolls sideways."""
    page = open_page(turns_chat, width=width)
    assert complaints(page) == []
    page.evaluate(
        "for (const one of document.querySelectorAll('#transcript details')) one.open = true"
    )
    assert complaints(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_dialogs_and_menus_are_accessible(open_page: OpenPage, long_chat: str) -> None:
    """The rewind that says what it hides, and the list of shortcuts."""
    page = open_page(long_chat)
    page.get_by_role("button", name="Rewind to here").last.click()
    page.get_by_role("button", name="Rewind", exact=True).wait_for()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert complaints(page) == []


def test_undoing_several_condensations_is_accessible(open_page: OpenPage, server: Server) -> None:
    """The question that says how many, on a phone."""
    page = open_page(server.run(STACKED), width=360)
    page.get_by_role("button", name="Undo this and the later ones").click()
    page.get_by_role("dialog", name="Undo this and the later condensation?").wait_for()
    assert complaints(page) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_search_is_accessible(open_page: OpenPage, history: str, width: int) -> None:
    """What was found, beside the page and in the conversation."""
    page = open_page(f"{history}?at=48.48&q=heliotrope", width=width)
    page.get_by_text("1 of 1").wait_for()
    assert complaints(page) == []
    if width < 900:
        page.get_by_role("button", name="Close search").click()
        page.get_by_role("button", name="Sidebar").click()
        page.get_by_role("list", name="The logbook").wait_for()
        assert complaints(page) == []


def test_signing_in_is_accessible(open_page: OpenPage) -> None:
    """For someone who has no session."""
    page = open_page("/", known=False)
    page.get_by_role("heading", name="Sign in").wait_for()
    assert complaints(page) == []


def test_what_is_suggested_while_typing_is_accessible(open_page: OpenPage, long_chat: str) -> None:
    """Commands and their help, on a phone."""
    page = open_page(long_chat, width=360)
    page.get_by_role("textbox", name="Message").press_sequentially("/")
    page.get_by_role("listbox", name="Suggestions").wait_for()
    assert complaints(page) == []
    page.keyboard.type("help")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Commands").wait_for()
    assert complaints(page) == []


def test_a_link_into_the_settings_leaves_the_page_where_it_is(open_page: OpenPage) -> None:
    """Only what lies in the middle scrolls."""
    page = open_page("/settings/#commands")
    assert page.get_by_role("heading", name="Commands").is_visible()
    assert page.evaluate("[document.documentElement.scrollTop, document.body.scrollTop]") == [0, 0]


@pytest.fixture(scope="module")
def attached(server: Server) -> str:
    """Return the address of a conversation in which a picture and a program were attached."""
    return server.run(ATTACHED)


def test_what_is_attached_is_accessible(open_page: OpenPage, attached: str) -> None:
    """As chips on the first page, and as rows of a message, opened."""
    page = open_page("/", width=360)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": "a.py", "mimeType": "text/plain", "buffer": b"print(1)\n"}])
    page.get_by_role("button", name="Remove a.py").wait_for()
    assert complaints(page) == []
    page = open_page(attached, width=360)
    page.get_by_text("a.py").click()
    assert page.get_by_role("img", name="photo.png").get_attribute("alt") == "photo.png"
    assert complaints(page) == []
