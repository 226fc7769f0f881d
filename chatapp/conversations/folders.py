"""Where a conversation is found: pinned, in a folder, or in the archive."""

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.errors import Refused
from chatapp.models import Conversation, Folder

LONGEST_NAME = 60


def place_conversation(*, conversation: Conversation, action: str) -> None:
    """Pin or archive a conversation, or take that back; anything else is refused."""
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
    """Put a conversation into a folder, or out of all; one that is ``named`` is made if needed."""
    with transaction.atomic():
        if named.strip():
            folder = _make_folder(conversation.owner, named)
        Conversation.objects.filter(pk=conversation.pk).update(folder=folder)


def _make_folder(owner: User, name: str) -> Folder:
    name = _clean(name)
    known = owner.folders.filter(name__iexact=name).first()
    return known or Folder.objects.create(owner=owner, name=name)


def rename_folder(*, folder: Folder, name: str) -> None:
    """Give a folder another name, which no other one has."""
    try:
        with transaction.atomic():
            Folder.objects.filter(pk=folder.pk).update(name=_clean(name))
    except IntegrityError as error:
        raise Refused(_("You have another folder of this name.")) from error


def _clean(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise Refused(_("A folder needs a name."))
    if len(name) > LONGEST_NAME:
        raise Refused(_("The name of a folder has at most 60 characters."))
    return name
