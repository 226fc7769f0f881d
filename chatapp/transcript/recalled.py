"""Recalled passages under a message, as people see them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

import condense
from chatapp.agent import annotated_blocks as blocks


@dataclass(frozen=True, slots=True)
class RecalledPassage:
    """A passage of message ``seq``, and what that is called."""

    seq: int
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class RecalledPart:
    """The passages that were recalled beside a message, and what else a file has before them."""

    before: str
    passages: Sequence[RecalledPassage]

    @property
    def label(self) -> str:
        """How many there are."""
        count = len(self.passages)
        words = ngettext("Recalled %(count)s passage", "Recalled %(count)s passages", count)
        return words % {"count": count}


def recalled_part(message: condense.Message) -> RecalledPart | None:
    """Return all that was recalled beside a message, None for most."""
    found = [
        condense.split_recalled(block.text)
        for block in message.blocks
        if isinstance(block, condense.TextBlock) and blocks.kind_of(block) == condense.RECALLED
    ]
    if not found:
        return None
    passages = []
    for seq, day, text in itertools.chain.from_iterable([told for _before, told in found]):
        label = ", ".join(filter(None, [_("Message %(number)s") % {"number": seq}, day]))
        passages.append(RecalledPassage(seq, label, text))
    return RecalledPart("\n".join([before for before, _told in found]), passages)
