"""Baseline: a conversation as it is now, read once for all that is tried on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

import condense
from chatapp import errors
from chatapp.condensation.condenser_setup import situation_of
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import TurnSettings, read_terms
from chatapp.conversations.locks import with_unpinned
from chatapp.models import Conversation, message_store
from chatapp.toolbox import toolbox as toolboxes

# Messages that are gone through to see how often it would have condensed; the newest ones.
MOST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What the model sees, how large that is, and what it works with.

    ``unchanged`` says that the last call has sent what the next one begins with.
    """

    terms: TurnSettings
    effective: tuple[condense.Message, ...]
    history: tuple[condense.Message, ...]
    tokens: condense.TokenCount
    toolbox: Any
    unchanged: bool

    def situation(self, terms: TurnSettings) -> condense.Situation:
        """Return what a condensation by hand would start from, with these terms."""
        return situation_of(
            terms,
            self.effective,
            self.tokens,
            self.toolbox,
            history=self.history,
            trigger=condense.Trigger.MANUAL,
        )


def terms_of(conversation: Conversation) -> TurnSettings:
    """Return what a conversation's next turn would work with; raise Refused without a profile."""
    if terms := read_terms(conversation.pk):
        return terms
    raise errors.Refused(_("This conversation has no profile. Choose one in its header."))


def read_baseline(terms: TurnSettings) -> Baseline:
    """Return the conversation of these terms as it is now."""
    conversation, profile = terms.conversation, terms.profile
    effective = message_store.read_effective(conversation.pk)
    scale = Scale.read(conversation, profile, terms.system)
    folder = toolboxes.folder_of(conversation)
    return Baseline(
        terms=terms,
        effective=effective,
        history=with_unpinned(conversation.pk, effective),
        tokens=scale.weigh(effective),
        toolbox=toolboxes.toolbox_for(folder, conversation, profile),
        unchanged=scale.measured_tokens is not None,
    )


def read_written(conversation: Conversation) -> Sequence[condense.Message]:
    """Return the newest messages that were not taken back, as if nothing had been condensed."""
    rows = conversation.messages.written().in_force().order_by("-seq")[:MOST]
    messages = map(message_store.to_engine, reversed(rows))
    return [
        replace(one, position=None, tags=condense.Tags(pinned=one.tags.pinned)) for one in messages
    ]
