"""The rows of the transcript page."""

import re
import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

import condense
from chatapp.agent import annotated_blocks
from chatapp.condensing import undo
from chatapp.conversations.conversations import start_conversation
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    ToolRun,
    Turn,
    hidden_messages,
    message_store,
)
from chatapp.page.transcript import row_builder, row_pages
from chatapp.page.transcript.labels import AttemptWords
from chatapp.page.transcript.message_parts import CommandPart, NotePart, ThoughtPart, ToolCard
from chatapp.page.transcript.rows import CondensationRow, FailureRow, MessageRow, TurnCost
from chatapp.project.languages import Reader
from chatapp.turns import lifecycle
from tests.chatapp.conftest import Say, reduction_of, summarise
from tests.chatapp.page.transcript.shown_rows import append, fail, talk
from tests.chatapp.scripted_turns import ask
from tests.records import record_for


def call(conversation: Conversation, id_: str, name: str, arguments: object) -> Message:
    """Store a reply that calls a tool."""
    return append(conversation, "assistant", condense.ToolUseBlock(id_, name, arguments))


def cards(conversation: Conversation) -> list[ToolCard]:
    """Return all cards of the newest page."""
    rows = row_pages.page(conversation).rows
    parts = [part for row in rows if isinstance(row, MessageRow) for part in row.parts]
    return [part for part in parts if isinstance(part, ToolCard)]


def folds_of(conversation: Conversation) -> list[CondensationRow]:
    """Return the rows of all condensations."""
    rows = row_pages.page(conversation).rows
    return [row for row in rows if isinstance(row, CondensationRow)]


def test_a_tools_result_is_on_the_card_of_its_call(conversation: Conversation) -> None:
    """The message that carries it has no row of its own, and empty arguments are not shown."""
    append(conversation, "user", condense.TextBlock("Read a.txt"))
    call(conversation, "c1", "read_file", {"path": "a.txt"})
    append(conversation, "user", condense.ToolResultBlock("c1", "its text"))
    call(conversation, "c2", "list_files", {})
    image = condense.ImageBlock({"type": "url", "url": "https://example.org/a.png"})
    found = condense.ToolResultBlock("c2", (condense.TextBlock("Two windows."), image))
    append(conversation, "user", found)
    assert len(row_pages.page(conversation).rows) == 3
    one, other = cards(conversation)
    assert (one.argument, one.result, one.state) == ("a.txt", "its text", "done")
    shown = (other.name, other.argument, other.input, other.result)
    assert shown == ("list_files", "", "", "Two windows.\n[Image]")


@pytest.mark.parametrize(
    ("path", "said"), [(None, "the workspace"), (".", "the workspace"), ("docs", "docs")]
)
def test_a_listing_names_its_folder(
    conversation: Conversation, browser: Client, path: str | None, said: str
) -> None:
    """Also where the call leaves it out."""
    append(conversation, "user", condense.TextBlock("List it."))
    call(conversation, "c1", "list_files", {"path": path} if path else {"recursive": False})
    append(conversation, "user", condense.ToolResultBlock("c1", "a.txt"))
    page = browser.get(f"/c/{conversation.pk}/").text
    assert re.search(rf'<span class="tool-argument">{said}\s*</span>', page)


def test_a_failed_and_an_unanswered_call_say_so(conversation: Conversation) -> None:
    """The card is open then."""
    calls = [condense.ToolUseBlock(f"c{n}", "read_file", {}) for n in (1, 2)]
    append(conversation, "assistant", *calls)
    append(conversation, "user", condense.ToolResultBlock("c1", "no such file", is_error=True))
    assert [card.state for card in cards(conversation)] == ["failed", "unanswered"]


def test_a_call_whose_id_comes_again_keeps_its_own_result(conversation: Conversation) -> None:
    """Some servers count from zero in every reply, and one call was interrupted."""
    for path, answer in (("a", "of a"), ("b", None), ("c", "of c")):
        call(conversation, "call_0", "read", {"path": path})
        if answer:
            append(conversation, "user", condense.ToolResultBlock("call_0", answer))
    shown = [(card.argument, card.result) for card in cards(conversation)]
    assert shown == [("a", "of a"), ("b", ""), ("c", "of c")]
    whole = [row_pages.call_text(conversation, seq, "call_0", "result") for seq in (1, 3, 4)]
    assert whole == ["of a", None, "of c"]


def test_a_clearing_of_a_result_says_nothing_of_another_with_its_id(
    conversation: Conversation,
) -> None:
    """The marker names the message that carries it."""
    carriers = []
    for path in "ab":
        call(conversation, "call_0", "read", {"path": path})
        carriers.append(append(conversation, "user", condense.ToolResultBlock("call_0", path)))
    first = str(carriers[0].pk)
    tags = condense.Tags(clear_id=uuid.uuid4().hex, cleared={first: {"call_0": "[cleared]"}})
    marker = condense.Message(role="user", content="1 cleared", tags=tags)
    reduction = replace(reduction_of(marker, (first,)), kind="cleared")
    record = record_for(conversation, hidden_messages.apply_reduction(conversation.pk, reduction))
    Condensation.objects.filter(pk=record.pk).change(kind=Condensation.Kind.CLEARED)
    assert [card.cleared is not None for card in cards(conversation)] == [True, False]


def step(turn: Turn, minute: int, ran: dict[str, float], *, also: str = "") -> None:
    """Have tools called in a minute of the turn, which took so many seconds; one did not run."""
    names = [*ran, *([also] if also else [])]
    calls = tuple(condense.ToolUseBlock(name, "read_file", {}) for name in names)
    results = tuple(condense.ToolResultBlock(name, "Its text.") for name in names)
    began = timezone.now() + timedelta(minutes=minute)
    for role, content, when in (("assistant", calls, 0), ("user", results, 50)):
        message = condense.Message(role, content)  # type: ignore[arg-type] # one of two
        row = message_store.append_message(turn.conversation_id, message, tokens=1, turn=turn)
        Message.objects.filter(pk=row.pk).update(created_at=began + timedelta(seconds=when))
    for name, seconds in ran.items():
        end = began + timedelta(seconds=seconds)
        ToolRun.objects.create(turn=turn, call_id=name, started_at=began, finished_at=end)


def test_each_card_says_how_long_its_tool_took(conversation: Conversation) -> None:
    """One that did not run says nothing; some servers give the same ids in every reply."""
    turn = ask(conversation)
    step(turn, 1, {"a": 0.04, "b": 3.0}, also="c")
    step(turn, 2, {"a": 7.0})
    assert [card.seconds for card in cards(conversation)] == [0.04, 3.0, None, 7.0]


def test_a_card_names_the_argument_that_says_most(conversation: Conversation) -> None:
    """On one line, and not at any length: what is cut says so."""
    for arguments, shown in (
        ({"limit": 3, "why": "because", "path": "src/a.py"}, "src/a.py"),
        ({"why": "first\nand second"}, "first and second"),
        ({"command": "x" * 200}, "x" * 119 + "…"),
        ({"limit": 3}, ""),
        ("no object", ""),
    ):
        call(conversation, "c1", "some_tool", arguments)
        assert cards(conversation)[-1].argument == shown


def test_what_has_no_rendering_is_named_in_words(conversation: Conversation) -> None:
    """Nothing of a message is dropped silently."""
    image = condense.ImageBlock({"type": "base64", "media_type": "image/png", "data": "AAAA"})
    took = {"thinking": "Hm.", condense.BESIDE: {"seconds": 12}}
    thinking = condense.OpaqueBlock({"type": "thinking", **took})
    around = condense.TextBlock("Now.", {condense.BESIDE: {"kind": condense.ENVIRONMENT}})
    odd = condense.OpaqueBlock({"type": "x_y"})
    append(conversation, "assistant", image, thinking, odd, around)
    (row,) = row_pages.page(conversation).rows
    assert row.parts == (NotePart("Image"), ThoughtPart("Hm.", 12), NotePart("X y"))
    assert row.around == "Now."


def test_what_goes_with_a_message_is_beside_its_words(conversation: Conversation) -> None:
    """A command and a file have a part of their own each."""

    def beside(text: str, **marks: object) -> condense.TextBlock:
        return condense.TextBlock(text, {condense.BESIDE: marks})

    command = beside("Be brief.", kind=annotated_blocks.COMMAND, name="short")
    file = beside("x" * 10_001, kind=annotated_blocks.FILE, name="a.txt", size=9_000)
    append(conversation, "user", command, file, condense.TextBlock("Look."))
    ((shown, read, _said),) = (row.parts for row in row_pages.page(conversation).rows)
    assert shown == CommandPart("short", "Be brief.")
    assert (read.name, read.size, read.cut, read.mentioned) == ("a.txt", 9_000, True, False)


def test_a_summary_shows_as_its_condensation_and_dims_what_it_hides(
    conversation: Conversation, say: Say
) -> None:
    """The dimmed rows name the row that hides them."""
    talk(say, 4)
    say("user", "the newest")
    attempt = record_for(conversation, summarise(conversation, keep=1))
    *hidden, fold, newest = row_pages.page(conversation).rows
    assert isinstance(fold, CondensationRow)
    assert fold.undoable
    for row in hidden:
        assert row.hidden_by.row_id == f"condensation-{attempt.pk}" == fold.id
    assert newest.hidden_by is None


def test_an_undone_condensation_stays_as_a_row_that_hides_nothing(
    conversation: Conversation, say: Say
) -> None:
    """The record never disappears, and is hidden by no other that was undone.

    Only a person's first explains itself: whoever took it back has understood.
    """
    talk(say, 4)
    attempts = [record_for(conversation, summarise(conversation)) for _ in range(2)]
    nudges = [[fold.nudges for fold in folds_of(conversation)]]
    for attempt in reversed(attempts):
        undo.undo_condensation(condensation=attempt)
        nudges.append([fold.nudges for fold in folds_of(conversation)])
    assert nudges == [[False, False], [True, False], [False, False]]
    again = start_conversation(owner=conversation.owner)
    append(again, "user", condense.TextBlock("Go on."))
    record_for(again, summarise(again))
    assert not folds_of(again)[0].nudges
    *rows, _one, _other = row_pages.page(conversation).rows
    shown = [(fold.undoable, fold.hidden_by) for fold in folds_of(conversation)]
    assert shown == [(False, None)] * 2
    assert all(isinstance(row, MessageRow) and row.hidden_by is None for row in rows)


def test_a_failed_attempt_is_told_by_the_row_of_what_replaced_it(
    conversation: Conversation, say: Say
) -> None:
    """Here: the ledger stands for a summary that was refused; while that is made nothing shows."""
    talk(say, 2)
    failed = record_for(conversation, say("user", "third"))
    failed.status, failed.message, failed.cost = Condensation.Status.FAILED, None, Decimal("0.02")
    issue = "It has 1 of 9 sections"
    failed.error = condense.say("The summary was rejected: {issue}", issue=issue)
    failed.at_seq, failed.fell_back_to = 3, "ledger"
    failed.save()
    assert isinstance(row_pages.page(conversation).rows[-1], FailureRow)
    record = record_for(conversation, summarise(conversation))
    made = Condensation.objects.filter(pk=record.pk)
    running = {"status": Condensation.Status.RUNNING, "message": None}
    made.change(at_seq=failed.at_seq, strategy=failed.fell_back_to, **running)
    Condensation.objects.filter(pk=failed.pk).change(made_for=record)
    assert {type(row) for row in row_pages.page(conversation).rows} == {MessageRow}
    made.change(status=Condensation.Status.SUCCEEDED, message=record.message, cost=Decimal(0))
    *rows, fold = row_pages.page(conversation).rows
    assert {type(row) for row in rows} == {MessageRow}
    assert isinstance(fold, CondensationRow)
    why = "summary was refused: It has 1 of 9 sections"
    assert fold.how == f"without a model (the model's {why})"
    assert [(one.attempt, one.reason) for one in fold.tries] == [(failed, f"The model's {why}.")]
    # For some time after a failure the ledger stands there without a try of its own.
    Condensation.objects.filter(pk=failed.pk).change(made_for=None)
    (fold,) = folds_of(conversation)
    assert (fold.how, fold.briefly) == ("without a model", "without a model")


def test_a_failed_attempt_stands_before_the_condensation_that_followed_it(
    conversation: Conversation, say: Say
) -> None:
    """And after the one it followed, where nothing was said between them."""
    talk(say, 4)
    for _ in range(2):
        fail(conversation)
        record_for(conversation, summarise(conversation))
    kinds = [type(row) for row in row_pages.page(conversation).rows[4:]]
    assert kinds == [FailureRow, CondensationRow] * 2


def test_the_last_message_of_a_turn_says_what_the_turn_took(conversation: Conversation) -> None:
    """Over all its calls, failed ones included; a turn of one call says it on its message.

    Where one call's cost is unknown, so is the turn's.
    """
    turn = Turn.objects.create(conversation=conversation)
    message = condense.Message(role="assistant", content=(condense.TextBlock("Done."),))
    message_store.append_message(conversation.pk, message, tokens=1, turn=turn)
    lifecycle.finish_turn(turn=turn, status=Turn.Status.SUCCEEDED)

    def add_call(cost: str | None) -> None:
        ModelCall.objects.create(
            conversation=conversation,
            turn=turn,
            purpose="chat",
            tokens_input=10,
            tokens_cache_read=5,
            tokens_output=2,
            cost=cost and Decimal(cost),
        )

    def shown() -> TurnCost | None:
        (row,) = row_pages.page(conversation).rows
        assert row_builder.live_row(conversation, 1, {}).turn == row.turn
        return row.turn

    add_call("0.01")
    assert shown() is None
    add_call("0.02")
    assert shown() == TurnCost(calls=2, tokens_in=30, tokens_out=4, cost=Decimal("0.03"))
    add_call(None)
    assert shown() == TurnCost(calls=3, tokens_in=45, tokens_out=6, cost=None)


def test_a_truncation_says_once_in_each_language_what_it_hid() -> None:
    """That no summary was left is said too; of what else was hidden there is a second figure."""
    cut = Condensation(kind=Condensation.Kind.TRUNCATED, messages_hidden=2)
    with Reader("de", "de").reading():
        words = AttemptWords(cut)
        assert (words.also_hidden, words.lacks_summary) == ("", "Ohne Zusammenfassung")
        cut.results_hidden = 1
        assert "2" in words.also_hidden


def test_a_reason_ends_with_one_full_stop_in_each_script() -> None:
    """Its own, where it has one; a summary that version 0.1.0 rejected was refused."""
    for said in ("失敗しました。", "विफल।", "لماذا؟", "No."):
        assert AttemptWords(Condensation(error=said)).reason == said
    for verb in ("rejected", "refused"):
        error = condense.say(f"The summary was {verb}: {{issue}}", issue="It is short")
        words = AttemptWords(Condensation(error=error))
        assert words.reason == "The model's summary was refused: It is short."
