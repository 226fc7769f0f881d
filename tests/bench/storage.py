"""What appending, reading, condensing and rewinding a stored conversation takes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial

from asgiref.sync import sync_to_async
from django.utils import timezone

import condense
from chatapp.context import budgets, sizes
from chatapp.context.journal import StoredJournal
from chatapp.context.runs import Run
from chatapp.context.saving import Saver
from chatapp.models import Conversation, Preferences, Profile, Rewind, Turn, store
from tests.bench.conversations import WORDS, make_conversation, make_owner
from tests.bench.table import Row
from tests.bench.timing import fastest, typical

SHORT, LONG, LONGEST, VISIBLE = 1_000, 10_000, 100_000, 200
# Costs that do not depend on what is stored may differ by this factor at most.
ALIKE = 1.5
SUMMARY = "<summary>\n1. Primary Request and Intent:\n   - Everything.\n</summary>"


def measure_storage() -> Iterator[Row]:
    """Yield the rows of all that works on a database."""
    owner, profile = make_owner()
    make = partial(make_conversation, owner, profile)
    long, longest = make(LONG), make(LONGEST)
    yield from measure_appending(long, longest)
    yield from measure_reading(make(SHORT, VISIBLE), make(LONGEST, VISIBLE))
    yield measure_rewinding(longest)
    yield from measure_condensing(longest, profile)


def measure_appending(long: Conversation, longest: Conversation) -> Iterator[Row]:
    """Append a message: count it, store it, commit."""
    here = [1_000 * _appending(conversation) for conversation in (long, longest)]
    yield Row("append a message to 10,000 stored", here[0], 5, "ms", there=94)
    yield Row("append a message to 100,000 stored", here[1], 5, "ms")
    yield Row("… against 10,000", here[1] / here[0], ALIKE, "times")


class Nobody:
    """An audience that hears nothing."""

    def publish(self, event: object) -> None:
        """Do nothing."""


def _appending(conversation: Conversation) -> float:
    assert conversation.profile is not None
    run = Run(
        conversation=conversation,
        profile=conversation.profile,
        preferences=Preferences(),
        turn=Turn.objects.create(conversation=conversation, finished_at=timezone.now()),
    )
    journal = StoredJournal(run, sizes.Scale(overhead=0), Saver(Nobody()))
    message = condense.Message("user", (condense.TextBlock(WORDS),))
    with asyncio.Runner() as runner:
        return typical(lambda: runner.run(journal.append(message)))


def measure_reading(short: Conversation, longest: Conversation) -> Iterator[Row]:
    """Read what the model sees and shape it into a request."""

    def shape(conversation: Conversation) -> object:
        return condense.shape_request(store.read_effective(conversation.pk))

    here = [1_000 * typical(partial(shape, one), times=20) for one in (short, longest)]
    work = "read and shape a request, 200 visible of 100,000 stored"
    yield Row(work, here[1], 10, "ms", there=0.04)
    yield Row("… against 1,000", here[1] / here[0], ALIKE, "times")


def measure_rewinding(conversation: Conversation) -> Row:
    """Go back to the middle; it is undone before the next run."""

    def undo() -> None:
        store.undo_rewind(Rewind.objects.filter(conversation=conversation).latest("created_at"))

    seconds = fastest(
        lambda: store.rewind(conversation.pk, to_seq=LONGEST // 2), times=3, after=undo
    )
    return Row("rewind to the middle of 100,000", 1_000 * seconds, 500, "ms", there=29)


class InstantModel:
    """Summarises at once, from the conversation's own prompt, as Claude does."""

    supports_images = True
    caches_prompts = True

    async def stream(self, _request: object) -> AsyncIterator[condense.Chunk]:
        """Yield the summary in one piece."""
        yield condense.TextChunk(SUMMARY)


class Committing(condense.NullLog):
    """Applies what was condensed, and takes it back after the run."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    async def succeeded(self, _attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        """Insert the summary, hide what it stands for, commit."""
        self.made = await sync_to_async(store.apply_reduction)(self.conversation.pk, reduction)

    def undo(self) -> None:
        """Show the history again, without the summary, so that each run does the same."""
        store.undo_reduction(self.made)
        self.made.delete()


def measure_condensing(conversation: Conversation, profile: Profile) -> Iterator[Row]:
    """Condense all of a history: plan it, write the request, apply the result, commit."""
    history = store.read_effective(conversation.pk)
    budget = budgets.budget_for(profile, Preferences())
    log = Committing(conversation)
    condenser = condense.Condenser(InstantModel(), budgets.COUNTER, log=log)
    situation = condense.Situation(
        effective=history,
        tokens=condense.TokenCount(sizes.sum_tokens(history)),
        budget=budget,
        trigger=condense.Trigger.MANUAL,
    )
    with asyncio.Runner() as runner:
        seconds = fastest(lambda: runner.run(condenser.fit(situation)), times=3, after=log.undo)
    yield Row("condense 100,000 messages, model call excluded", 1_000 * seconds, 1_000, "ms", 150)
    check = partial(condense.receipt, history, SUMMARY, searchable=False)
    yield Row("… check what the summary kept of them", 1_000 * fastest(check, times=3), None, "ms")
