"""Turns taken up again over the socket, and what the model is sent for them."""

import uuid

import pytest
from asgiref.sync import sync_to_async
from django.template.loader import render_to_string

from chatapp.models import Conversation, Turn
from chatapp.page.live import incoming_frames
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.rows import MessageRow, Row, TurnRow
from chatapp.providers.call_errors import DECLINED
from tests.chatapp.sockets import Page
from tests.standin.behaviours import UNAUTHORIZED, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


async def take_up(page: Page, how: str, *, seq: int = 0, nonce: str = "") -> str:
    """Ask for a turn without a new message, wait until nothing runs, and return the nonce."""
    nonce = nonce or str(uuid.uuid4())
    await page.send(f"turn.{how}", nonce=nonce, seq=seq)
    await page.until("message.accepted", nonce=nonce)
    return nonce


@sync_to_async
def shown(conversation: Conversation) -> list[Row]:
    """Return the rows of the page."""
    return [*row_pages.page(conversation).rows]


async def test_a_request_that_comes_twice_begins_one_turn(
    anthropic_standin: Standin, page: Page
) -> None:
    """As after a lost connection."""
    anthropic_standin.then(UNAUTHORIZED, UNAUTHORIZED)
    await page.ask("Hello.")
    nonce = await take_up(page, "retry")
    await page.until_idle()
    await take_up(page, "retry", nonce=nonce)
    assert await Turn.objects.acount() == 2


async def test_an_answer_that_the_model_declines_says_so_once_and_what_it_cost(
    anthropic_standin: Standin, page: Page, conversation: Conversation
) -> None:
    """It can't be continued. Where nothing was written, the cost is in the row of the turn."""
    refused = [Reply(text, stop_reason="refusal") for text in ("I will", "")]
    anthropic_standin.then(*refused)
    await page.ask("Hello.")
    _said, answer, failed = await shown(conversation)
    assert isinstance(answer, MessageRow)
    assert isinstance(failed, TurnRow)
    assert (answer.cut, answer.continuable, failed.figures) == ("", False, None)
    assert (failed.reason, failed.commands) == (DECLINED, ("turn.retry",))
    await page.send("turn.continue", nonce=str(uuid.uuid4()), seq=0)
    assert "nothing to continue" in (await page.until("refused"))["reason"]
    await take_up(page, "retry")
    await page.until_idle()
    *_earlier, again = await shown(conversation)
    assert isinstance(again, TurnRow)
    assert again.figures is not None
    assert again.figures.call.tokens_prompt
    html = render_to_string(again.template, {"row": again, "conversation": conversation})
    assert f'id="{again.id}-figures"' in html


async def test_what_can_not_be_taken_up_is_refused_in_words(page: Page) -> None:
    """Here there was never a turn; what is no number is no frame of ours."""
    for how in ("retry", "continue", "regenerate"):
        await page.send(f"turn.{how}", nonce=str(uuid.uuid4()), seq=1)
        assert "Reload the page." in (await page.until("refused"))["reason"]
    for seq in ("null", '"1"', "1.5"):
        text = f'{{"type": "turn.regenerate", "nonce": "{uuid.uuid4()}", "seq": {seq}}}'
        with pytest.raises(incoming_frames.BadFrame):
            incoming_frames.decode(text)
