"""Comparison of a request with the one before: what is the same, what came, what fell out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

import condense
from chatapp.inspector.requests import StoredRequest
from chatapp.models import ModelCall
from chatapp.number_formats import number
from chatapp.providers import request_bytes
from chatapp.transcript import labels

# A cache holds a prompt in blocks: what is read of it may end a little before what is the same.
NEARLY_ALL = 0.8


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is new in a request, and what of the one before is not in it.

    The first ``same`` of its messages are those of the request before; ``parameters`` are the
    names of what else differs.
    """

    same: int
    before: int
    count: int
    added: Sequence[condense.Message]
    gone: Sequence[condense.Message]
    parameters: Sequence[str]
    system_changed: bool
    tools: Sequence[str]

    @property
    def begins_the_same(self) -> bool:
        """Whether the request begins with the whole one before."""
        return self.same == self.before and not self.system_changed and not self.tools

    @property
    def prefix_words(self) -> str:
        """Say where what both have in common ends."""
        if self.system_changed:
            return _("What both begin with ends in the system prompt.")
        if self.tools:
            return _("What both begin with ends in the tools: %s.") % ", ".join(self.tools)
        if self.begins_the_same:
            return _("It begins with the whole request before: only something was added.")
        said = ngettext(
            "What both begin with ends after %s message.",
            "What both begin with ends after %s messages.",
            self.same,
        )
        return said % number(self.same) if self.same else _("Already the first message differs.")


def compare(before: StoredRequest, now: StoredRequest) -> Comparison:
    """Return what a request has that the one before had not, and the other way round."""
    keys, earlier = [*_keys(now)], [*_keys(before)]
    pairs = zip(keys, earlier, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return Comparison(
        same=same,
        before=len(earlier),
        count=len(keys),
        added=[*_without(now, keys, earlier)],
        gone=[*_without(before, earlier, keys)],
        parameters=_changed(before.frame.parameters, now.frame.parameters),
        system_changed=before.frame.system != now.frame.system,
        tools=_changed(before.frame.tools, now.frame.tools),
    )


def _keys(request: StoredRequest) -> Iterator[bytes]:
    """Yield the messages as they are told apart: text is the same as a block of text."""
    for message, _sources in request.messages:
        yield request_bytes.encode([message.role, [block.to_api() for block in message.blocks]])


def _without(
    request: StoredRequest, keys: Sequence[bytes], others: Sequence[bytes]
) -> Iterator[condense.Message]:
    known = Counter(others)
    for key, (message, _sources) in zip(keys, request.messages, strict=True):
        if known[key]:
            known[key] -= 1
        else:
            yield message


def _changed(one: Mapping[str, object], other: Mapping[str, object]) -> Sequence[str]:
    names = [*one, *(name for name in other if name not in one)]
    return [name for name in names if one.get(name) != other.get(name)]


def why_missed(call: ModelCall, before: ModelCall | None, found: Comparison | None) -> str:
    """Say how the provider's cache served a call, and why not better."""
    if said := labels.cache_miss(call):
        return _("The provider says why it was not read from its cache: %s.") % said
    if not call.tokens_prompt:
        return _("The provider reported nothing of this call's prompt.")
    if before is None or found is None:
        return _("None yet.")
    read = call.tokens_cache_read
    unused = not (read or call.tokens_cache_write or before.tokens_cache_write)
    reasons = (
        (unused, _("Nothing was read from a cache, and nothing written to one.")),
        (before.model != call.model, _("The call before went to another model.")),
        (
            not found.begins_the_same,
            _("Behind the place where the two part, nothing can be read from the cache."),
        ),
        (
            read >= NEARLY_ALL * before.tokens_prompt,
            _("What the call before sent was read from the cache."),
        ),
    )
    expired = _(
        "The beginning is the same, yet it was not read from the cache: it had probably expired. "
        "%(minutes)s minutes lie between the two."
    )
    pause = (call.created_at - before.created_at).total_seconds()
    said = expired % {"minutes": number(pause / 60, 1)}
    return next((words for holds, words in reasons if holds), said)
