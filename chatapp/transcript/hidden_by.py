"""What hides messages of a page from the model, and clears results in them."""

import uuid
from collections.abc import Sequence

from django.db.models import Q

from chatapp.models import Condensation, Conversation, Message
from chatapp.transcript import labels, row_queries
from chatapp.transcript.message_parts import HiddenBy


class Hiders:
    """The attempts that hide some consecutive messages of one conversation."""

    def __init__(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        """Read the attempts that the messages name, in force or not."""
        self._conversation = conversation
        self._messages = messages
        self._named = self._find()

    def _find(self) -> dict[uuid.UUID, Condensation]:
        """Return what hides messages of this page: id on the tag → the attempt's record."""
        names = {name for row in self._messages for name in _parents(row)}
        if not names:
            return {}
        rows = Condensation.objects.filter(
            Q(message__condense_id__in=names) | Q(message__truncation_id__in=names),
            conversation=self._conversation,
            message__undone=False,
        ).select_related("message")
        return {
            name: row
            for row in rows
            if row.message and (name := row.message.condense_id or row.message.truncation_id)
        }

    def of(self, message: Message) -> HiddenBy | None:
        """Return what hides a message, None where the model sees it."""
        found = map(self._named.get, _parents(message) if message.hidden else ())
        return next((_hider(one) for one in found if one and _reaches(one, message)), None)

    def cleared(self) -> dict[tuple[int, str], HiddenBy]:
        """Return why and where results were cleared: key of the message and id of the call."""
        if not self._messages:
            return {}
        here, since = {row.pk for row in self._messages}, self._messages[0].position
        return {
            (int(name), call): _hider(row.condensation)
            for row in row_queries.clearings(conversation=self._conversation.pk, position=since)
            # An import may have one without its record.
            if hasattr(row, "condensation")
            for name, lines in row.cleared.items()
            if int(name) in here
            for call in lines
        }


def _parents(message: Message) -> list[uuid.UUID]:
    """Return the ids of what may hide a message, in force or not."""
    return [name for name in (message.condense_parent, message.truncation_parent) if name]


def _reaches(attempt: Condensation, message: Message) -> bool:
    """Whether an attempt hides a message: one that was rewound hides what went with it only."""
    made = attempt.message
    return made is not None and made.rewind_parent in {None, message.rewind_parent}


def _hider(attempt: Condensation) -> HiddenBy:
    made, reason = attempt.message, labels.kind_words(attempt.kind, attempt.strategy).hidden
    at = f"{made.position}.{made.seq}" if made else ""
    return HiddenBy(reason, f"condensation-{attempt.pk}", at, labels.seen_words(attempt))
