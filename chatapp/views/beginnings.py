"""What was typed on the first page, until it is a message of the conversation it began."""

import uuid
from collections.abc import Sequence
from typing import TypedDict

from chatapp.models import Conversation
from chatapp.views.common import Request

KEY = "first"


class First(TypedDict):
    """A prompt, what is attached to it, and the nonce under which every page sends both."""

    prompt: str
    nonce: str
    attachments: list[str]


def keep_first(
    request: Request, conversation: Conversation, prompt: str, attachments: Sequence[uuid.UUID]
) -> None:
    """Keep what the conversation's page will send; forget what was stored since."""
    waiting: dict[str, First] = request.session.get(KEY, {})
    empty = Conversation.objects.owned_by(request.user).filter(pk__in=waiting, last_seq=0)
    kept = {str(pk): waiting[str(pk)] for pk in empty.values_list("pk", flat=True)}
    attached = [str(one) for one in attachments]
    first = First(prompt=prompt, nonce=str(uuid.uuid4()), attachments=attached)
    request.session[KEY] = {**kept, str(conversation.pk): first}


def read_first(request: Request, pk: uuid.UUID) -> First | None:
    """Return what a conversation without any message begins with."""
    waiting: dict[str, First] = request.session.get(KEY, {})
    return waiting.get(str(pk))
