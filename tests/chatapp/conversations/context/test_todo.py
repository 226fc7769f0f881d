"""The list beside the chat is the one that stands: condensations keep it, rewinds take it back."""

from django.test import Client
from django.utils import timezone

import condense
from chatapp.conversations.context.turn_context import read_todo
from chatapp.models import Conversation, ToolRun, Turn, hidden_messages, message_store
from tests.chatapp.conftest import summarise


def keep(conversation: Conversation, todos: object, *, is_error: bool = False) -> int:
    """Store a call that keeps a list, and its result; return the number of its message."""
    turn = Turn.objects.create(conversation=conversation, finished_at=timezone.now())
    call = condense.ToolUseBlock("same-id", "update_todo_list", {"todos": todos})
    row = message_store.append_message(
        conversation.pk, condense.Message("assistant", (call,)), tokens=1, turn=turn
    )
    ToolRun.objects.create(
        turn=turn, call_id="same-id", name="update_todo_list", is_error=is_error,
        finished_at=timezone.now(),
    )  # fmt: skip
    result = condense.Message("user", (condense.ToolResultBlock("same-id", "Kept."),))
    message_store.append_message(conversation.pk, result, tokens=1, turn=turn)
    return row.seq


def test_the_last_list_stands(conversation: Conversation, browser: Client) -> None:
    """Whatever a condensation hides; one that was refused is none, and a rewind takes one back."""
    assert read_todo(conversation) is None
    keep(conversation, "[x] Read\n[ ] Write\n[-] Test")
    second = keep(conversation, "[x] Read\n[x] Write\n[ ] Test")
    keep(conversation, "nonsense", is_error=True)
    summarise(conversation)
    todo = read_todo(conversation)
    assert (todo.done, todo.current) == (2, "Test")
    page = browser.get(f"/c/{conversation.pk}/").content.decode()
    assert "2 of 3" in page
    hidden_messages.rewind(conversation.pk, first_hidden_seq=second)
    earlier = read_todo(conversation)
    assert (earlier.done, earlier.current) == (1, "Test")
    assert "1 of 3" in browser.get(f"/c/{conversation.pk}/todo/").content.decode()


def test_an_item_is_text(conversation: Conversation, browser: Client) -> None:
    """Whatever a model writes into it."""
    keep(conversation, "[ ] <script>alert(1)</script>")
    assert b"<script>alert" not in browser.get(f"/c/{conversation.pk}/todo/").content
