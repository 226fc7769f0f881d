"""A threshold between the tool calls of one turn: it waits, and the limit does not."""

import pytest
from django.contrib.auth.models import User

from chatapp.models import Condensation, Conversation, ModelCall, Preferences
from tests.chatapp.claude import converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.condensing.draft_steps import MORE, SUMMARY
from tests.chatapp.sockets import Page
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(alice: User, standin: Standin, short_summaries: None) -> Conversation:
    """A conversation of some 9,000 tokens; it condenses at 12,000, and must at 17,600."""
    Preferences.objects.filter(owner=alice).update(threshold=50, draft_ahead="never")
    return talk_long(converse(alice, standin, context_window=24_000, max_output=4_000))


@pytest.mark.parametrize(("said", "between"), [(3, []), (8, ["summary"])])
async def test_a_threshold_waits_for_the_end_of_a_tool_loop(
    conversation: Conversation,
    page: Page,
    standin: Standin,
    said: int,
    between: list[str],
) -> None:
    """The next turn begins with the condensation; what would not fit is condensed at once."""
    summary, look = Reply(SUMMARY), Reply(MORE * said, tools=[ToolCall("list_files")])
    late = ["summary"] if not between else []
    standin.then(look, *[summary for _ in between], Reply("Done."), *[summary for _ in late])
    standin.then(Reply("Yes."))
    await page.ask("Look.")
    await page.ask("And?")
    calls = ModelCall.objects.filter(conversation=conversation).order_by("pk")
    purposes = [one.purpose async for one in calls]
    assert purposes == ["chat", *between, "chat", *late, "chat"]
    attempt = await Condensation.objects.aget()
    assert (attempt.status, attempt.trigger) == ("succeeded", "auto")
