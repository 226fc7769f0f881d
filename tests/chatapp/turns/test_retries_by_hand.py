"""Turns taken up again over the socket, and what the model is sent for them."""

import uuid

import pytest

from chatapp.models import Turn
from chatapp.page.live import incoming_frames
from tests.chatapp.sockets import Page
from tests.standin.behaviours import UNAUTHORIZED
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


async def take_up(page: Page, how: str, *, seq: int = 0, nonce: str = "") -> str:
    """Ask for a turn without a new message, wait until nothing runs, and return the nonce."""
    nonce = nonce or str(uuid.uuid4())
    await page.send(f"turn.{how}", nonce=nonce, seq=seq)
    await page.until("message.accepted", nonce=nonce)
    return nonce


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


async def test_what_can_not_be_taken_up_is_refused_in_words(page: Page) -> None:
    """Here there was never a turn; what is no number is no frame of ours."""
    for how in ("retry", "continue", "regenerate"):
        await page.send(f"turn.{how}", nonce=str(uuid.uuid4()), seq=1)
        assert "Reload the page." in (await page.until("refused"))["reason"]
    for seq in ("null", '"1"', "1.5"):
        text = f'{{"type": "turn.regenerate", "nonce": "{uuid.uuid4()}", "seq": {seq}}}'
        with pytest.raises(incoming_frames.BadFrame):
            incoming_frames.decode(text)
