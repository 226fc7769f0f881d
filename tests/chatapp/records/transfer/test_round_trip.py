"""A conversation that is exported and imported is the same, with all that is on record of it."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, message_store
from chatapp.models.spending import Limits, spending_of
from chatapp.page.transcript.readable_copy import CopyEntry
from chatapp.project.languages import Reader, in_words
from chatapp.records.maintenance import audit_check
from tests.chatapp.audited import live_through, problems
from tests.chatapp.models.twin import seen
from tests.chatapp.records.transfer.lives import Life, read, said, write
from tests.records import put_on_record

NAMES = (
    *("say", "talk", "use_huge", "record", "truncate", "clear", "rewind", "undo_rewind", "undo"),
    *("undo_on_record", "undo_below", "redo", "fork", "edit", "regenerate", "switch", "pin"),
    *("condense", "use_tool"),
)
LIVES = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 30)), min_size=1, max_size=14)


@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(happenings=LIVES)
def test_what_is_exported_imported_and_exported_is_equal(
    alice: User, bob: User, tmp_path: Path, happenings: list[tuple[str, Any]]
) -> None:
    """Whatever happened, also for another user; the model sees the same, and the record holds."""
    life = Life(alice)
    life.say(2)
    for name, place in happenings:
        life.do(name, place)
    first = write(life.conversation)
    made = read(first, bob, tmp_path)
    second = write(made)
    assert said(second) == said(first)
    assert json.loads(second)["chains"][:-1] == json.loads(first)["chains"]
    assert as_sent(made) == as_sent(life.conversation)
    assert problems(made) == []


def as_sent(conversation: Conversation) -> list[Any]:
    """Return what the model sees of a conversation; a result that was cleared is a line there."""
    return seen(message_store.read_effective(conversation.pk))


def test_everything_that_goes_on_record_is_there(
    conversation: Conversation, tmp_path: Path
) -> None:
    """Condensations, facts put back, rewinds, edits, answers: nothing is lost on the way."""
    live_through(conversation)
    first = write(conversation)
    told = json.loads(first)
    empty = {"calls", "tool_runs", "forks", "pins", "fragments", "requests"}
    assert {name for name, one in told.items() if one == []} == empty
    made = read(first, conversation.owner, tmp_path)
    assert said(write(made)) == said(first)
    assert made.pk != conversation.pk
    verdict = audit_check.verify(made)
    records = ("condensations", "rewinds", "questions", "reviews", "pins")
    assert (verdict.problems, verdict.waiting) == ([], 0)
    assert verdict.entries == 1 + sum(len(told[name]) for name in records)
    # The chain that it came with is evidence; its own begins with the import.
    chains = json.loads(write(made))["chains"]
    assert chains[0] == audit_check.chain_of(conversation)
    assert chains[1]["conversation"] == str(made.pk)
    assert json.loads(chains[1]["entries"][0]["payload"])["imported"]["chains"] == 1


def test_the_window_that_a_provider_named_is_there(conversation: Conversation) -> None:
    """Attempts say what they had to fit into, and this is why."""
    Conversation.objects.filter(pk=conversation.pk).update(named_window=9_000)
    assert json.loads(write(conversation))["conversation"]["named_window"] == 9_000


def test_secrets_and_settings_are_no_part_of_it(conversation: Conversation) -> None:
    """Neither keys, nor what tools may do, nor where files lie."""
    assert conversation.profile
    conversation.profile.set_key("sk-secret")
    conversation.profile.save()
    conversations.change_settings(
        conversation=conversation,
        tool_policies={"run_command": "always"},
        system_prompt="Be brief.",
    )
    written = write(conversation).decode()
    assert "Be brief." in written
    for secret in ("sk-secret", "run_command", "workspace", conversation.profile.encrypted_key):
        assert secret not in written


def test_what_ran_or_waited_when_it_was_exported_has_ended_here(
    conversation: Conversation, tmp_path: Path
) -> None:
    """A turn, a summary to be reviewed, and one that was drafted ahead: nobody works on them."""
    life = Life(conversation.owner)
    life.conversation = conversation
    life.say(2)
    waiting = put_on_record(conversation, at_seq=2, status="running")
    waiting.reviews.create(ordinal=1, shown="What was said.")
    put_on_record(conversation, at_seq=2, status="drafted")
    for status in ("queued", "running", "waiting"):
        conversation.turns.all().delete()
        conversation.turns.create(status=status)
        made = read(write(conversation), conversation.owner, tmp_path)
        turn = made.turns.get()
        assert (turn.status, turn.is_over) == ("interrupted", True)
    assert [one.status for one in made.condensations.order_by("pk")] == ["failed", "unused"]
    assert made.condensations.order_by("pk")[0].reviews.get().status == "withdrawn"


def test_stored_sentences_are_said_in_both_languages_and_english_is_imported(
    alice: User, tmp_path: Path
) -> None:
    """A file for a reader of English needs no words beside its own."""
    life = Life(alice)
    life.say(2)
    stored = condense.say(
        "The context would not get smaller: {before:,} → {after:,} tokens",
        before=12_000,
        after=13_500,
    )
    put_on_record(life.conversation, at_seq=2, status="failed", error=stored)
    english = said(write(life.conversation))
    with Reader("de", "de").reading():
        file = write(life.conversation)
        translated = in_words(stored)
    assert translated != stored
    german = said(file)
    assert german.pop("words") == [{"de": translated, "en": stored}]
    assert {**german, "conversation": ""} == {**english, "conversation": ""}
    assert read(file, alice, tmp_path).condensations.get().error == stored


def test_a_copy_says_what_happened_in_both_languages(conversation: Conversation) -> None:
    """Its reader's, and the one of the record."""
    entry = CopyEntry("made", 1, conversation.created_at)
    assert entry.original == ""
    with Reader("de", "de").reading():
        assert entry.label != entry.original == "Context condensed"
        assert CopyEntry("user", 1, conversation.created_at).original == ""


def test_the_guide_is_right(conversation: Conversation, tmp_path: Path) -> None:
    """It names every section and no other; its example has a summary that hides the rest."""
    guide = (Path(__file__).parents[4] / "docs" / "export.md").read_text("utf-8")
    table = guide.split("## The form")[1].split("##")[0]
    named = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert named == [*json.loads(write(conversation))]
    example = guide.split("```json\n")[1].split("```")[0].encode()
    made = read(example, conversation.owner, tmp_path)
    assert [one.seq for one in message_store.read_effective(made.pk)] == [3]
    assert said(write(made)) == said(example)


def test_what_was_spent_elsewhere_is_not_spent_here(
    conversation: Conversation, tmp_path: Path
) -> None:
    """An imported conversation takes nothing of the month's budget."""
    message_store.append_message(conversation.pk, condense.Message("user", "Hi"), tokens=1)
    conversation.calls.create(purpose="chat", status="succeeded", cost=3)
    made = read(write(conversation), conversation.owner, tmp_path)
    assert made.calls.get().cost == 3
    (month,) = spending_of(made.pk, Limits(conversation.owner_id, monthly=Decimal(10)))
    assert month.spent == 3
