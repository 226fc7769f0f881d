"""Which folders below WORKSPACES_ROOT a user's conversations may read.

``users/<number of the user>/…``   that user's own
``samples`` and SHARED_WORKSPACES  everybody's
``<id of a conversation>``         that conversation's, until it chooses another
anything else                      those of the superusers, who run the server
"""

import uuid
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from chatapp.errors import Refused
from chatapp.files.samples import SAMPLES
from chatapp.models import Conversation

OWN = "users"
LONGEST = 400


def choose_workspace(*, conversation: Conversation, folder: str) -> None:
    """Let the tools read another folder of the owner's; "" is the conversation's own.

    Refused when there is no such folder, or when it is somebody else's.
    """
    found = _find(conversation.owner, folder) if folder else ""
    Conversation.objects.filter(pk=conversation.pk).update(workspace=found)


def _find(owner: User, folder: str) -> str:
    """Return the path below WORKSPACES_ROOT of the user's own or a shared folder."""
    root = Path(settings.WORKSPACES_ROOT).resolve()
    for place in (root / OWN / str(owner.pk), root):
        try:
            path = (place / folder).resolve()
            exists = path.is_dir()
        except (OSError, ValueError):
            continue
        if exists and path.is_relative_to(root):
            found = path.relative_to(root)
            if len(str(found)) <= LONGEST and _may_read(owner, found.parts):
                return str(found)
    raise Refused(
        _("You have no workspace folder %(folder)s. Yours lie in %(own)s on the server.")
        % {"folder": folder[:100], "own": f"{OWN}/{owner.pk}"}
    )


def _may_read(owner: User, parts: tuple[str, ...]) -> bool:
    match parts:
        case (first, number, *_) if first == OWN:
            return number == str(owner.pk)
        case (first, *_) if first != OWN:
            shared = first in {SAMPLES, *settings.SHARED_WORKSPACES}
            return shared or (owner.is_superuser and not _is_a_conversation_s(first))
    return False


def _is_a_conversation_s(name: str) -> bool:
    try:
        return Conversation.objects.filter(pk=uuid.UUID(name)).exists()
    except ValueError:
        return False
