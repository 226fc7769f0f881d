"""The chat page's WebSocket: decode frames, hand them to ``turns``, send the live view."""

import asyncio
import logging
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any, override

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

from chatapp.accounts.rate_limits import count_request
from chatapp.conversations.composer import slash_commands
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.models import Conversation, errors, message_store
from chatapp.models.database import SqlStatement, reading, together
from chatapp.page.live import incoming_frames, outgoing_frames
from chatapp.project import logs
from chatapp.project.languages import Reader, in_words
from chatapp.project.sentences import ZONE_COOKIE
from chatapp.project.sentences import translate as _
from chatapp.turns import actions

# Columns that a session depends on; signing in changes other columns.
_DECIDES = frozenset({"is_active", "password"})


def user_of(session: SessionBase) -> User | AnonymousUser:
    """Return the signed-in user as Django does, but never write to the session."""
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
    """Check the pages of a user whose account was closed, or whose password is new."""
    if not created and (update_fields is None or not _DECIDES.isdisjoint(update_fields)):
        _look(instance.pk)


def _look(user_pk: int) -> None:
    # Before the commit, the pages would find all as it was.
    transaction.on_commit(lambda: actions.look_again(user_pk))


log = logging.getLogger(__name__)

# Seconds after which a page that is sent something is asked whether it still may see it.
LOOK_AGAIN = 30

# The browser should come back at once: it will get a snapshot. Daphne sends no code below 3000.
TRY_AGAIN_LATER = 4503


class ConversationConsumer(AsyncWebsocketConsumer):
    """One page that shows one conversation."""

    conversation: Conversation
    pump: asyncio.Task[None] | None = None

    @override
    async def dispatch(self, message: Any) -> None:
        """Handle a message at once: Channels would first wait for the current write."""
        await getattr(self, get_handler_name(message))(message)

    @override
    async def connect(self) -> None:
        """Accept, then close with a reason the page can show, or start to send frames."""
        await self.accept()
        accepts = dict(self.scope["headers"]).get(b"accept-language", b"").decode("latin1")
        user = self.scope["user"]
        # All frames of this page are made here, or in a task that begins here.
        Reader.of(str(self.scope.get("language", "")), accepts).enter()
        if not (user and user.is_authenticated):
            return await self.close(incoming_frames.SIGN_IN_REQUIRED)
        pk: uuid.UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        logs.note(request=uuid.uuid4().hex, user=user.pk, conversation=pk)
        conversation = await reading(message_store.find_own)(pk, user.pk)
        if conversation is None:
            return await self.close(incoming_frames.NOT_YOURS)
        self.conversation = conversation
        self.pump = asyncio.create_task(self._pump())
        return None

    def _look(self, *, counts: bool = False) -> int:
        """Return the code to close the socket with; 0 if session, user and conversation are valid.

        With ``counts`` this is a request of the user; LimitReached is raised beyond their limit.
        """
        # A user without a session has been identified in another way.
        session: SessionBase | None = self.scope.get("session")
        key, then = session.session_key if session else "", self.conversation.owner
        found, conversation = together(
            SqlStatement("SELECT 1 FROM django_session WHERE session_key = %s", [key]),
            message_store.find_own.query(self.conversation.pk, then.pk),
        )
        if session is not None and not found:
            return incoming_frames.SIGN_IN_REQUIRED
        if conversation is None:
            return incoming_frames.NOT_YOURS
        # A new password ends the sessions before it.
        now = conversation.owner
        if not now.is_active or now.get_session_auth_hash() != then.get_session_auth_hash():
            return incoming_frames.SIGN_IN_REQUIRED
        self.conversation = conversation
        if counts:
            count_request(now)
        return 0

    async def _pump(self) -> None:
        """Send the frames of the live view until they end, then close the socket."""
        try:
            code = await self._show()
        except Exception:
            log.exception("a page could not be sent its frames")
            code = 0
        await self.close(code or TRY_AGAIN_LATER)

    async def _show(self) -> int:
        """Send every frame; at the end return the closing code of ``_look``."""
        looked = time.monotonic()
        since = QueryDict(self.scope.get("query_string", b"")).get("since", "")
        place = outgoing_frames.read_place(since)
        async for text in await actions.watch(self.conversation, place):
            # Another process may have ended the session, of which this one gets no hint.
            if time.monotonic() - looked > LOOK_AGAIN:
                if code := await reading(self._look)():
                    return code
                looked = time.monotonic()
            await self._send(text)
            # Daphne writes only when the event loop comes round.
            await asyncio.sleep(0)
        return await reading(self._look)()

    async def _send(self, text: str) -> None:
        """Send to the page; ignore a closed connection, since ``disconnect`` follows."""
        sent: Any = {"type": "websocket.send", "text": text}
        with suppress(Disconnected, OSError):
            await self.base_send(sent)

    @override
    async def disconnect(self, code: int) -> None:
        """Stop sending; the turn goes on."""
        if self.pump:
            self.pump.cancel()

    @override
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Carry out one command, or reply with the reason of its refusal."""
        if self.pump is None:
            return None
        try:
            command = incoming_frames.decode(text_data or "")
        except incoming_frames.BadFrame:
            said = _("This page is out of date. Reload it.")
            return await self._reply(outgoing_frames.refused(said))
        pk = self.conversation.pk
        match command:
            case incoming_frames.StopTurn(turn):
                await actions.stop(pk, turn)
            case incoming_frames.CancelCondensing(turn):
                await actions.cancel_condensing(pk, turn)
            case incoming_frames.Ping():
                await self._reply(outgoing_frames.pong(actions.newest(pk)))
            case _:
                await self._begin(command)
        return None

    async def _reply(self, frame: outgoing_frames.Frame) -> None:
        for text in outgoing_frames.encode(frame):
            await self._send(text)

    async def _begin(self, command: incoming_frames.Command) -> None:
        """Carry out a command, or reply with the reason of its refusal.

        The socket is closed if the user may not see the conversation now.
        """
        nonce = getattr(command, "nonce", None)
        try:
            with errors.saving():
                if code := await reading(self._look)(counts=True):
                    return await self.close(code)
                await self._carry_out(command)
        except errors.Stopping:
            # The page comes back, perhaps to another server, and sends it again by itself.
            return await self.close(TRY_AGAIN_LATER)
        except errors.Refused as reason:
            unclear = isinstance(reason, errors.Unclear)
            refused = outgoing_frames.refused(in_words(str(reason)), nonce=nonce, unclear=unclear)
            return await self._reply(refused)
        if nonce and not isinstance(command, incoming_frames.SendQueued):
            await self._reply(outgoing_frames.message_accepted(nonce))
        # The text may name paths that do not exist, unless it was sent as plain text.
        text = getattr(command, "text", None) or ""
        if "@" in text and not getattr(command, "literal", False):
            missing = await slash_commands.missing_from(self.conversation, text)
            if missing:
                await self._reply(outgoing_frames.noted(missing))
        return None

    async def _carry_out(self, command: incoming_frames.Command) -> None:
        zone = self.scope.get("cookies", {}).get(ZONE_COOKIE, "")
        match command:
            case incoming_frames.SendMessage():
                await actions.send_message(self.conversation, replace(command, zone=zone))
            case incoming_frames.TakeUp():
                await actions.take_up(self.conversation, replace(command, zone=zone))
            case incoming_frames.ChangeQueued():
                await actions.change_queued(self.conversation, command)
            case incoming_frames.SendQueued():
                await actions.send_queued(self.conversation, command)
            case CondenseRequest():
                await actions.condense_now(self.conversation, command)
            case incoming_frames.PutOffCondensing():
                await actions.put_off_condensing(self.conversation)
