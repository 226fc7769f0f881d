"""The record of a condensation says what the engine did; metrics say the same."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

import condense
from chatapp.agent import events
from chatapp.condensing import background_drafts
from chatapp.condensing.attempt_log import AttemptLog, told_by
from chatapp.condensing.draft_writer import DraftLog, basis_of
from chatapp.conversations.context import sizes
from chatapp.conversations.context.condense_requests import NO_REQUEST
from chatapp.models import BackgroundDraft, Condensation, Conversation, message_store
from chatapp.project.languages import Reader, in_words
from condense.testing import ScriptedSummarizer
from tests.chatapp.agent.fakes import RecordingAudience
from tests.chatapp.conftest import Say, reduction_of
from tests.chatapp.runs import journal_of, run_in

pytestmark = pytest.mark.django_db(transaction=True)

FORCED = condense.Trigger.FORCED


@pytest.fixture(autouse=True)
def talk(conversation: Conversation, say: Say) -> None:
    """A conversation of 10,000 tokens."""
    for number in range(10):
        say("user" if number % 2 == 0 else "assistant", f"Message {number}. " * 250, tokens=1_000)


def new_log[Log: AttemptLog](made: type[Log], conversation: Conversation, **rest: Any) -> Log:
    """Return a log over a turn in the conversation, in which 100 tokens go to the system prompt."""
    turn = conversation.turns.first()
    run = replace(run_in(conversation, turn), **rest)
    return made(journal_of(run, RecordingAudience(), 100))


log_in = sync_to_async(new_log)


def draft_log(conversation: Conversation) -> DraftLog:
    """Return the log of a draft that is to be written."""
    draft = BackgroundDraft.objects.create(conversation=conversation, owner="here")
    run = run_in(conversation)
    return DraftLog(journal_of(run, RecordingAudience(), 100), draft, basis_of(run))


def test_checks_are_stored_in_english_and_read_in_the_readers_words() -> None:
    """By their names; those of an application's own hooks stay."""
    verdicts = (
        condense.Verdict(name="sections", score=0.875),
        condense.Verdict(name="my_hook", score=1.0),
        condense.Verdict(name="refusal"),
        condense.Verdict(name="length", issues=("It says the same over and over",)),
    )
    message = condense.Message(role="user", content=())
    notes = told_by(replace(reduction_of(message, ()), verdicts=verdicts))["notes"]
    assert notes == [
        "Checks passed: sections 88%, my_hook, no refusal",
        "length: It says the same over and over",
    ]
    with Reader("de", "de").reading():
        checked, issue = map(in_words, notes)
    assert checked.endswith(": Abschnitte 88\xa0%, my_hook und keine Verweigerung")
    assert issue.startswith("Länge: ")


async def veto(_plan: condense.Plan) -> condense.Veto:
    """Stop every run."""
    return condense.Veto("Not during the audit.")


async def condense_with(
    log: AttemptLog,
    *replies: Any,
    trigger: condense.Trigger = FORCED,
    strategies: Sequence[str] = ("fresh_start",),
    hooks: condense.Hooks | None = None,
) -> None:
    """Condense the conversation, which is measured at 20,000 tokens, as the replies say."""
    history = await sync_to_async(message_store.read_effective)(log.run.conversation.pk)
    budget = condense.Budget(window=30_000, max_output=1_000, threshold=50)
    tokens = condense.TokenCount(20_000, measured=True)
    situation = condense.Situation(effective=history, tokens=tokens, budget=budget, trigger=trigger)
    model = ScriptedSummarizer(*replies)
    condenser = condense.Condenser(model, sizes.COUNTER, strategies, log=log, hooks=hooks)
    await condenser.fit(situation)


def read_condensations() -> dict[tuple[str, str, str], float]:
    """Return how many attempts are counted, by their trigger, kind and outcome."""
    families = text_string_to_metric_families(Client().get("/metrics").text)
    return {
        (one.labels["trigger"], one.labels["kind"], one.labels["outcome"]): one.value
        for family in families
        for one in family.samples
        if one.name == "palimpsest_condensations_total"
    }


async def counted(before: dict[tuple[str, str, str], float]) -> dict[tuple[str, str, str], float]:
    """Return what was counted since, as far as it has grown."""
    after = await sync_to_async(read_condensations)()
    return {key: value - before[key] for key, value in after.items() if value != before[key]}


async def test_attempts_are_counted_as_the_record_names_them(
    conversation: Conversation, settings: Settings
) -> None:
    """With their tries, a draft once it is dropped, a veto with its reason."""
    settings.ALLOW_METRICS = True
    before = await sync_to_async(read_condensations)()
    await condense_with(await sync_to_async(draft_log)(conversation), "S")
    assert await counted(before) == {}
    await background_drafts.drop(conversation.pk, "It was changed.")
    ladder = ("fresh_start", "sliding_window")
    log = await log_in(AttemptLog, conversation)
    await condense_with(log, OSError("no"), strategies=ladder, trigger=FORCED)
    assert isinstance(log.audience, RecordingAudience)
    assert len(log.audience.of(events.CondensingFellBack)) == 1
    assert [one.kind for one in log.audience.of(events.CondensingEnded)] == ["truncated"]
    log = await log_in(AttemptLog, conversation, request=replace(NO_REQUEST, while_idle=True))
    await condense_with(log, "S", trigger=condense.Trigger.MANUAL)
    log = await log_in(AttemptLog, conversation)
    with pytest.raises(condense.Vetoed):
        await condense_with(log, "S", hooks=condense.Hooks(before=(veto,)))
    assert await counted(before) == {
        ("ahead", "condensed", "unused"): 1,
        ("idle", "condensed", "succeeded"): 1,
        ("forced", "truncated", "succeeded"): 1,
        ("forced", "condensed", "failed"): 1,
    }
    vetoed = await Condensation.objects.aget(status="failed", made_for=None)
    assert (vetoed.error, vetoed.prompt) == ("Not during the audit.", "")


async def test_a_draft_keeps_what_its_notes_are_made_of(conversation: Conversation) -> None:
    """Whoever applies it reads them from its row."""
    issue = condense.say("It leaves out: {missing}", missing="my notes")

    async def doubt(*_seen: object) -> condense.Verdict:
        return condense.Verdict(name="own", issues=(issue,))

    hooks = condense.Hooks(validators=(doubt,))
    await condense_with(await sync_to_async(draft_log)(conversation), "S", hooks=hooks)
    draft = await BackgroundDraft.objects.aget()
    for notes in (
        told_by(condense.Proposal.from_json(draft.proposal).reduction)["notes"],
        (await Condensation.objects.aget()).notes,
    ):
        (note,) = notes
        assert note.template == "{check}: {issue}"
        assert note.values["issue"].to_json() == issue.to_json()


def test_a_draft_has_the_sizes_of_the_turn_that_takes_it_over(
    conversation: Conversation, say: Say
) -> None:
    """What came since is in both, and stays; where it takes as much, another would be due."""

    def now() -> condense.Situation:
        effective = message_store.read_effective(conversation.pk)
        tokens = condense.TokenCount(sum(one.tokens or 0 for one in effective))
        budget = condense.Budget(10_000, max_output=1_000, threshold=40)
        return condense.Situation(effective=effective, tokens=tokens, budget=budget)

    tags = condense.Tags(condense_id=uuid.uuid4().hex)
    summary = condense.Message("user", (condense.TextBlock("It was said."),), tags=tags, tokens=500)
    drafted = reduction_of(summary, tuple(one.id for one in now().effective))
    say("user", "And south?", tokens=2_000)
    made = background_drafts.refit(drafted, now(), condense.Policy())
    assert (made.tokens_before.value, made.tokens_after.value) == (12_000, 2_500)
    say("assistant", "Down.", tokens=1_500)
    with pytest.raises(condense.DidNotShrink, match="grew too large"):
        background_drafts.refit(drafted, now(), condense.Policy())
