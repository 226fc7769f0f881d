"""The chat page's WebSocket: decode a frame, hand it to ``turns``, pass on what is to be shown."""

import asyncio
import functools
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast, override

from autobahn.exception import Disconnected
from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, load_backend
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.http import QueryDict
from django.utils.crypto import constant_time_compare

from chatapp import errors
from chatapp.composer import slash_commands
from chatapp.live import incoming_frames, outgoing_frames
from chatapp.models import Conversation, message_store
from chatapp.models.database import reading
from chatapp.number_formats import ZONE_COOKIE
from chatapp.turns import actions

# What a session depends on; signing in changes other columns.
_DECIDES = frozenset({"is_active", "password"})


def user_of(session: SessionBase) -> User | AnonymousUser:
    """Return who is signed in, as Django does, but without a write where nobody is any more."""
    backend = session.get(BACKEND_SESSION_KEY)
    if backend not in settings.AUTHENTICATION_BACKENDS:
        return AnonymousUser()
    user = load_backend(backend).get_user(session[SESSION_KEY])
    known = session.get(HASH_SESSION_KEY, "")
    if user and constant_time_compare(known, user.get_session_auth_hash()):
        return user
    return AnonymousUser()


@receiver(post_delete, sender=Session)
def look_after_session(instance: Session, **_signal: Any) -> None:
    """Look at the pages of a user who signed out, or whose session was removed."""
    if user_pk := instance.get_decoded().get(SESSION_KEY):
        _look(int(user_pk))


@receiver(post_save, sender=User)
def look_after_account(
    instance: User, created: bool, update_fields: frozenset[str] | None, **_signal: Any
) -> None:
    """Look at the pages of a user whose account was closed, or who has a new password."""
    if not created and (update_fields is None or not _DECIDES.isdisjoint(update_fields)):
        _look(instance.pk)


def _look(user_pk: int) -> None:
    # Before the commit, the pages would find all as it was.
    transaction.on_commit(lambda: actions.look_again(user_pk))


log = logging.getLogger(__name__)

# Seconds after which a page that is sent something is asked whether it still may see it.
LOOK_AGAIN = 30

# The browser should come back at once: it will get a snapshot.
TRY_AGAIN_LATER = 1013


class ConversationConsumer(AsyncWebsocketConsumer):
    """One page that shows one conversation."""

    conversation: Conversation
    pump: asyncio.Task[None] | None = None

    @override
    async def dispatch(self, message: Any) -> None:
        """Handle a message at once.

        Channels would wait for what is being written, only to close that thread's connection.
        """
        await getattr(self, get_handler_name(message))(message)

    @override
    async def connect(self) -> None:
        """Accept, then close with a reason the page can show, or start to send frames."""
        await self.accept()
        if not self._user.is_authenticated:
            return await self.close(incoming_frames.SIGN_IN_REQUIRED)
        conversation = await reading(self._find)()
        if conversation is None:
            return await self.close(incoming_frames.NOT_YOURS)
        self.conversation = conversation
        self.pump = asyncio.create_task(self._pump())
        return None

    @property
    def _user(self) -> User | AnonymousUser:
        """Who opened the socket, as things were then."""
        return cast("User | AnonymousUser", self.scope["user"])

    @property
    def _since(self) -> outgoing_frames.Place | None:
        """What a page that comes back has already."""
        asked = QueryDict(self.scope.get("query_string", b""))
        return outgoing_frames.read_place(asked.get("since", ""))

    def _find(self) -> Conversation | None:
        pk: uuid.UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        return message_store.find_own(pk, self._user.pk)

    async def _ended(self) -> int:
        """Return the code to close with, 0 while session, user and conversation still stand."""
        return await reading(self._look)()

    def _look(self) -> int:
        # Who has no session has proved otherwise who they are.
        session: SessionBase | None = self.scope.get("session")
        if session is not None and not session.exists(session.session_key or ""):
            return incoming_frames.SIGN_IN_REQUIRED
        conversation = self._find()
        if conversation is None:
            return incoming_frames.NOT_YOURS
        # A new password ends the sessions before it.
        then, now = self.conversation.owner, conversation.owner
        if not now.is_active or now.get_session_auth_hash() != then.get_session_auth_hash():
            return incoming_frames.SIGN_IN_REQUIRED
        self.conversation = conversation
        return 0

    async def _pump(self) -> None:
        """Send what is to be shown; when that ends, whoever may comes back for a snapshot."""
        try:
            code = await self._show()
        except Exception:
            log.exception("a page could not be told what is to be shown")
            code = 0
        if code is not None:
            await self.close(code or TRY_AGAIN_LATER)

    async def _show(self) -> int | None:
        """Send every frame; return the code of ``_ended`` then, None where the page went away."""
        looked = time.monotonic()
        async for text in await actions.front.watch(self.conversation.pk, self._since):
            # Another process may have ended the session, of which nothing tells this one.
            if time.monotonic() - looked > LOOK_AGAIN:
                if code := await self._ended():
                    return code
                looked = time.monotonic()
            try:
                await self.send(text)
            except (Disconnected, OSError):
                return None
            # Daphne writes only when the loop comes round.
            await asyncio.sleep(0)
        return await self._ended()

    @override
    async def disconnect(self, code: int) -> None:
        """Stop sending; what runs goes on."""
        if self.pump:
            self.pump.cancel()

    @override
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Carry out one command, or say why not."""
        if self.pump is None:
            return
        try:
            await self._obey(incoming_frames.decode(text_data or ""))
        except errors.BadFrame:
            await self._reply(outgoing_frames.refused("This page is out of date. Reload it."))

    async def _reply(self, frame: outgoing_frames.Frame) -> None:
        await self.send(outgoing_frames.encode(frame))

    @functools.singledispatchmethod
    async def _obey(self, command: incoming_frames.Command) -> None:
        raise NotImplementedError(type(command))

    @_obey.register
    async def _(self, command: incoming_frames.SendMessage) -> None:
        zone = self.scope.get("cookies", {}).get(ZONE_COOKIE, "")
        told = replace(command, zone=zone)
        if await self._start(lambda: actions.send_message(self.conversation, told), command.nonce):
            await self._reply(outgoing_frames.message_accepted(command.nonce))
            await self._note(command.text, literal=command.literal)

    @_obey.register
    async def _(self, command: incoming_frames.TakeUp) -> None:
        if await self._start(lambda: actions.take_up(self.conversation, command), command.nonce):
            await self._reply(outgoing_frames.message_accepted(command.nonce))

    @_obey.register
    async def _(self, command: incoming_frames.ChangeQueued) -> None:
        work = functools.partial(actions.change_queued, self.conversation, command)
        if await self._start(work, command.nonce):
            await self._reply(outgoing_frames.message_accepted(command.nonce))
            await self._note(command.text or "", literal=command.literal)

    @_obey.register
    async def _(self, command: incoming_frames.SendQueued) -> None:
        work = functools.partial(actions.send_queued, self.conversation, command)
        await self._start(work, command.nonce)

    async def _note(self, text: str, *, literal: bool) -> None:
        """Say which paths of a text that was taken are not there, unless it was meant as text."""
        if literal or "@" not in text:
            return
        missing = await slash_commands.missing_from(self.conversation, text)
        if missing:
            await self._reply(outgoing_frames.noted(missing))

    async def _start(self, work: Callable[[], Awaitable[None]], nonce: uuid.UUID | None) -> bool:
        """Let something begin, or say why it can't; nothing begins for who may not see it now."""
        try:
            with errors.saving():
                if code := await self._ended():
                    await self.close(code)
                    return False
                await work()
        except errors.Refused as reason:
            unclear = isinstance(reason, errors.Unclear)
            await self._reply(outgoing_frames.refused(str(reason), nonce=nonce, unclear=unclear))
            return False
        return True

    @_obey.register
    async def _(self, command: incoming_frames.StartCondensing) -> None:
        work = functools.partial(actions.condense_now, self.conversation, command)
        if await self._start(work, command.nonce):
            await self._reply(outgoing_frames.message_accepted(command.nonce))

    @_obey.register
    async def _(self, command: incoming_frames.StopTurn) -> None:
        actions.stop(self.conversation.pk, command.turn)

    @_obey.register
    async def _(self, command: incoming_frames.CancelCondensing) -> None:
        actions.cancel_condensing(self.conversation.pk, command.turn)

    @_obey.register
    async def _(self, _command: incoming_frames.PutOffCondensing) -> None:
        await self._start(lambda: actions.put_off_condensing(self.conversation), None)

    @_obey.register
    async def _(self, _command: incoming_frames.Ping) -> None:
        await self._reply(outgoing_frames.pong(actions.front.newest(self.conversation.pk)))
