"""The page of costs."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import OpenPage
from tests.e2e.test_axe import WIDTHS, complaints

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", WIDTHS)
def test_the_costs_are_accessible_at_any_width(
    open_page: OpenPage, long_chat: str, width: int
) -> None:
    """Reached by the keyboard from the condensations; nothing but the tables scrolls sideways."""
    page = open_page("/condensations/", width=width)
    page.get_by_role("link", name="Cost of all calls").press("Enter")
    expect(page.get_by_role("heading", name="By conversation")).to_be_visible()
    expect(page.get_by_role("link", name="Every kind of row").last).to_be_visible()
    assert complaints(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
