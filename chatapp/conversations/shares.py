"""Links to read a conversation: made, found, taken back."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.errors import Refused
from chatapp.models import Conversation, Share


@transaction.atomic
def share_conversation(*, conversation: Conversation, tools: bool = False) -> str:
    """Return the token of a new link, in clear this once; one that there was opens nothing more.

    It shows what was said until now, with what ``tools`` were given and answered only if that is
    asked for. Refused where nothing was said.
    """
    own = Conversation.objects.select_for_update().get(pk=conversation.pk)
    if not own.last_seq:
        raise Refused(_("There is nothing to share yet."))
    token = Share.generate()
    columns = {"digest": Share.digest_of(token), "until": own.last_seq, "tools": tools}
    Share.objects.update_or_create(
        conversation=own, defaults={**columns, "created_at": timezone.now()}
    )
    return token


def stop_sharing(*, conversation: Conversation) -> None:
    """Take the link of a conversation back; nothing happens where there is none."""
    Share.objects.filter(conversation=conversation).delete()


def find_shared(token: str) -> Share | None:
    """Return what a token opens, with its conversation, or None."""
    return Share.objects.opened_by(token).select_related("conversation").first()
