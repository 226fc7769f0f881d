"""Attachments: files that people send with a message, recognised by their bytes."""

import unicodedata
import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import attached, file_block, image_block
from chatapp.agent.errors import ToolError
from chatapp.conversations.context import sizes
from chatapp.conversations.conversations import is_blank
from chatapp.conversations.files.storage_use import room_for
from chatapp.models import (
    Attachment,
    AttachmentTotal,
    Conversation,
    Profile,
    QueuedMessage,
    message_store,
)
from chatapp.models.database import lock
from chatapp.models.errors import Refused
from chatapp.project.sentences import translate as _
from chatapp.tools import documents
from chatapp.tools.text_encodings import decode
from chatapp.tools.wrapped_texts import unwrapped
from condense import noop, say

# Attachments of one user that wait to be sent; older ones are forgotten.
MOST_WAITING = 100
# The time for which a page may be left open with something attached to it.
KEPT_FOR = timedelta(days=7)

MEGABYTE = 1024 * 1024
LONGEST_FILE_NAME = 120

# The refusal of a document, by the reason that it can't be read.
_UNREADABLE = {
    "locked": noop("“{name}” is locked with a password. Save it without one, and attach it again."),
    "empty": noop("“{name}” has no text, only pictures of pages. Attach those as images."),
    "broken": noop("“{name}” can't be read. Open it, save it again, and attach that."),
    "slow": noop("“{name}” takes too long to read. Attach fewer pages."),
}

Weighed = tuple[condense.Block, int]


class Expansion(NamedTuple):
    """A message's ``text`` with the blocks of its command and paths, and the tokens of all."""

    text: str
    blocks: Sequence[condense.Block] = ()
    tokens: int = 0


def attach_file(
    *, owner: User, name: str, data: bytes, profile: Profile | None = None
) -> Attachment:
    """Keep a file for a message that a profile's model will read; refused if it can't."""
    name, most = clean_name(name), settings.LARGEST_ATTACHMENT
    if len(data) > most * MEGABYTE:
        words = _("“{name}” is too large: a file can have up to {most:,} MB.", name=name, most=most)
        raise Refused(words)
    block = block_for(name, data)
    check_sight(profile, [block])
    tokens = sizes.COUNTER.count((block,))
    if profile is not None and tokens > profile.context_window - profile.output_limit:
        words = _(
            "“{name}” is too long for {profile}: it takes about {tokens:,} tokens. Upload it "
            "to the workspace, where the agent can read it in parts.",
            name=name,
            profile=profile,
            tokens=tokens,
        )
        raise Refused(words)
    with room_for(owner, len(data)), transaction.atomic():
        lock(User, owner.pk)
        forget_waiting(owner)
        columns = {"block": block.to_api(), "tokens": tokens, "size": len(data)}
        return Attachment.objects.create(owner=owner, **columns)


def forget_waiting(owner: User) -> None:
    """Delete a user's unsent attachments that are old or too many, except queued ones."""
    queued = QueuedMessage.objects.waiting().filter(conversation__owner=owner)
    named = [pk for pks in queued.values_list("attachments", flat=True) for pk in pks]
    own = Attachment.objects.filter(owner=owner).exclude(pk__in=named)
    kept = own.filter(created_at__gte=timezone.now() - KEPT_FOR).order_by("-created_at")
    own.exclude(pk__in=list(kept.values_list("pk", flat=True)[: MOST_WAITING - 1])).delete()


def check_sight(profile: Profile | None, blocks: Sequence[condense.Block]) -> None:
    """Refuse images for a model that is known to see none."""
    blind = profile is not None and not profile.sees_images
    if blind and any(isinstance(block, condense.ImageBlock) for block in blocks):
        words = _(
            "{name} can't see images. Choose another profile in the header, or remove the image.",
            name=profile,
        )
        raise Refused(words)


def take_attachments(conversation: Conversation, pks: Sequence[uuid.UUID]) -> list[Weighed]:
    """Return the waiting attachments of these ids with their tokens, images first; delete them."""
    lock(User, conversation.owner_id)
    found = find_attachments(conversation.owner, pks, conversation.answering)
    conversation.owner.attachments.filter(pk__in=pks).delete()
    total, _made = AttachmentTotal.objects.get_or_create(owner_id=conversation.owner_id)
    total.size += sum([one.size for one in found])
    total.save()
    taken = [(one.engine, one.tokens) for one in found]
    return sorted(taken, key=lambda one: not isinstance(one[0], condense.ImageBlock))


def find_attachments(
    owner: User, pks: Sequence[uuid.UUID], profile: Profile | None
) -> list[Attachment]:
    """Return the waiting attachments of these ids, in their order; refused if it can't be sent."""
    if len(pks) > (most := settings.ATTACHMENTS_PER_MESSAGE):
        words = _("A message can have up to {most:,} attachments. Remove some of them.", most=most)
        raise Refused(words)
    rows = {row.pk: row for row in owner.attachments.filter(pk__in=pks)}
    if len(rows) < len(pks):
        raise Refused(_("A file is not attached any more. Remove it, and attach it again."))
    check_sight(profile, [row.engine for row in rows.values()])
    return [rows[pk] for pk in pks]


def attached_to(conversation: Conversation, seq: int, drops: Collection[int] = ()) -> list[Weighed]:
    """Return the attachments of a user's message, each with its tokens.

    Without the blocks in the places that it ``drops``.
    """
    row = conversation.messages.questions().in_force().filter(seq=seq).first()
    whole = message_store.to_engine(row, whole=True).blocks if row else ()
    kept = tuple(block for place, block in enumerate(whole) if place not in drops)
    blocks = attached(condense.Message("user", kept))
    return [(block, sizes.COUNTER.count((block,))) for block in blocks]


def block_for(name: str, data: bytes) -> condense.Block:
    """Return the block that a file becomes in a message; refused if it can't become one."""
    name = clean_name(name)
    if not data:
        raise Refused(say("“{name}” is empty.", name=name))
    if documents.image_type(data):
        return _image(name, data)
    try:
        text, facts = documents.read_document(data) or _text(name, data)
    except ToolError as error:
        words = _UNREADABLE.get(getattr(error, "why", ""), noop("“{name}” is a damaged PDF."))
        raise Refused(words.format(name=name)) from error
    facts["size"] = len(data)
    if is_blank(text):
        raise Refused(say("“{name}” is empty.", name=name))
    if len(text) > (limit := settings.LONGEST_MESSAGE):
        words = noop(
            "“{name}” is too long: it has {count:,} characters, and a message can have "
            "{limit:,}. Upload it to the workspace, where the agent can read it in parts."
        )
        raise Refused(words.format(name=name, count=len(text), limit=limit))
    return file_block(name, text, **facts)


def clean_name(name: str) -> str:
    """Return a file's name without folders and without invisible or direction characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    seen = "".join(" " if unicodedata.category(one)[0] in "CZ" else one for one in last)
    seen = " ".join(unicodedata.normalize("NFC", seen).split())
    stem, dot, ending = seen.rpartition(".")
    if len(seen) > LONGEST_FILE_NAME and stem and len(ending) < LONGEST_FILE_NAME // 2:
        room = LONGEST_FILE_NAME - len(ending) - 2
        seen = f"{stem[:room]}…{dot}{ending}"
    return seen[:LONGEST_FILE_NAME] or _("File")


def _image(name: str, data: bytes) -> condense.ImageBlock:
    size = condense.image_size(data)
    if size is None or not documents.is_whole(data):
        raise Refused(say("“{name}” is a damaged image.", name=name))
    if max(size) > (limit := settings.LARGEST_IMAGE_EDGE):
        words = noop(
            "“{name}” has {width:,} by {height:,} pixels. Models take up to {limit:,} a side."
        )
        pixels = {"width": size.width, "height": size.height, "limit": limit}
        raise Refused(words.format(name=name, **pixels))
    data = documents.scaled(data)
    size = condense.image_size(data) or size
    if len(data) > documents.MAX_IMAGE:
        words = noop("“{name}” is too large: images of up to {limit} MB can be sent to a model.")
        megabytes = f"{documents.MAX_IMAGE / MEGABYTE:,.1f}"
        raise Refused(words.format(name=name, limit=megabytes))
    image = documents.as_image(str(documents.image_type(data)), data)
    return image_block(name, image, size=len(data), width=size.width, height=size.height)


def _text(name: str, data: bytes) -> tuple[str, dict[str, object]]:
    """Return the words of a text file, and its encoding if that had to be guessed."""
    try:
        text, _, guess = decode(data)
    except UnicodeError as error:
        why = noop("“{name}” can't be attached. Save it as PNG, PDF, .docx, .xlsx, .pptx or text.")
        raise Refused(why.format(name=name)) from error
    text = unwrapped(text, data) or text
    return text.replace("\r\n", "\n").replace("\r", "\n"), {"encoding": guess} if guess else {}
