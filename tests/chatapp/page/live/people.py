"""Somebody who does whatever a test says to a conversation that the stand-in answers."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import QuerySet

import condense
from chatapp.condensing import undo
from chatapp.conversations import conversations, pins
from chatapp.conversations import rewind as rewind_
from chatapp.conversations.context import sizes
from chatapp.conversations.context.condense_requests import CondenseRequest, CondenseScope
from chatapp.conversations.rewind import rewind_conversation
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    Preferences,
    Profile,
    Rewind,
    accounts,
)
from chatapp.page.live import incoming_frames
from chatapp.turns import actions
from tests.chatapp.claude import converse
from tests.chatapp.page.live.witness import Witness
from tests.chatapp.runs import ended
from tests.records import append_many
from tests.standin.behaviours import OVERFLOW, UNAUTHORIZED, Reply
from tests.standin.server import Standin

LONG = " ".join(f"word{number}" for number in range(420))
WORDS = {
    "short": "Hello.",
    "long": LONG,
    "list": "call list_files",
    "read": 'call read_file {"path": "x"}',
}
SCRIPTS = {
    "broken": Reply("One. Two. Three.", broken="cut"),
    "overflow": OVERFLOW,
    "failing": UNAUTHORIZED,
    "cut": Reply("It went on until", stop_reason="max_tokens"),
}
# Turns of the event loop after which something is interrupted; None lets it end by itself.
Moment = int | None


@dataclass
class Person:
    """Has a name for each thing that people do; what is refused raises services.Refused."""

    conversation: Conversation
    small: Profile
    large: Profile
    standin: Standin
    witness: Witness

    async def wait(self) -> None:
        """Return when nothing runs any more."""
        await ended(self.conversation)

    async def interrupt(self, moment: Moment, how: Callable[[uuid.UUID], Awaitable[None]]) -> None:
        """Let what runs go on for a while, then interrupt it."""
        if moment is None:
            return
        for _ in range(moment):
            await asyncio.sleep(0)
        await how(self.conversation.pk)

    async def say(self, text: str, moment: Moment = None, replaces: int | None = None) -> None:
        text = WORDS.get(text, text)
        command = incoming_frames.SendMessage(text=text, nonce=uuid.uuid4(), replaces=replaces)
        await actions.send_message(self.conversation, command)
        self.witness.said.append(text)
        await self.interrupt(moment, actions.stop)

    async def say_after(self, script: str, moment: Moment, then: str) -> None:
        self.standin.then(SCRIPTS[script])
        await self.say("Go on.", None if then else moment)
        if then:
            await self.wait()
            await sync_to_async(self.witness.look)()
            await self.take_up(then, moment)

    async def take_up(self, how: str, moment: Moment, seq: int = 0) -> None:
        await actions.take_up(self.conversation, incoming_frames.TakeUp(how, uuid.uuid4(), seq))
        await self.interrupt(moment, actions.stop)

    async def regenerate(self, place: int, moment: Moment) -> None:
        if seqs := await self.places(role="assistant"):
            await self.take_up("regenerate", moment, seqs[place % len(seqs)])

    async def edit(self, place: int, text: str, moment: Moment) -> None:
        if seqs := await self.places(role="user"):
            await self.say(text, moment, replaces=seqs[place % len(seqs)])

    async def switch_version(self, place: int, returns: bool) -> None:
        """Look at another version, and perhaps come back to what was there."""
        before = await sync_to_async(self.witness.what_the_model_sees)()
        aside = self.rewinds.filter(undone_at=None, rewind_parent=None, root_seq__isnull=False)
        if not (there := [one async for one in aside]):
            return
        chosen = there[place % len(there)]
        await sync_to_async(rewind_.switch_version)(rewind=chosen)
        if returns:
            left = await self.rewinds.filter(brings_back=chosen).afirst()
            assert left
            await sync_to_async(rewind_.switch_version)(rewind=left)
            assert await sync_to_async(self.witness.what_the_model_sees)() == before

    async def condense(self, moment: Moment, stops: bool) -> None:
        await actions.condense_now(self.conversation, CondenseRequest(uuid.uuid4()))
        await self.interrupt(moment, actions.stop if stops else actions.cancel_condensing)

    async def condense_part(self, place: int, moment: Moment) -> None:
        """Choose two visible messages, and all between them."""
        if len(seqs := await self.places()) > 1:
            first = place % (len(seqs) - 1)
            last = min(first + 1 + place % 3, len(seqs) - 1)
            scope = CondenseScope(seqs[first], seqs[last])
            command = CondenseRequest(uuid.uuid4(), scope=scope)
            await actions.condense_now(self.conversation, command)
            await self.interrupt(moment, actions.cancel_condensing)

    async def rewind(self, place: int) -> None:
        if seqs := await self.places():
            seq = seqs[place % len(seqs)]
            await sync_to_async(rewind_conversation)(
                conversation=self.conversation, first_hidden_seq=seq
            )

    async def pin(self, place: int, on: bool) -> None:
        if seqs := await self.places():
            change = pins.pin_message if on else pins.unpin_message
            await sync_to_async(change)(conversation=self.conversation, seq=seqs[place % len(seqs)])

    async def undo_rewind(self) -> None:
        if last := await self.rewinds.filter(undone_at=None, rewind_parent=None).afirst():
            await sync_to_async(rewind_.undo_rewind)(rewind=last)

    async def undo_condensation(self) -> None:
        made = Condensation.objects.filter(conversation=self.conversation, status="succeeded")
        made = made.select_related("message", "conversation").order_by("-started_at")
        if (last := await made.afirst()) is not None:
            await sync_to_async(undo.undo_condensation)(condensation=last)

    async def redo_condensation(self) -> None:
        undone = Condensation.objects.filter(conversation=self.conversation, status="undone")
        undone = undone.select_related("message", "conversation").order_by("-started_at")
        if (last := await undone.afirst()) is not None:
            await sync_to_async(undo.redo_condensation)(condensation=last)

    async def switch_profile(self, large: bool) -> None:
        profile = self.large if large else self.small
        await Conversation.objects.filter(pk=self.conversation.pk).aupdate(profile=profile)
        await self.conversation.arefresh_from_db()

    async def switch_automatic(self) -> None:
        preferences = await Preferences.objects.aget(owner=self.conversation.owner_id)
        preferences.auto_condense = not preferences.auto_condense
        await preferences.asave()

    async def delete(self, moment: Moment) -> None:
        await self.say("Farewell.")
        for _ in range(moment or 0):
            await asyncio.sleep(0)
        await sync_to_async(conversations.delete_conversation)(conversation=self.conversation)
        await actions.stop(self.conversation.pk)
        await self.wait()
        await sync_to_async(conversations.restore_conversation)(conversation=self.conversation)
        await self.conversation.arefresh_from_db()

    @property
    def rewinds(self) -> QuerySet[Rewind]:
        """The conversation's rewinds, the latest first."""
        found = Rewind.objects.filter(conversation=self.conversation)
        return found.select_related("conversation").order_by("-created_at")

    async def places(self, **where: str) -> list[int]:
        """Return the numbers of visible messages that people or the model wrote."""
        visible = Message.objects.filter(conversation=self.conversation, hidden=False, **where)
        return [row.seq async for row in visible.written().order_by("seq") if not row.holds_results]


def meet(standin: Standin) -> Person:
    """Return a person with a new conversation, and a small and a large window to choose from."""
    owner = User.objects.create_user(f"someone-{uuid.uuid4()}")
    accounts.preferences_of(owner)
    conversation = converse(owner, standin, context_window=8_000, max_output=400)
    small = conversation.profile
    assert small
    large = Profile.objects.get(pk=small.pk)
    large.pk, large.name, large.context_window = None, "Large", 60_000
    large.save()
    append_many(conversation.pk, [(one, counted(one)) for one in talk()])
    return Person(conversation, small, large, standin, Witness(conversation, standin))


def talk() -> list[condense.Message]:
    """Return a conversation that leaves some room in the small window."""
    texts = (condense.TextBlock(f"{number}. {LONG}") for number in range(8))
    roles: list[condense.Role] = ["user", "assistant"] * 4
    return [condense.Message(role, (text,)) for role, text in zip(roles, texts, strict=True)]


def counted(message: condense.Message) -> int:
    """Return the message's tokens, as the application counts them."""
    return condense.count_message(message, sizes.COUNTER)
