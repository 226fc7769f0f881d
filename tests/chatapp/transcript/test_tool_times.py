"""A tool's card says how long the tool took, also once its row is read again."""

from datetime import timedelta

import pytest
from django.utils import timezone

import condense
from chatapp.models import Conversation, Message, ToolRun, Turn, message_store
from chatapp.transcript import row_pages
from chatapp.transcript.message_parts import ToolCard
from tests.chatapp.scripted_turns import ask

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def step(turn: Turn, minute: int, ran: dict[str, float], *, also: str = "") -> None:
    """Have tools called in a minute of the turn, which took so many seconds; one did not run."""
    names = [*ran, *([also] if also else [])]
    calls = tuple(condense.ToolUseBlock(name, "read_file", {}) for name in names)
    results = tuple(condense.ToolResultBlock(name, "Its text.") for name in names)
    began = NOW + timedelta(minutes=minute)
    for role, content, when in (("assistant", calls, 0), ("user", results, 50)):
        message = condense.Message(role, content)  # type: ignore[arg-type] # one of two
        row = message_store.append_message(turn.conversation_id, message, tokens=1, turn=turn)
        Message.objects.filter(pk=row.pk).update(created_at=began + timedelta(seconds=when))
    for name, seconds in ran.items():
        end = began + timedelta(seconds=seconds)
        ToolRun.objects.create(turn=turn, call_id=name, started_at=began, finished_at=end)


def took(conversation: Conversation) -> list[float | None]:
    """Return the seconds on each card of the page."""
    rows = row_pages.page(conversation).rows
    parts = [part for row in rows for part in getattr(row, "parts", ())]
    return [part.seconds for part in parts if isinstance(part, ToolCard)]


def test_each_card_says_how_long_its_tool_took(conversation: Conversation) -> None:
    """One that did not run says nothing; some servers give the same ids in every reply."""
    turn = ask(conversation)
    step(turn, 1, {"a": 0.04, "b": 3.0}, also="c")
    step(turn, 2, {"a": 7.0})
    assert took(conversation) == [0.04, 3.0, None, 7.0]
