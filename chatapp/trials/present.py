"""A conversation as it is now, read once for all that is tried on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import condense
from chatapp import services
from chatapp.context import toolboxes
from chatapp.context.pins import with_unpinned
from chatapp.context.runs import Terms
from chatapp.context.sizes import Scale
from chatapp.models import Conversation, store

# Messages that are gone through to see how often it would have condensed; the newest ones.
MOST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What the model sees, how large that is, and what was ``written`` and not taken back.

    ``unchanged`` says that the last call has sent what the next one begins with.
    """

    terms: Terms
    effective: tuple[condense.Message, ...]
    history: tuple[condense.Message, ...]
    written: Sequence[condense.Message]
    tokens: condense.TokenCount
    toolbox: Any
    unchanged: bool

    def situation(self, terms: Terms) -> condense.Situation:
        """Return what a condensation by hand would start from, with these terms."""
        return terms.configuration.situation(
            self.effective,
            self.tokens,
            terms.budget(self.effective),
            history=self.history,
            trigger=condense.Trigger.MANUAL,
            system=terms.system,
            tools=tuple(spec.to_api() for spec in self.toolbox.specs),
            model=terms.profile.model,
        )


def read_present(conversation: Conversation) -> Present | None:
    """Return a conversation as it is now, None where no profile answers."""
    fresh = store.read_conversation(conversation.pk)
    if fresh.profile is None:
        return None
    preferences = services.preferences_of(fresh.owner)
    terms = Terms(conversation=fresh, profile=fresh.profile, preferences=preferences)
    effective = store.read_effective(fresh.pk)
    scale = Scale.read(fresh, fresh.profile, terms.system)
    folder = toolboxes.folder_of(fresh)
    return Present(
        terms=terms,
        effective=effective,
        history=with_unpinned(fresh.pk, effective),
        written=_written(fresh),
        tokens=scale.weigh(effective),
        toolbox=toolboxes.toolbox_for(folder, fresh, fresh.profile),
        unchanged=scale.measured_tokens is not None,
    )


def _written(conversation: Conversation) -> Sequence[condense.Message]:
    """Return the newest messages that were not taken back, as if nothing had been condensed."""
    rows = conversation.messages.written().in_force().order_by("-seq")[:MOST]
    messages = map(store.to_engine, reversed(rows))
    return [
        replace(one, position=None, tags=condense.Tags(pinned=one.tags.pinned)) for one in messages
    ]
