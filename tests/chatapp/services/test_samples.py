"""A newcomer's first look: the samples are read to the end, whatever is condensed on the way."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp import services
from chatapp.models import Condensation, Conversation, Turn
from chatapp.services.samples import lay_out_samples
from tests.chatapp.sockets import open_page

pytestmark = pytest.mark.django_db(transaction=True)

REQUEST = "Read every sample file, one after the other, and then tell me what they are about."


async def test_the_samples_are_read_once_each_although_the_window_is_small(
    conversation: Conversation, alice: User
) -> None:
    """What a summary says was read is not read again."""
    files = len([*(await sync_to_async(lay_out_samples)()).iterdir()])
    await sync_to_async(services.choose_workspace)(
        conversation=conversation, folder=services.SAMPLES
    )
    async with open_page(conversation, alice) as page:
        await page.say(REQUEST)
        await page.until_idle()
    turn = await Turn.objects.aget()
    assert (turn.status, turn.error) == (Turn.Status.FINISHED, "")
    condensed = await Condensation.objects.filter(status="succeeded").acount()
    assert condensed >= 1
    # One to list them, again after each summary, one for each file, and one to answer.
    assert await turn.calls.acount() == 1 + files + 1 + 2 * condensed
