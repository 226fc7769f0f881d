"""Run inside the project's shell: a conversation of hundreds of messages; prints its id.

Its first 150 messages are hidden behind a summary, and its last ones were rewound.
"""

import uuid
from datetime import timedelta

from django.utils import timezone

import condense
from chatapp.accounts import accounts
from chatapp.conversations import conversations
from chatapp.models import hidden_messages, message_store
from tests.records import put_on_record

QUESTION = "Question {number}: what is on page {number} of the logbook?"
ANSWER = "Page {number} tells of the {number}th day at sea, of the wind, the sails and the crew."
SECRET = "The captain hid the heliotrope compass under the third plank. 船长把罗盘藏起来了。"

owner = accounts.prepare_owner()
conversation = conversations.start_conversation(owner=owner, title="The logbook")


def say(role: condense.Role, *blocks: condense.Block) -> None:
    """Append a message."""
    message_store.append_message(
        conversation.pk, condense.Message(role=role, content=blocks), tokens=20
    )


def read(number: int) -> None:
    """Append a call of three tools, each answered in a message of its own."""
    names = [f"call-{number}-{place}" for place in range(3)]
    calls = [condense.ToolUseBlock(name, "read_file", {"path": f"{name}.txt"}) for name in names]
    say("assistant", *calls)
    for name in names:
        lines = "A line of wind and waves.\n" * (200 if number == 9 else 0)
        say("user", condense.ToolResultBlock(name, f"{lines}The text of {name}."))


for number in range(1, 61):
    say("user", condense.TextBlock(QUESTION.format(number=number)))
    read(number)
    words = SECRET if number == 8 else ANSWER.format(number=number)
    say("assistant", condense.TextBlock(words))

hidden = tuple(message.id for message in message_store.read_effective(conversation.pk)[:150])
tags = condense.Tags(condense_id=uuid.uuid4().hex)
summary = condense.Message(
    "user", (condense.TextBlock("## Summary\nSomething was hidden on board."),), tags=tags
)
made = hidden_messages.apply_reduction(
    conversation.pk,
    condense.Reduction(
        kind="condensed",
        strategy="fresh_start",
        message=summary,
        hidden=hidden,
        tokens_before=condense.TokenCount(900, measured=False),
        tokens_after=condense.TokenCount(100, measured=False),
    ),
)
now = timezone.now()
put_on_record(
    conversation,
    message=made,
    at_seq=360,
    tokens_after=100,
    messages_hidden=150,
    summary="Something was hidden on board.",
    started_at=now - timedelta(seconds=2),
    finished_at=now,
)
say("user", condense.TextBlock("Forget the compass."))
say("assistant", condense.TextBlock("Nobody speaks of the astrolabe any more."))
hidden_messages.rewind(conversation.pk, to_seq=362)
say("user", condense.TextBlock("What was the last entry?"))
say("assistant", condense.TextBlock("It says: land in sight."))
print(conversation.pk)
