"""Thinking that was streamed as text, until its closing tag came."""

import pytest

import condense
from chatapp.models import Conversation, Message, message_store
from tests.chatapp.sockets import Page
from tests.standin.behaviours import Gate, Raw, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


def said(text: str) -> Raw:
    """Return an event with more text."""
    delta = {"type": "text_delta", "text": text}
    return Raw.event({"type": "content_block_delta", "index": 0, "delta": delta})


async def test_a_page_shows_it_as_thinking_from_its_closing_tag_on(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """It goes away as text, and comes again as a thought; so it is stored, too."""
    read = Gate()
    more = (said("</th"), said("ink>\n\nSo."))
    anthropic_standin.then(Reply("Hm, well. ", gate=read, extra=more))
    await page.begin("Hi")
    read.open()
    await page.until_idle()
    row = await Message.objects.filter(conversation=conversation, role="assistant").alatest("seq")
    thought, *texts = message_store.to_engine(row).content
    assert isinstance(thought, condense.OpaqueBlock)
    assert thought.data["thinking"].strip() == "Hm, well."
    assert "".join(one.text for one in texts) == "So."
    told = [f"{frame['type']} {frame.get('text', '')}".strip() for frame in page.frames]
    assert told.index("article.removed") < told.index("status.changed Thinking…")
