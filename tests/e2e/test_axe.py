"""axe-core finds nothing to complain about, on any page, in either theme."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import OFTEN_CHANGED, SELDOM_CHANGED, complaints, open_all, problems
from tests.e2e.conftest import OpenPage
from tests.e2e.tabs import Tabs


@pytest.mark.parametrize(
    "pages",
    [OFTEN_CHANGED, pytest.param(SELDOM_CHANGED, marks=pytest.mark.rare)],
    ids=["often changed", "seldom changed"],
)
def test_pages_are_accessible_and_as_narrow_as_a_phone(
    open_page: OpenPage, addresses: dict[str, str], pages: tuple[str, ...]
) -> None:
    """Contrast, names, roles, landmarks; nothing scrolls sideways, whatever is open."""
    page, wrong, wide = open_page(), {}, []
    for path in pages:
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(addresses.get(path, path))
        open_all(page)
        if found := complaints(page):
            wrong[path] = found
        page.set_viewport_size({"width": 360, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth") > 360:
            wide.append(path)
    assert wrong == {}
    assert wide == []


@pytest.mark.rare
def test_what_strangers_open_is_accessible(window: Tabs, page: Page) -> None:
    """Signing in, an invitation and what it leads to, and a password that was forgotten."""
    page.goto("/users/")
    page.get_by_role("button", name="Invite").click()
    link = page.get_by_role("textbox", name="Link").input_value()
    assert problems(page) == []
    guest = window.open(known=False)
    for place in ("/sign-in/", "/account/password/reset/", "/invitations/used/", link):
        guest.goto(place)
        assert problems(guest) == [], place
    guest.get_by_role("button", name="Make an account").click()
    guest.get_by_label("Username").wait_for()
    assert problems(guest) == []


@pytest.mark.rare
def test_the_password_pages_are_accessible(window: Tabs, page: Page) -> None:
    """One's own, and the one that an operator's link leads to."""
    page.goto("/account/password/change/")
    assert problems(page) == []
    page.goto("/users/")
    page.get_by_role("button", name="Reset password").first.click()
    link = page.get_by_role("textbox", name="Link").input_value()
    guest = window.open(known=False)
    guest.goto(link)
    guest.get_by_label("New Password", exact=True).wait_for()
    assert problems(guest) == []


def test_a_chat_with_every_kind_of_row_is_accessible(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """With everything that can be opened, open; its dialogs and its list of shortcuts, too."""
    page = open_page(addresses["rows"])
    page.get_by_role("button", name="Rewind to before this").last.click()
    page.get_by_role("button", name="Rewind", exact=True).wait_for()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    open_all(page)
    page.get_by_text("What was hidden").first.click()
    page.locator("[data-panel=hidden]").first.scroll_into_view_if_needed()
    page.locator(".originals").first.wait_for()
    assert problems(page) == []
    page.get_by_text("Files", exact=True).last.click()
    assert problems(page, 360) == []
    assert page.evaluate("scroller.scrollWidth - scroller.clientWidth") == 0


@pytest.mark.rare
def test_a_search_is_accessible(open_page: OpenPage, addresses: dict[str, str]) -> None:
    """What was found, beside the page and in the conversation."""
    page = open_page(f"{addresses['history']}?at=48.48&q=heliotrope")
    page.get_by_text("1 of 1", exact=True).wait_for()
    assert problems(page, 1280, 360) == []
    page.get_by_role("button", name="Close search").click()
    page.get_by_role("button", name="Sidebar").click()
    page.get_by_role("list", name="The logbook").wait_for()
    assert complaints(page) == []


@pytest.mark.rare
def test_the_pages_of_costs_and_records_lead_on(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """By keyboard; a chart is a table as well, and a broken record is named beside the others."""
    page = open_page("/condensations/", width=360)
    page.get_by_role("link", name="Cost of all calls").press("Enter")
    expect(page.get_by_role("heading", name="By conversation")).to_be_visible()
    page.goto(addresses["course"])
    expect(page.get_by_role("img", name="with 2 drops")).to_be_visible()
    page.get_by_text("The turns as a table").click()
    expect(page.get_by_role("row", name="165,000")).to_be_visible()
    page.goto("/condensations/audit/")
    page.get_by_role("link", name="Tampered with").first.click()
    expect(page.get_by_text("Entry 7 is not what was written")).to_be_visible()
    page.goto("/api/docs")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.rare
def test_what_is_suggested_while_typing_is_accessible(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Commands and their help, on a phone."""
    page = open_page(addresses["rows"], width=360)
    page.get_by_role("textbox", name="Message").press_sequentially("/")
    page.get_by_role("listbox", name="Suggestions").wait_for()
    assert complaints(page) == []
    page.keyboard.type("help")
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Commands").wait_for()
    assert complaints(page) == []


@pytest.mark.rare
def test_what_is_attached_is_accessible(open_page: OpenPage, addresses: dict[str, str]) -> None:
    """As chips on the first page, and as rows of a message, opened."""
    page = open_page("/", width=360)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": "a.py", "mimeType": "text/plain", "buffer": b"print(1)\n"}])
    page.get_by_role("button", name="Remove a.py").wait_for()
    assert complaints(page) == []
    page.goto(addresses["attached"])
    page.get_by_role("article", name="You").get_by_text("a.py").click()
    assert page.get_by_role("img", name="photo.png").get_attribute("alt") == "photo.png"
    assert complaints(page) == []
