"""Conversations: starting, naming, filing, sharing and deleting one; checks of its messages."""

import re
import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from chatapp.agent.errors import SpendingLimitReached
from chatapp.conversations.context import sizes
from chatapp.conversations.context.turn_context import terms_with
from chatapp.conversations.files.workspaces import lay_out_samples
from chatapp.conversations.toolbox.toolbox import SAMPLES
from chatapp.models import (
    ClientConversation,
    Conversation,
    Folder,
    HistoryLink,
    Profile,
    Share,
    spending,
)
from chatapp.models.accounts import preferences_of
from chatapp.models.conversations import LONGEST_TITLE
from chatapp.models.database import lock
from chatapp.models.errors import Refused
from chatapp.project.sentences import translate as _

TITLE_LENGTH = 60
# Spaces, and signs that take none.
_UNSEEN = re.compile(
    r"[\s\0\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff]*"
)
LONGEST_FOLDER_NAME = 60


def start_conversation(
    *, owner: User, profile: Profile | None = None, workspace: str = "", title: str = ""
) -> Conversation:
    """Return a new conversation; ``workspace`` is a folder below WORKSPACES_ROOT, or SAMPLES."""
    profile = profile or preferences_of(owner).default_profile
    made = Conversation(owner=owner, profile=profile, workspace=workspace, title=_one_line(title))
    if workspace == SAMPLES:
        # The parts that every request repeats take their share of the window.
        beside = sum(sizes.overhead_of(terms_with(made, profile))) if profile else 0
        lay_out_samples(beside=beside)
    made.save(force_insert=True)
    return made


@transaction.atomic
def continue_here(*, conversation: Conversation) -> None:
    """Let a conversation of another program go on here; its next request begins another one."""
    lock(Conversation, conversation.pk)
    ClientConversation.objects.open().filter(pk=conversation.pk).update(is_open=False)
    HistoryLink.objects.filter(message__conversation=conversation).delete()
    # It was signed behind that program's prompt.
    conversation.messages.all().stop_sending_thinking()
    if conversation.profile is None:
        default = preferences_of(conversation.owner).default_profile
        Conversation.objects.filter(pk=conversation.pk).update(profile=default)


def rename_conversation(*, conversation: Conversation, title: str) -> None:
    """Give the conversation a title; a blank one is refused."""
    if is_blank(title := _one_line(title)):
        raise Refused(_("A title needs at least one character."))
    Conversation.objects.filter(pk=conversation.pk).update(title=title)


def _one_line(title: str) -> str:
    return " ".join(title.split())[:LONGEST_TITLE]


def change_settings(*, conversation: Conversation, **changed: Any) -> None:
    """Store the given ones of a conversation's settings, by column, for later turns.

    All calls together may cost the ``budget``. A ``system_prompt`` of "" is the profile's, and with
    ``auto_recall`` None the settings decide.
    """
    if changed.get("system_prompt", conversation.system_prompt) != conversation.system_prompt:
        # The measured request had another prompt.
        changed |= {"measured_tokens": None, "measured_seq": None}
    Conversation.objects.filter(pk=conversation.pk).update(**changed)


def choose_profile(*, conversation: Conversation, profile: Profile) -> None:
    """Choose the profile that answers from now on."""
    # A size measured by one tokenizer says little about another's.
    Conversation.objects.filter(pk=conversation.pk).update(
        profile=profile, measured_tokens=None, measured_seq=None, named_window=None
    )


def name_conversation(*, conversation: Conversation, title: str, question: str) -> bool:
    """Store a model's title unless a person has given one; return True if it was changed."""
    untouched = Conversation.objects.filter(pk=conversation.pk, title=title_of(question))
    return bool(title) and untouched.exclude(title=title).update(title=title) > 0


def delete_conversation(*, conversation: Conversation) -> None:
    """Hide the conversation everywhere; ``restore_conversation`` shows it again."""
    present = Conversation.objects.filter(pk=conversation.pk, deleted_at=None)
    present.update(deleted_at=timezone.now())


def restore_conversation(*, conversation: Conversation) -> None:
    """Restore a deleted conversation as it was."""
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=None)


def is_blank(text: str) -> bool:
    """Return True for a text without a visible sign."""
    return _UNSEEN.fullmatch(text) is not None


def check_message(text: str, *, alone: bool = True) -> None:
    """Refuse an empty message and one that is too long.

    Unless it stands ``alone``, it has attachments, and its text may be empty.
    """
    if alone and is_blank(text):
        raise Refused(_("There is nothing to send yet. Type a message first."))
    if len(text) > settings.LONGEST_MESSAGE:
        words = _(
            "This message is too long: it has {count:,} characters, and a message can have "
            "{limit:,}. Upload it as a file, or send it in parts.",
            count=len(text),
            limit=settings.LONGEST_MESSAGE,
        )
        raise Refused(words)


def check_spending(conversation_id: uuid.UUID, limits: spending.Limits | None = None) -> None:
    """Refuse a model call if its limits allow no more."""
    try:
        spending.check_spending(conversation_id, limits)
    except SpendingLimitReached as spent:
        raise Refused(str(spent)) from spent


def title_of(question: str) -> str:
    """Return the title of a conversation that begins with a message."""
    line = " ".join(question.split())
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1].rstrip()}…"


def place_conversation(*, conversation: Conversation, action: str) -> None:
    """Pin, unpin, archive or unarchive a conversation; other actions are refused."""
    now = timezone.now()
    changes: dict[str, dict[str, Any]] = {
        "pin": {"pinned_at": now},
        "unpin": {"pinned_at": None},
        "archive": {"archived_at": now},
        "unarchive": {"archived_at": None},
    }
    if action not in changes:
        raise Refused(_("There is no such action for a conversation."))
    Conversation.objects.filter(pk=conversation.pk).update(**changes[action])


def move_conversation(
    *, conversation: Conversation, folder: Folder | None, named: str = ""
) -> None:
    """Put a conversation into a folder, or out of all; a ``named`` folder is made if needed."""
    with transaction.atomic():
        if named.strip():
            lock(Conversation, conversation.pk)
            lock(User, conversation.owner_id)
            name, owner = _folder_name(named), conversation.owner
            folder = _folder_named(owner, name) or owner.folders.create(name=name)
        Conversation.objects.filter(pk=conversation.pk).update(folder=folder)


def rename_folder(*, folder: Folder, name: str) -> None:
    """Give a folder another name, which no other one has."""
    name = _folder_name(name)
    try:
        with transaction.atomic():
            if _folder_named(folder.owner, name) not in {None, folder}:
                raise IntegrityError
            Folder.objects.filter(pk=folder.pk).update(name=name)
    except IntegrityError as error:
        raise Refused(_("You already have a folder with this name.")) from error


def _folder_named(owner: User, name: str) -> Folder | None:
    # SQLite knows the capitals of ASCII only.
    folders = {one.name.casefold(): one for one in owner.folders.all()}
    return folders.get(name.casefold())


def _folder_name(name: str) -> str:
    name = " ".join(name.split())
    if is_blank(name):
        raise Refused(_("A folder needs a name."))
    if len(name) > LONGEST_FOLDER_NAME:
        raise Refused(_("A folder name can have up to 60 characters."))
    return name


@transaction.atomic
def share_conversation(*, conversation: Conversation, tools: bool = False) -> str:
    """Return the token of a new link, in clear this once; an older link opens nothing any more.

    It shows the messages until now, and the input and output of ``tools`` only if that is
    requested. Refused without messages.
    """
    own = Conversation.objects.select_for_update(no_key=True).get(pk=conversation.pk)
    if not own.last_seq:
        raise Refused(_("There is nothing to share yet."))
    token = Share.generate()
    columns = {"digest": Share.digest_of(token), "until": own.last_seq, "tools": tools}
    Share.objects.update_or_create(
        conversation=own, defaults={**columns, "created_at": timezone.now()}
    )
    return token


def stop_sharing(*, conversation: Conversation) -> None:
    """Remove the link of a conversation, if there is one."""
    Share.objects.filter(conversation=conversation).delete()
