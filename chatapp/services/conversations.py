"""Starting, naming and deleting conversations; the life of a turn."""

import uuid
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.models import Condensation, Conversation, Message, Profile, Turn, store
from chatapp.services.accounts import preferences_of
from chatapp.services.errors import Refused
from chatapp.services.samples import SAMPLES, lay_out_samples

TITLE_LENGTH = 60


def start_conversation(
    *, owner: Any, profile: Profile | None = None, workspace: str = "", title: str = ""
) -> Conversation:
    """Return a new conversation; ``workspace`` is a folder below WORKSPACES_ROOT, or SAMPLES."""
    if workspace == SAMPLES:
        lay_out_samples()
    return Conversation.objects.create(
        owner=owner,
        profile=profile or preferences_of(owner).default_profile,
        workspace=workspace,
        title=title[:TITLE_LENGTH],
    )


def rename_conversation(*, conversation: Conversation, title: str) -> None:
    """Give the conversation a title; a blank one is refused."""
    title = " ".join(title.split())
    if not title:
        raise Refused(_("A title needs at least one character."))
    Conversation.objects.filter(pk=conversation.pk).update(title=title[:200])


def delete_conversation(*, conversation: Conversation) -> None:
    """Hide the conversation everywhere; ``restore_conversation`` brings it back."""
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=timezone.now())


def restore_conversation(*, conversation: Conversation) -> None:
    """Bring a deleted conversation back as it was."""
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=None)


def start_turn(
    *,
    conversation: Conversation,
    text: str,
    tokens: int,
    nonce: uuid.UUID,
    replaces: int | None = None,
) -> tuple[Turn, condense.Message] | None:
    """Store the user's message and open its turn; None when this nonce was here before.

    ``replaces`` is the seq of an earlier message of the user: the conversation is rewound to
    before it first. The title comes from the first message.
    """
    if not text.strip():
        raise Refused(_("There is nothing to send yet. Type a message first."))
    if Turn.objects.filter(conversation=conversation, nonce=nonce).exists():
        return None
    message = condense.Message(role="user", content=(condense.TextBlock(text),))
    try:
        with transaction.atomic():
            turn = Turn.objects.create(conversation=conversation, nonce=nonce)
            if replaces is not None:
                _rewind_to_edit(conversation, replaces)
            row = store.append_message(conversation.pk, message, tokens=tokens, turn=turn)
            _entitle(conversation, text)
    except IntegrityError as error:
        raise Refused(_("The previous turn is still running. Stop it first, or wait.")) from error
    return turn, store.to_engine(row)


def _rewind_to_edit(conversation: Conversation, seq: int) -> None:
    """Rewind to before a message of the user that is still part of the conversation."""
    own = conversation.messages.written().filter(role=Message.Role.USER)
    target = own.filter(seq=seq, rewind_parent=None)
    if not target.exists():
        raise Refused(_("This message can't be edited any more. Reload the page."))
    store.rewind(conversation.pk, to_seq=seq)


def _entitle(conversation: Conversation, text: str) -> None:
    line = " ".join(text.split())
    title = line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1].rstrip()}…"
    Conversation.objects.filter(pk=conversation.pk, title="").update(title=title)


def finish_turn(*, turn: Turn, status: Turn.Status, error: str = "", details: str = "") -> None:
    """Close a turn: how it ended, and why if it failed."""
    last_seq = Conversation.objects.values_list("last_seq", flat=True).get(pk=turn.conversation_id)
    Turn.objects.filter(pk=turn.pk).update(
        status=status,
        error=error,
        details=details,
        last_seq=last_seq,
        finished_at=timezone.now(),
    )


def close_interrupted(
    conversation: Conversation | None = None, *, started_before: datetime | None = None
) -> int:
    """End what a crash left running; return how many turns and attempts there were.

    With a ``conversation``, only what could not be saved when it ended there.
    """
    reason, now = _("The server stopped while this was running."), timezone.now()
    begun = Q(started_at__lt=started_before or now)
    attempts = Condensation.objects.filter(begun, status=Condensation.Status.RUNNING)
    turns = Turn.objects.filter(begun, status=Turn.Status.RUNNING)
    if conversation is not None:
        reason = _("How this ended could not be saved.")
        attempts = attempts.filter(conversation=conversation)
        turns = turns.filter(conversation=conversation)
    ended = attempts.update(status=Condensation.Status.FAILED, error=reason, finished_at=now)
    return ended + turns.update(status=Turn.Status.FAILED, error=reason, finished_at=now)
