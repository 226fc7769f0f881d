"""Files that people give with a message: taken in, looked through, and sent along."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple, Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.agent.annotated_blocks import attached
from chatapp.composer.file_types import MEGABYTE, block_for, clean_name
from chatapp.context import sizes
from chatapp.errors import Refused
from chatapp.formats import number
from chatapp.models import Attachment, Conversation, Profile, QueuedMessage, message_store

# Attachments of one user that wait to be sent; older ones are forgotten.
MOST_WAITING = 100
# So long a page may be left open with something attached to it.
KEPT_FOR = timedelta(days=7)

Weighed = tuple[condense.Block, int]


class Brought(NamedTuple):
    """The blocks that the command and the paths in a ``text`` stand for, with their tokens."""

    text: str
    blocks: Sequence[condense.Block] = ()
    tokens: int = 0

    @classmethod
    def by(cls, text: str, blocks: Iterable[condense.Block]) -> Self:
        """Return what a text brings, weighed."""
        brought = tuple(blocks)
        return cls(text, brought, sizes.COUNTER.count(brought) if brought else 0)


NOTHING = Brought("")


def attach_file(
    *, owner: User, name: str, data: bytes, profile: Profile | None = None
) -> Attachment:
    """Keep a file for a message that a profile's model will read; refused where it can't be."""
    limit = settings.LARGEST_ATTACHMENT
    if len(data) > limit * MEGABYTE:
        raise Refused(
            _("“%(name)s” is too large: a file can have up to %(limit)s MB.")
            % {"name": clean_name(name), "limit": number(limit)}
        )
    block = block_for(name, data)
    check_sight(profile, [block])
    tokens = sizes.COUNTER.count((block,))
    if profile is not None and tokens > profile.context_window - profile.output_limit:
        raise Refused(
            _(
                "“%(name)s” is too long for %(profile)s: it takes about %(tokens)s tokens. Put it "
                "into the workspace, where the agent reads it in parts."
            )
            % {"name": clean_name(name), "profile": profile, "tokens": number(tokens)}
        )
    with transaction.atomic():
        forget_waiting(owner)
        return Attachment.objects.create(owner=owner, block=block.to_api(), tokens=tokens)


def forget_waiting(owner: User) -> None:
    """Delete what a user attached long ago, or beyond all measure, and never sent."""
    queued = QueuedMessage.objects.waiting().filter(conversation__owner=owner)
    named = [pk for pks in queued.values_list("attachments", flat=True) for pk in pks]
    own = Attachment.objects.filter(owner=owner).exclude(pk__in=named)
    kept = own.filter(created_at__gte=timezone.now() - KEPT_FOR).order_by("-created_at")
    own.exclude(pk__in=list(kept.values_list("pk", flat=True)[: MOST_WAITING - 1])).delete()


def check_sight(profile: Profile | None, blocks: Sequence[condense.Block]) -> None:
    """Refuse images for a model that is known to see none."""
    blind = profile is not None and not profile.sees_images
    if blind and any(isinstance(block, condense.ImageBlock) for block in blocks):
        raise Refused(
            _("%s can't see images. Choose another profile in the header, or remove the image.")
            % profile
        )


def take_attachments(conversation: Conversation, pks: Sequence[uuid.UUID]) -> list[Weighed]:
    """Return what waits under these ids, each with its tokens: images first; it waits no more."""
    found = find_attachments(conversation.owner, pks, conversation.profile)
    Attachment.objects.named(conversation.owner, pks).delete()
    taken = [(one.engine, one.tokens) for one in found]
    return sorted(taken, key=lambda one: not isinstance(one[0], condense.ImageBlock))


def find_attachments(
    owner: User, pks: Sequence[uuid.UUID], profile: Profile | None
) -> list[Attachment]:
    """Return what waits under these ids, in their order; refused where it can't be sent."""
    if len(pks) > settings.ATTACHMENTS_PER_MESSAGE:
        raise Refused(
            _("A message can have up to %s attachments. Remove some of them.")
            % number(settings.ATTACHMENTS_PER_MESSAGE)
        )
    if not pks:
        return []
    rows = {row.pk: row for row in Attachment.objects.named(owner, pks)}
    if len(rows) < len(pks):
        raise Refused(_("A file is not attached any more. Remove it, and attach it again."))
    check_sight(profile, [row.engine for row in rows.values()])
    return [rows[pk] for pk in pks]


def attached_to(conversation: Conversation, seq: int, drops: Collection[int] = ()) -> list[Weighed]:
    """Return what a message of the user came with, each with its tokens.

    Without the blocks in the places that it ``drops``.
    """
    row = conversation.messages.questions().in_force().filter(seq=seq).first()
    whole = message_store.to_engine(row).blocks if row else ()
    kept = tuple(block for place, block in enumerate(whole) if place not in drops)
    blocks = attached(condense.Message("user", kept))
    return [(block, sizes.COUNTER.count((block,))) for block in blocks]
