"""The pages of a conversation's calls: what was sent, in the panel or as a page."""

import hashlib

import pytest
from django.test import Client
from django.urls import reverse

import condense
from chatapp.models import Conversation, Message, ModelCall
from tests.chatapp.browsers import HTMX
from tests.chatapp.storage.recorded_session import Session

pytestmark = pytest.mark.django_db


def call_address(call: ModelCall, name: str = "call") -> str:
    """Return the address of a call's page."""
    return reverse(name, args=[call.conversation_id, call.pk])


def test_a_call_is_what_was_sent_byte_for_byte(conversation: Conversation, browser: Client) -> None:
    """The page says so and shows the hash; the file has the bytes.

    Whoever changed a message in the database is found out. No other conversation has the call.
    """
    session = Session(conversation)
    session.say("user", condense.TextBlock("Begin at the beginning"))
    sent = session.send()
    call = ModelCall.objects.latest("pk")
    page = browser.get(call_address(call)).text
    assert "Matches its hash" in page
    assert hashlib.sha256(sent.body).hexdigest() in page
    answer = browser.get(call_address(call, "call_request"))
    assert answer.content == sent.body
    assert answer["Content-Type"] == "application/json"
    assert answer["Content-Disposition"].startswith("attachment")
    rows = Message.objects.filter(conversation=conversation)
    content = rows.get().content
    rows.update(content=[{"type": "text", "text": "Begin at the end, please"}])
    page = browser.get(call_address(call)).text
    rows.update(content=content)
    own = Conversation.objects.create(owner=conversation.owner)
    assert browser.get(reverse("call", args=[own.pk, call.pk])).status_code == 404
    assert "Does not match its hash" in page
    assert "Matches its hash" not in page


@pytest.mark.parametrize("name", ["inspector", "condensations", "audits"])
def test_a_link_that_htmx_follows_leads_to_a_whole_page(
    conversation: Conversation, browser: Client, name: str
) -> None:
    """It takes the place of the one before; the panel gets what the page has without the page."""
    address = reverse(name, args=[conversation.pk] if name == "inspector" else [])
    boosted = {"HX-Request": "true", "HX-Boosted": "true"}
    assert "<html" in browser.get(address, headers=boosted).text
    if name == "inspector":
        Session(conversation).say("user", condense.TextBlock("Begin"))
        part = browser.get(address, headers=HTMX).text
        assert "<html" not in part
        assert "The next request" in part
