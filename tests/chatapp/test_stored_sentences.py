"""Stored sentences are English in their columns, and are said in the reader's language from there.

The audit chain has digests of the columns: nothing that is kept beside them changes any.
"""

import importlib
import re
from functools import cache
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

import condense
from chatapp.models import Condensation, Conversation, ImportRun, ModelCall, Source, Turn
from chatapp.project.languages import Reader, in_words
from chatapp.records.maintenance.audit_check import verify_all
from chatapp.records.transfer import Problem
from chatapp.records.transfer.record_import import load_conversation
from chatapp.turns import lifecycle
from condense import Sentence, noop, say
from tests.chatapp.records.transfer.lives import Life, read, write
from tests.records import put_on_record
from tests.tooling import messages

FIELD = re.compile(r"\{(\w+)([^}]*)\}")
# With blanks, what a template is made of, other people's sentences, and another direction.
HARD = (
    "my notes.txt", "100 %s", "{path} {}", "“it’s” \"so\"", "one\ntwo", "\u202eعربي", "", " ",
    "Nothing to condense.", "{name} is missing.", "12,000", "refusal: It declines to summarise",
)  # fmt: skip
NESTED = [noop("Nothing to condense."), say("{name} is missing.", name="a b")]


@cache
def templates() -> list[str]:
    """Return all sentences that are stored with values."""
    stored = [str(one.id) for one in messages.collect() if one.context == "stored"]
    return sorted(one for one in stored if FIELD.search(one))


def filled(template: str, texts: list[Any], number: int) -> Sentence:
    """Return a template with a text in each place for one, and a number where one belongs."""
    fields = FIELD.findall(template)
    values = {
        name: number / 100 if "%" in spec else number if "," in spec else texts[at % len(texts)]
        for at, (name, spec) in enumerate(fields)
    }
    return say(template, **values)


def as_stored(said: Sentence) -> Any:
    """Return a sentence as another process reads it."""
    return Sentence.from_json(condense.well_formed_json(said.to_json()))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*HARD, *NESTED]) | st.text(), min_size=1, max_size=4),
    st.integers(0, 10**9),
)
def test_no_template_stays_english_for_any_value(texts: list[Any], number: int) -> None:
    """The words are the reader's, a text stays as it is, and a sentence in it is theirs as well."""
    texts = [*map(condense.well_formed_json, texts)]
    said = [filled(one, texts, number) for one in templates()]
    with Reader("de", "de").reading():
        for one in said:
            german = in_words(as_stored(one))
            assert all(
                words.strip() in german for words in FIELD.split(in_words(one.template))[::3]
            )
            for name, spec in FIELD.findall(one.template):
                value = one.values[name]
                is_made = isinstance(value, Sentence)
                assert spec or (in_words(value) if is_made else value) in german


def test_all_of_them_are_kept_by_a_row(conversation: Conversation) -> None:
    """With what each was made of; what is hashed is English, and holds."""
    said = [filled(one, [*HARD, *NESTED], 12_345) for one in templates()]
    pk = put_on_record(conversation, at_seq=1, status="running", notes=said[:9]).pk
    attempts = Condensation.objects.filter(pk=pk)
    attempts.change(error=said[9])
    assert [one.template for one in attempts.get().notes] == templates()[:9]
    attempts.change(notes=said, status="failed")
    row = attempts.get()
    texts = [condense.well_formed(str(one)) for one in said]
    assert [row.notes, row.error] == [texts, texts[9]]
    assert [one.template for one in row.notes] == templates()
    assert attempts.values_list("notes", "error").get() == (texts, texts[9])
    assert [one for verdict in verify_all() for one in verdict.problems] == []


def test_the_outcome_of_an_import_is_kept(alice: User) -> None:
    """Of the run, and of each conversation; a reason stands anywhere in them."""
    said = say("The line is longer than {most} MB.", most="my 4")
    pieces = [Problem(1, said), {"role": "user", "content": "Hi"}]
    load_conversation(pieces, owner=alice, source=Source(form="x"))
    run = ImportRun.objects.create(owner=alice, heartbeat_at=timezone.now())
    run.left_out = [{"title": "Any", "problems": [{"index": 1, "reason": said}]}]
    assert run.finish(said)
    run, source = ImportRun.objects.get(), Source.objects.get()
    kept = (run.refusal, run.left_out[0]["problems"][0]["reason"], source.problems[0]["reason"])
    assert [one.to_json() for one in kept] == [said.to_json()] * 3


def old_rows(conversation: Conversation) -> dict[Any, str]:
    """Return rows as a version without templates left them, with the text of each."""
    call = ModelCall.objects.create(conversation=conversation, purpose="chat", status="failed")
    turn = Turn.objects.create(conversation=conversation)
    attempt = put_on_record(conversation, at_seq=1, status="running")
    said = "The provider has a problem of its own (HTTP 503). The provider said: no {room}"
    rows: dict[Any, str] = {
        call: said,
        turn: "The server could not save what was written. Its disk is full. "
        "Make room there, then try again.",
        attempt: f"Condensing API call failed: {said}",
    }
    ModelCall.objects.filter(pk=call.pk).update(error=rows[call])
    lifecycle.finish_turn(turn=turn, status=Turn.Status.FAILED, error=rows[turn])
    notes = ["Checks passed: sections 88%, no refusal", "My own: 5 words, as I said"]
    attempts = Condensation.objects.filter(pk=attempt.pk)
    attempts.change(status="failed", error=rows[attempt], notes=notes)
    return rows


def test_rows_of_before_are_said_in_the_readers_language(conversation: Conversation) -> None:
    """Their bytes stay as they were; a text that no template makes is shown as it is stored."""
    rows = old_rows(conversation)
    before = [*Condensation.objects.values_list("error", "notes")]
    migration = importlib.import_module("chatapp.migrations.0072_sentences_said")
    for _again in range(2):
        migration.convert(messages.django.apps.apps, None)
    assert before == [*Condensation.objects.values_list("error", "notes")]
    with Reader("de", "de").reading():
        for row, english in rows.items():
            row.refresh_from_db()
            assert english == row.error != in_words(row.error)
        checked, own = map(in_words, Condensation.objects.get().notes)
        assert "no {room}" in in_words(ModelCall.objects.get().error)
    assert checked.endswith(": Abschnitte 88\xa0% und keine Verweigerung")
    assert own == "My own: 5 words, as I said"
    assert [one for verdict in verify_all() for one in verdict.problems] == []


@pytest.mark.parametrize(
    ("changed", "is_used"),
    [
        ({"template": "It failed: {said}", "values": {"said": "a b"}}, True),
        ({"template": "It failed: {said}", "values": {"said": "c"}}, False),
        ({"template": "{said}", "values": {"said": "It failed: a b"}}, True),
        ({"template": "{said.__class__}", "values": {"said": "It failed: a b"}}, False),
        ("It failed: a b", False),
        (None, False),
    ],
)
def test_what_does_not_make_the_text_is_not_used(
    conversation: Conversation, changed: Any, is_used: bool
) -> None:
    """The text that the chain has a digest of is shown, whoever changed what is beside it."""
    pk = put_on_record(conversation, at_seq=1, error="It failed: a b").pk
    Condensation.objects.filter(pk=pk).update(sentences=[changed])
    error = Condensation.objects.get(pk=pk).error
    assert error == "It failed: a b"
    assert isinstance(error, Sentence) == is_used


def test_an_imported_record_reads_in_its_readers_language(alice: User, tmp_path: Any) -> None:
    """A file of before has only texts: it is imported, and shown as it is stored."""
    life = Life(alice)
    life.say(2)
    issue = say("It leaves out: {missing}", missing="a b")
    error = say("The summary was refused: {issue}", issue=issue)
    notes = [say("The {what} did not fit whole; its middle is hidden.", what=noop("first message"))]
    put_on_record(life.conversation, at_seq=2, status="failed", error=error, notes=notes)
    file = write(life.conversation)
    of_before = re.sub(rb',"sentences":\[\{.*?\}\](?=[,}])', b"", file)
    assert b"sentences" not in of_before
    for one, is_made in ((file, True), (of_before, False)):
        row = read(one, alice, tmp_path).condensations.get()
        assert (row.error, row.notes) == (error, notes)
        with Reader("de", "de").reading():
            assert (in_words(row.error) != error) == is_made
            assert (in_words(row.notes[0]) != notes[0]) == is_made
