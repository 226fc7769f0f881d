"""Hits of a search: messages, each with an excerpt, by conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import OuterRef, Subquery
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from chatapp.models import Conversation, Message, Rewind, message_index
from chatapp.models.message_index import visible_text
from chatapp.project.search import Query, excerpt
from chatapp.project.sentences import number
from chatapp.project.sentences import translate as _

# The best messages that are looked at, and how many of them one conversation may show.
BEST, PER_CONVERSATION = 50, 5


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message."""

    at: str
    who: str
    hidden: str  # the reason, if it is
    when: datetime
    excerpt: Sequence[tuple[str, bool]]  # words, True if they match the search


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """The hits in one conversation: the best ones, and the ``count`` of all that were looked at.

    If the search is ``cut``, there may be more of them.
    """

    conversation: Conversation
    hits: Sequence[Hit]
    count: int
    cut: bool

    @property
    def more(self) -> int:
        """The number of further hits."""
        return self.count - len(self.hits)

    @property
    def more_words(self) -> str:
        """The same number, with a plus if there may be more."""
        return f"{number(self.more)}{'+' * self.cut}"


def find_hits(owner: User, text: str) -> list[FoundConversation]:
    """Return the messages of a user that have all the words, the best first, by conversation."""
    query = Query.read(text)
    groups: dict[UUID, list[int]] = {}
    best = message_index.find_messages(owner, query, limit=BEST + 1)
    for message, conversation in best[:BEST]:
        groups.setdefault(conversation, []).append(message)
    shown = [pk for found in groups.values() for pk in found[:PER_CONVERSATION]]
    causes = Rewind.objects.filter(pk=OuterRef("rewind_parent")).values("cause")
    messages = (
        Message.objects.filter(pk__in=shown).with_condensed().annotate(cause=Subquery(causes))
    )
    known = messages.select_related("conversation").in_bulk()
    return [
        FoundConversation(
            conversation=known[found[0]].conversation,
            hits=[_hit(known[pk], query) for pk in found[:PER_CONVERSATION]],
            count=len(found),
            cut=len(best) > BEST,
        )
        for found in groups.values()
    ]


def _hit(message: Message, query: Query) -> Hit:
    who = _("You") if message.role == Message.Role.USER else _("Agent")
    # The markers that can be found are those with a summary of a part.
    if message.is_summary or message.is_marker:
        who = _("Summary")
    elif message.holds_results:
        who = _("Tool")
    return Hit(
        at=f"{message.position}.{message.seq}",
        who=who,
        hidden=_hidden(message),
        when=message.created_at,
        excerpt=excerpt(visible_text(message.content), query),
    )


# By the cause of the rewind that took a message along.
_SET_ASIDE: Mapping[Any, Promise] = {
    Rewind.Cause.RETRIED: gettext_lazy("set aside to try again"),
    Rewind.Cause.EDITED: gettext_lazy("another version"),
    Rewind.Cause.REGENERATED: gettext_lazy("another version"),
}


def _hidden(message: Message) -> str:
    """Return the reason that hides a message from the model, "" if it is visible."""
    if message.rewind_parent:
        return str(_SET_ASIDE.get(getattr(message, "cause", None), _("rewound")))
    if message.undone:
        return _("undone")
    if not message.hidden:
        return ""
    condensed = getattr(message, "condensed", False)
    return _("hidden by a condensation") if condensed else _("hidden by a truncation")
