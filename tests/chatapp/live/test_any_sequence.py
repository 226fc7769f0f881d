"""Whatever people do, in whatever order: no word is lost, nothing runs on, every call is on record.

Sends, tools, condensations and truncations are stopped or cancelled wherever they happen to be;
between them people rewind, take that back, edit, undo, switch profiles, delete and restore.
"""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import condense
from chatapp import services
from chatapp.context import budgets
from chatapp.live import protocol, turns
from chatapp.live.rooms import hub
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Preferences,
    Profile,
    Rewind,
    Turn,
    store,
)
from tests.chatapp.claude import converse
from tests.standin.behaviours import OVERFLOW, UNAUTHORIZED, Reply
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]

pytestmark = pytest.mark.django_db(transaction=True)

LONG = " ".join(f"word{number}" for number in range(420))
WORDS = {
    "short": "Hello.",
    "long": LONG,
    "list": "call list_files",
    "read": 'call read_file {"path": "x"}',
}
# Turns of the event loop after which something is interrupted; None lets it end by itself.
TEXTS = st.sampled_from([*WORDS])
MOMENTS = st.none() | st.integers(0, 400)
SCRIPTS = {
    "broken": Reply("One. Two. Three.", broken="cut"),
    "overflow": OVERFLOW,
    "failing": UNAUTHORIZED,
    "cut": Reply("It went on until", stop_reason="max_tokens"),
}
Step = tuple[str, tuple[object, ...]]


def steps() -> st.SearchStrategy[list[Step]]:
    """Return sequences of what people do, each with its details."""
    place = st.integers(0, 30)
    return st.lists(
        st.one_of(
            st.tuples(st.just("say"), st.tuples(TEXTS, MOMENTS)),
            st.tuples(st.just("say"), st.tuples(TEXTS, MOMENTS)),
            st.tuples(st.just("say_after"), st.tuples(st.sampled_from([*SCRIPTS]), MOMENTS)),
            st.tuples(st.just("condense"), st.tuples(MOMENTS, st.booleans())),
            st.tuples(st.just("edit"), st.tuples(place, TEXTS)),
            st.tuples(st.just("rewind"), st.tuples(place)),
            st.tuples(st.just("undo_rewind"), st.tuples()),
            st.tuples(st.just("undo_condensation"), st.tuples()),
            st.tuples(st.just("switch_profile"), st.tuples(st.booleans())),
            st.tuples(st.just("switch_automatic"), st.tuples()),
            st.tuples(st.just("delete"), st.tuples(MOMENTS)),
        ),
        min_size=3,
        max_size=9,
    )


@dataclass
class Person:
    """Does what a sequence says, and checks after each step what must hold."""

    conversation: Conversation
    small: Profile
    large: Profile
    standin: Standin
    seen: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    async def do(self, step: Step) -> None:
        """Take one step; what is refused changes nothing."""
        name, details = step
        action: Callable[..., Awaitable[None]] = getattr(self, name)
        with suppress(services.Refused, condense.CondenseError):
            await action(*details)
        await self.wait()
        await sync_to_async(self.check)()

    async def wait(self) -> None:
        """Return when nothing runs any more."""
        room = hub.rooms.get(self.conversation.pk)
        if room and room.job:
            await room.job.ended()

    async def interrupt(self, moment: int | None, how: Callable[[uuid.UUID], None]) -> None:
        """Let what runs go on for so many turns of the event loop, then interrupt it."""
        if moment is None:
            return
        for _ in range(moment):
            await asyncio.sleep(0)
        how(self.conversation.pk)

    async def say(self, text: str, moment: int | None = None, replaces: int | None = None) -> None:
        text = WORDS.get(text, text)
        command = protocol.SendMessage(text=text, nonce=uuid.uuid4(), replaces=replaces)
        await turns.send_message(self.conversation, command)
        self.said.append(text)
        await self.interrupt(moment, turns.stop)

    async def say_after(self, script: str, moment: int | None) -> None:
        self.standin.then(SCRIPTS[script])
        await self.say("Go on.", moment)

    async def condense(self, moment: int | None, stops: bool) -> None:
        await turns.condense_now(self.conversation, focus="")
        await self.interrupt(moment, turns.stop if stops else turns.cancel_condensing)

    async def edit(self, place: int, text: str) -> None:
        if seqs := await self.places(role="user"):
            await self.say(text, replaces=seqs[place % len(seqs)])

    async def rewind(self, place: int) -> None:
        if seqs := await self.places():
            seq = seqs[place % len(seqs)]
            await sync_to_async(services.rewind_conversation)(
                conversation=self.conversation, to_seq=seq
            )

    async def undo_rewind(self) -> None:
        rewinds = Rewind.objects.filter(conversation=self.conversation).order_by("-created_at")
        if (last := await rewinds.select_related("conversation").afirst()) is not None:
            await sync_to_async(services.undo_rewind)(rewind=last)

    async def undo_condensation(self) -> None:
        made = Condensation.objects.filter(conversation=self.conversation, status="succeeded")
        made = made.select_related("message", "conversation").order_by("-started_at")
        if (last := await made.afirst()) is not None:
            await sync_to_async(services.undo_condensation)(condensation=last)

    async def switch_profile(self, large: bool) -> None:
        profile = self.large if large else self.small
        await Conversation.objects.filter(pk=self.conversation.pk).aupdate(profile=profile)
        await self.conversation.arefresh_from_db()

    async def switch_automatic(self) -> None:
        preferences = await Preferences.objects.aget(owner=self.conversation.owner_id)
        preferences.auto_condense = not preferences.auto_condense
        await preferences.asave()

    async def delete(self, moment: int | None) -> None:
        await self.say("Farewell.")
        for _ in range(moment or 0):
            await asyncio.sleep(0)
        await sync_to_async(services.delete_conversation)(conversation=self.conversation)
        turns.stop(self.conversation.pk)
        await self.wait()
        await sync_to_async(services.restore_conversation)(conversation=self.conversation)
        await self.conversation.arefresh_from_db()

    async def places(self, **where: str) -> list[int]:
        """Return the numbers of visible messages that people or the model wrote."""
        visible = Message.objects.filter(conversation=self.conversation, hidden=False, **where)
        return [row.seq async for row in visible.written().order_by("seq") if not row.holds_results]

    def check(self) -> None:
        """Fail where a word is lost, something runs on, or a call is not on record."""
        self.nothing_runs_on()
        self.no_word_is_lost()
        self.every_call_is_on_record()
        self.what_the_model_sees_is_what_the_tags_say()

    def nothing_runs_on(self) -> None:
        assert not Turn.objects.filter(conversation=self.conversation, status="running").exists()
        running = Condensation.objects.filter(conversation=self.conversation, status="running")
        assert not running.exists()

    def no_word_is_lost(self) -> None:
        rows = Message.objects.filter(conversation=self.conversation)
        now = {str(row.pk): json.dumps(row.content, sort_keys=True) for row in rows}
        assert self.seen.items() <= now.items()
        self.seen = now
        texts = [row.content for row in rows.filter(role="user").written()]
        stored = json.dumps(texts)
        assert all(json.dumps(text)[1:-1] in stored for text in self.said)

    def every_call_is_on_record(self) -> None:
        calls = ModelCall.objects.filter(conversation=self.conversation)
        assert calls.count() >= len(self.standin.requests)
        assert not self.standin.problems

    def what_the_model_sees_is_what_the_tags_say(self) -> None:
        rows = Message.objects.filter(conversation=self.conversation).in_reading_order()
        derived = condense.effective_history([store.to_engine(row) for row in rows])
        stored = store.read_effective(self.conversation.pk)
        assert [one.id for one in stored] == [one.id for one in derived]


def talk() -> list[condense.Message]:
    """Return a conversation that leaves some room in the small window."""
    texts = (condense.TextBlock(f"{number}. {LONG}") for number in range(8))
    roles: list[condense.Role] = ["user", "assistant"] * 4
    return [condense.Message(role, (text,)) for role, text in zip(roles, texts, strict=True)]


def counted(message: condense.Message) -> int:
    """Return the message's tokens, as the application counts them."""
    return condense.count_message(message, budgets.COUNTER)


def meet(standin: Standin) -> Person:
    """Return a person with a new conversation, and a small and a large window to choose from."""
    owner = User.objects.create_user(f"someone-{uuid.uuid4()}")
    services.preferences_of(owner)
    conversation = converse(owner, standin, context_window=8_000, max_output=400)
    small = conversation.profile
    assert small
    large = Profile.objects.get(pk=small.pk)
    large.pk, large.name, large.context_window = None, "Large", 60_000
    large.save()
    store.append_many(conversation.pk, [(one, counted(one)) for one in talk()])
    standin.requests.clear()
    return Person(conversation, small, large, standin)


@given(sequence=steps())
@settings(
    max_examples=12,
    deadline=None,
    # Where threads meet, the same sequence may pass the next time: nothing to shrink.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_no_word_is_lost_whatever_people_do(
    sequence: list[Step], anthropic_standin: Standin
) -> None:
    """Nothing runs on, and nothing is paid for that is not on record."""
    person = await sync_to_async(meet)(anthropic_standin)
    for step in sequence:
        await person.do(step)
