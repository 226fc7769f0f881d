"""Whether the record holds: asked from the menu, told there, and with its entries on a page."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import OpenPage, Server
from tests.e2e.test_axe import complaints

pytestmark = pytest.mark.browser

TAMPER = """
import uuid
from django.db.models import QuerySet
from chatapp import services
from chatapp.models import AuditEntry, Conversation, store
import condense
owner = services.prepare_owner()
conversation = services.start_conversation(owner=owner, title="Tampered with")
for number in range(1, 13):
    message = condense.Message(role="user", content=(condense.TextBlock(f"text {number}"),))
    store.append_message(conversation.pk, message, tokens=1)
    services.rewind_conversation(conversation=conversation, to_seq=number)
QuerySet(AuditEntry).filter(conversation=conversation, number=7).update(kind="seal")
print(conversation.pk)
"""


def test_the_menu_tells_whether_the_record_holds(open_page: OpenPage, long_chat: str) -> None:
    """It stays open, and leads to the entries from there; the keyboard does as well."""
    page = open_page(long_chat)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Check the record").press("Enter")
    told = page.locator(".audit-item")
    expect(told).to_contain_text("Record holds")
    assert complaints(page) == []
    told.get_by_role("link", name="Record holds").click()
    expect(page.get_by_role("heading", name="Audit record")).to_be_visible()
    expect(page.locator(".audit-lines li").first).to_be_visible()


@pytest.fixture(scope="module")
def broken(server: Server) -> str:
    """Return the address of a conversation's record in which an entry was changed."""
    return f"/c/{server.run(TAMPER)}/audit/"


@pytest.mark.parametrize("width", [1280, 360])
def test_a_broken_record_says_where(open_page: OpenPage, broken: str, width: int) -> None:
    """On its page, which is accessible and scrolls sideways nowhere, and beside the others."""
    page = open_page(broken, width=width)
    expect(page.get_by_text("Record broken")).to_be_visible()
    expect(page.get_by_text("Entry 7 is not what was written")).to_be_visible()
    assert complaints(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto("/condensations/audit/")
    expect(page.get_by_role("link", name="Tampered with").first).to_be_visible()
    assert complaints(page) == []
