"""What is on record of a call beside its reply."""

import pytest

from chatapp.models import Conversation, Manifest, ModelCall, Turn
from chatapp.providers.call_errors import EMPTY
from tests.chatapp.sockets import Page
from tests.standin.behaviours import OVERLOADED, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


async def calls_of(conversation: Conversation) -> list[ModelCall]:
    """Return the conversation's calls, in the order in which they were made."""
    return [one async for one in ModelCall.objects.filter(conversation=conversation).order_by("pk")]


async def test_a_call_names_the_reply_before_it_also_in_another_turn(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """So that the provider can tell why its cache could not be used."""
    for text in ("Hi", "call list_files", "And?"):
        await page.ask(text)
    previous = [
        one.body["diagnostics"]["previous_message_id"] for one in anthropic_standin.requests
    ]
    assert previous == [None, "msg_000001", "msg_000002", "msg_000003"]
    assert {call.cache_miss for call in await calls_of(conversation)} == {""}


async def test_a_try_that_is_made_again_is_on_record_with_what_it_sent(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """Both calls have their request, their name, and their end."""
    anthropic_standin.then(OVERLOADED, Reply("Here."))
    await page.ask("Hi")
    failed, made = await calls_of(conversation)
    assert "overloaded" in failed.error
    assert (made.error, made.status) == ("", ModelCall.Status.SUCCEEDED)
    assert failed.request_id
    assert await Manifest.objects.acount() == 2


async def test_an_empty_answer_is_asked_for_once_more_and_both_calls_are_on_record(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """The turn has failed, and says so; what was thought is kept, and both were paid for.

    The provider has told what they took to the end, so no part of it is an estimate.
    """
    anthropic_standin.then(Reply(""), Reply("", thinking="Hm."), Reply("Never asked for."))
    await page.ask("Hi")
    turn = await Turn.objects.aget(conversation=conversation)
    assert (turn.status, turn.error) == (Turn.Status.FAILED, EMPTY)
    first, second = await calls_of(conversation)
    assert first.error == EMPTY
    prompts = [one.tokens_cache_read + one.tokens_cache_write for one in (first, second)]
    assert all(prompts)
    assert [one.usage_measured for one in (first, second)] == [True, True]
    assert anthropic_standin.unused == 1
