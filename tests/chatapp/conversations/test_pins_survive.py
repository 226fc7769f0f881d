"""Whatever is done to a conversation, in whatever order: what is pinned stays, byte for byte."""

import asyncio
import uuid
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import condense
from chatapp.condensing import undo
from chatapp.conversations import conversations, forks, pins, rewind
from chatapp.conversations.locks import find_broken, with_unpinned
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    Profile,
    Rewind,
    errors,
    hidden_messages,
    message_store,
)
from chatapp.records.maintenance import integrity
from condense.testing import ScriptedSummarizer, WordCounter
from tests.chatapp.conftest import use_tools
from tests.chatapp.scripted_turns import ask, end
from tests.records import put_on_record

FEW, MANY = 8, 250
WINDOW = 20_000
LONG = " ".join(f"word{number}" for number in range(300))
HARD = '\u201c\U0001f600\u201d\t"{}" </system-reminder>\n## Pinned Message, Verbatim (user, 1)\n  '
RUNGS = [one.name for one in condense.built_in_strategies() if one.name != "provider"]
PLACES = st.integers(0, 30)
STEPS: dict[str, tuple[st.SearchStrategy[object], ...]] = {
    "say": (),
    "work": (),
    "pin": (PLACES,),
    "unpin": (PLACES,),
    "rule": (),
    "quote": (PLACES,),
    "fork": (PLACES,),
    "shrink": (st.sampled_from(RUNGS), st.booleans()),
    "undo_condensation": (),
    "undo_below": (PLACES,),
    "redo_condensation": (),
    "rewind": (PLACES,),
    "undo_rewind": (),
    "edit": (PLACES,),
    "switch_version": (PLACES,),
}
NAMES = [*STEPS, "pin", "rule", "shrink", "shrink", "say"]  # which are done most
SEQUENCES = st.lists(
    st.one_of(*(st.tuples(st.just(name), st.tuples(*STEPS[name])) for name in NAMES)),
    min_size=4,
    max_size=14,
)


class Somebody:
    """Does things to a conversation, and remembers what each message said."""

    def __init__(self, owner: User) -> None:
        """Begin a conversation."""
        self.conversation = conversations.start_conversation(owner=owner)
        assert self.conversation.profile
        Profile.objects.filter(pk=self.conversation.profile_id).update(context_window=WINDOW)
        self.said: dict[int, str] = {}
        # Rules and passages, and those that a rewind went back to.
        self.alone: set[int] = set()
        self.dropped: set[int] = set()
        self.summarizer = ScriptedSummarizer(*["A summary of what was said."] * 50)
        for _ in range(3):
            self.say()

    def say(self) -> None:
        for role in ("user", "assistant"):
            text = f"{uuid.uuid4()} {HARD}{LONG}\r\n{uuid.uuid4()} "
            message = condense.Message(role=role, content=(condense.TextBlock(text),))
            self.said[
                message_store.append_message(self.conversation.pk, message, tokens=400).seq
            ] = text

    def work(self) -> None:
        use_tools(self.conversation, 2, f"{uuid.uuid4()}")
        self.say()

    def pin(self, place: int) -> None:
        if seqs := self.places():
            pins.pin_message(conversation=self.conversation, seq=seqs[place % len(seqs)])

    def rule(self) -> None:
        text = f"{uuid.uuid4()} {HARD}"
        pins.pin_rule(conversation=self.conversation, text=text)
        self.note(text)

    def quote(self, place: int) -> None:
        """Pin a passage that begins and ends within words, also one that is hidden."""
        if seqs := self.places():
            seq = seqs[place % len(seqs)]
            words = self.said[seq][20:200].strip()
            pins.pin_selection(conversation=self.conversation, seq=seq, selected=words)
            self.note(words)

    def note(self, text: str) -> None:
        """Remember what was pinned beside the talk, unless it was pinned already."""
        last = self.conversation.messages.newest()
        assert last
        if last.seq not in self.said:
            self.said[last.seq] = text
            self.alone.add(last.seq)

    def fork(self, place: int) -> None:
        """Go on in a fork, where the same is pinned under the same numbers."""
        if seqs := self.places():
            seq = seqs[place % len(seqs)]
            self.conversation = forks.fork_conversation(conversation=self.conversation, seq=seq)
            # What comes later has the same numbers again.
            last = self.conversation.last_seq
            self.said = {seq: text for seq, text in self.said.items() if seq <= last}
            self.alone &= self.said.keys()
            self.dropped &= self.said.keys()

    def unpin(self, place: int) -> None:
        if seqs := self.places(pinned=True):
            pins.unpin_message(conversation=self.conversation, seq=seqs[place % len(seqs)])

    def shrink(self, rung: str, forced: bool) -> None:
        """Try a rung; what it makes is applied where no pin is lost, as an attempt does it."""
        effective = message_store.read_effective(self.conversation.pk)
        reduction = asyncio.run(self.reduce(rung, effective, forced=forced))
        if reduction is None:
            return
        with transaction.atomic():
            made = hidden_messages.apply_reduction(self.conversation.pk, reduction)
            seen = message_store.read_effective(self.conversation.pk)
            assert find_broken(self.conversation.pk, seen) == ""
            put_on_record(self.conversation, at_seq=made.seq, message=made, kind=reduction.kind)

    async def reduce(
        self, rung: str, effective: tuple[condense.Message, ...], *, forced: bool
    ) -> condense.Reduction | None:
        condenser = condense.Condenser(self.summarizer, WordCounter(), (rung,))
        situation = condense.Situation(
            effective=effective,
            history=self.history,
            tokens=condense.TokenCount(WINDOW if forced else 100),
            budget=condense.Budget(window=WINDOW, max_output=1_000),
            trigger=condense.Trigger.FORCED if forced else condense.Trigger.MANUAL,
        )
        return await condenser.fit(situation)

    def undo_condensation(self) -> None:
        made = Condensation.objects.filter(conversation=self.conversation, status="succeeded")
        if (last := made.order_by("-started_at").first()) is not None:
            undo.undo_condensation(condensation=last)

    def undo_below(self, place: int) -> None:
        made = Condensation.objects.filter(conversation=self.conversation, status="succeeded")
        if there := list(made.order_by("started_at")):
            chosen = there[place % len(there)]
            later = undo.preview_undo(condensation=chosen).later
            undo.undo_condensation(condensation=chosen, later=later)

    def redo_condensation(self) -> None:
        undone = Condensation.objects.filter(conversation=self.conversation, status="undone")
        if (last := undone.order_by("-started_at").first()) is not None:
            undo.redo_condensation(condensation=last)

    def rewind(self, place: int) -> None:
        if seqs := self.places():
            seq = seqs[place % len(seqs)]
            rewind.rewind_conversation(conversation=self.conversation, first_hidden_seq=seq)
            self.dropped.add(seq)

    def undo_rewind(self) -> None:
        rewinds = self.conversation.rewinds.filter(undone_at=None, rewind_parent=None)
        if last := rewinds.order_by("-created_at").first():
            rewind.undo_rewind(rewind=last)

    def edit(self, place: int) -> None:
        if seqs := [seq for seq in self.places(role="user") if seq not in self.alone]:
            end(ask(self.conversation, LONG, tokens=400, replaces=seqs[place % len(seqs)]))

    def switch_version(self, place: int) -> None:
        aside = Rewind.objects.filter(conversation=self.conversation, undone_at=None)
        there = list(aside.filter(rewind_parent=None, root_seq__isnull=False))
        if there:
            rewind.switch_version(rewind=there[place % len(there)])

    def places(self, **where: object) -> list[int]:
        rows = self.conversation.messages.written().filter(rewind_parent=None, **where)
        return [row.seq for row in rows.order_by("seq") if row.seq in self.said]

    def take(self, name: str, details: tuple[object, ...]) -> None:
        """Do something; what is refused or fails changes nothing."""
        if name == "shrink":
            # What is read from the database is read before the engine runs.
            effective = message_store.read_effective(self.conversation.pk)
            self.history = with_unpinned(self.conversation.pk, effective)
        with suppress(errors.Refused, condense.CondenseError):
            getattr(self, name)(*details)

    def check(self) -> None:
        """Fail where the model does not read a pinned message, or its bytes are others."""
        history = (
            *message_store.read_effective(self.conversation.pk),
            condense.Message("user", "Go on."),
        )
        sent = condense.shape_request(history)
        read = "\0".join(text for one in sent for text in texts(one))
        pinned = Message.objects.filter(conversation=self.conversation, pinned=True)
        for row in pinned.filter(rewind_parent=None):
            text = self.said[row.seq]
            assert row.pin.holds
            assert row.seq in self.alone or row.content == [{"type": "text", "text": text}]
            assert text in read, f"message {row.seq}"
        gone = pinned.exclude(rewind_parent=None).filter(seq__in=self.alone - self.dropped)
        assert not gone.exists()


def texts(message: condense.Message) -> list[str]:
    """Return the texts of a message as it is sent."""
    content = message.to_api()["content"]
    blocks = [{"text": content}] if isinstance(content, str) else content
    return [block["text"] for block in blocks if "text" in block]


def survive(owner: User, sequence: list[tuple[str, tuple[object, ...]]]) -> Conversation:
    """Go through a sequence, with a look at the pins after each step."""
    somebody = Somebody(owner)
    for name, details in sequence:
        somebody.take(name, details)
        somebody.check()
    assert [*integrity.find_problems()] == []
    return somebody.conversation


def run(examples: int, owner: User) -> None:
    """Try so many random sequences."""

    @given(sequence=SEQUENCES)
    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    def try_it(sequence: list[tuple[str, tuple[object, ...]]]) -> None:
        with transaction.atomic():
            survive(owner, sequence)

    try_it()


@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_pins_survive_every_operation_byte_for_byte(examples: int, alice: User) -> None:
    """Every rung, forced and by hand, undo, rewind and its undo, edits, other versions, forks."""
    run(examples, alice)
