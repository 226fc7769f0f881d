"""Every place of a long conversation can be reached: by scrolling, by links, and back again."""

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import OpenPage


def log(page: Page) -> Locator:
    """Return the transcript."""
    return page.get_by_role("log", name="Conversation")


def scroll_through(page: Page, loader: str) -> None:
    """Scroll to where the page goes on until it goes on no further."""
    while (cut := page.evaluate(f"document.querySelector('{loader}')?.dataset.cut")) is not None:
        page.locator(loader).scroll_into_view_if_needed()
        expect(page.locator(f'[data-cut="{cut}"]')).to_have_count(0)


def test_the_first_message_is_reached_by_scrolling_up(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Past every run of results, with each row once and in order."""
    page = open_page(addresses["history"])
    scroll_through(page, ".older")
    expect(page.locator("#message-1")).to_contain_text("Question 1:")
    seqs = page.eval_on_selector_all(
        "#transcript > .message", "rows => rows.map(row => Number(row.dataset.seq))"
    )
    spoken = [seq for seq in range(1, 361) if seq % 6 in {1, 2, 0}]
    assert seqs == [*spoken, 364, 365]


def test_a_link_leads_to_its_place_and_the_end_is_reached_from_there(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """By scrolling down, with each row once."""
    page = open_page(f"{addresses['history']}?at=43")
    expect(page.locator("#message-43")).to_be_focused()
    expect(page.locator("#message-43")).to_be_in_viewport()
    expect(page.locator("#message-365")).to_have_count(0)
    scroll_through(page, ".newer")
    expect(page.locator("#message-365")).to_have_count(1)
    seqs = page.eval_on_selector_all(
        "#transcript > .message", "rows => rows.map(row => Number(row.dataset.seq))"
    )
    assert seqs[-3:] == [360, 364, 365]
    assert seqs == sorted(set(seqs))


def test_what_hides_a_message_and_the_latest_are_a_click_away(
    open_page: OpenPage, addresses: dict[str, str]
) -> None:
    """Also where what lies between is not on the page."""
    page = open_page(f"{addresses['history']}?at=43")
    page.get_by_role("button", name="Jump to latest").click()
    expect(page.locator("#message-365")).to_be_in_viewport()
    expect(page.locator("#message-43")).to_have_count(0)
    expect(page.get_by_role("button", name="Jump to latest")).to_be_hidden()
    page.goto(f"{addresses['history']}?at=43")
    log(page).get_by_role("link", name="Hidden by a condensation").first.click()
    fold = log(page).get_by_role("article", name="Context condensed")
    expect(fold).to_be_focused()
    expect(fold).to_be_in_viewport()
