"""Turns taken up again over the socket, and what the model is sent for them."""

import uuid
from typing import Any

import pytest

from chatapp.live import incoming_frames
from chatapp.models import Turn
from tests.chatapp.sockets import Page
from tests.standin.behaviours import UNAUTHORIZED
from tests.standin.rules import blocks_of
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


async def take_up(page: Page, how: str, *, seq: int = 0, nonce: str = "") -> str:
    """Ask for a turn without a new message, wait until nothing runs, and return the nonce."""
    nonce = nonce or str(uuid.uuid4())
    await page.send(f"turn.{how}", nonce=nonce, seq=seq)
    await page.until("message.accepted", nonce=nonce)
    return nonce


def sent(standin: Standin, number: int) -> list[tuple[str, str]]:
    """Return role and text of each message of a request."""
    body: dict[str, Any] = standin.requests[number].body
    return [
        (message["role"], "".join(block.get("text", "") for block in blocks_of(message)))
        for message in body["messages"]
    ]


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
    """Here there was never a turn."""
    for how in ("retry", "continue", "regenerate"):
        await page.send(f"turn.{how}", nonce=str(uuid.uuid4()), seq=1)
        assert "Reload the page." in (await page.until("refused"))["reason"]


@pytest.mark.parametrize("seq", ["null", '"1"', "1.5"])
def test_a_place_is_a_number(seq: str) -> None:
    """Anything else is no frame of ours."""
    text = f'{{"type": "turn.regenerate", "nonce": "{uuid.uuid4()}", "seq": {seq}}}'
    with pytest.raises(incoming_frames.BadFrame):
        incoming_frames.decode(text)
