"""Sent calls: the request of a call, compared with the call before."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q

import condense
from chatapp.conversations.context import sizes
from chatapp.models import Condensation, Message, ModelCall, Profile
from chatapp.page.inspector import parts
from chatapp.page.inspector.next_request import hiders
from chatapp.page.inspector.requests import StoredRequest, learn_chains, see
from chatapp.page.transcript import labels
from chatapp.project.sentences import in_a_row
from chatapp.project.sentences import translate as _
from chatapp.providers import request_bytes
from chatapp.providers.specs import short_name
from chatapp.storage.request_log import LONGEST_CHAIN
from chatapp.storage.request_reader import RequestReader

# A cache holds a prompt in blocks: the part that was read may end before the equal part does.
NEARLY_ALL = 0.8
# For a request whose messages have no known numbers: the most summaries, and the most messages of
# the user with recalled passages.
LATEST = 20
# The beginning of recalled passages.
_RECALLED = "<recalled>\n"
# The same messages come in every call of a conversation.
_counter = condense.CachedCounter(sizes.COUNTER)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The new parts of a request, and the parts of the one before that are not in it."""

    same: int  # number of messages from the request before
    before: int
    added: Sequence[condense.Message]
    gone: Sequence[condense.Message]
    parameters: Sequence[str]  # names of other differences
    system_changed: bool
    tools: Sequence[str]

    @property
    def begins_the_same(self) -> bool:
        """True if the request begins with the whole one before."""
        return self.same == self.before and not self.system_changed and not self.tools

    @property
    def prefix_words(self) -> str:
        """The end of the common beginning, as a sentence."""
        if self.system_changed:
            return _("What both begin with ends in the system prompt.")
        if names := in_a_row(self.tools):
            return _("What both begin with ends in the tools: {names}.", names=names)
        if self.begins_the_same:
            return _("It begins with the whole request before: only something was added.")
        if not self.same:
            return _("Already the first message differs.")
        return _(
            "What both begin with ends after {count:,} message.",
            "What both begin with ends after {count:,} messages.",
            count=self.same,
        )


def compare(before: StoredRequest, now: StoredRequest) -> Comparison:
    """Return the differences between a request and the one before."""
    keys, earlier = [*_keys(now)], [*_keys(before)]
    pairs = zip(keys, earlier, strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return Comparison(
        same=same,
        before=len(earlier),
        added=[*_without(now, keys, earlier)],
        gone=[*_without(before, earlier, keys)],
        parameters=_changed(before.frame.parameters, now.frame.parameters),
        system_changed=before.frame.system != now.frame.system,
        tools=_changed(before.frame.tools, now.frame.tools),
    )


def _keys(request: StoredRequest) -> Iterator[bytes]:
    """Yield the messages as bytes to compare: text is the same as a block of text."""
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
    """Return a sentence on the cached part of a call's prompt, with the reason of a miss."""
    if said := labels.cache_miss(call):
        return _("The provider says why it was not read from its cache: {why}.", why=said)
    if not call.prompt_measured:
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
    pause = call.created_at - before.created_at
    expired = _(
        "The beginning is the same, yet it was not read from the cache: it had probably expired. "
        "{minutes:,.1f} minutes lie between the two.",
        minutes=pause.total_seconds() / 60,
    )
    return next((words for holds, words in reasons if holds), expired)


@dataclass(frozen=True, slots=True)
class SentCall:
    """The request of a call, in cards, compared with the call before."""

    call: ModelCall
    seen: StoredRequest | None  # None if none is on record, or parts are lost
    cards: Sequence[parts.PartCard] = ()
    tokens: int = 0  # measured or estimated
    measured: bool = False
    window: int = 0  # 0 if no profile knows it
    comparison: Comparison | None = None
    missed: str = ""
    hiders: Sequence[labels.AttemptWords] = ()  # records of its summaries and markers
    earlier: ModelCall | None = None
    later: ModelCall | None = None

    @property
    def percent(self) -> float | None:
        """The filled share of the window in percent, None if its size is unknown."""
        return 100 * self.tokens / self.window if self.window else None


def read_call(call: ModelCall) -> SentCall:
    """Return a call's request in cards; the cost follows its size, not the conversation's."""
    reader = RequestReader(call.conversation_id)
    # Calls that answered, if their requests are on record.
    calls = ModelCall.objects.filter(
        conversation=call.conversation_id, purpose=ModelCall.Purpose.CHAT, manifest__isnull=False
    )
    before_it = calls.filter(created_at__lte=call.created_at, pk__lt=call.pk)
    after_it = calls.filter(created_at__gte=call.created_at, pk__gt=call.pk)
    earlier = before_it.select_related("manifest").order_by("-created_at", "-pk").first()
    later = after_it.order_by("created_at", "pk").first()
    learn_chains(reader, call, 2 * LONGEST_CHAIN)
    before = see(reader, earlier) if earlier else None
    seen = see(reader, call)
    if seen is None:
        return SentCall(call, None, earlier=earlier, later=later)
    messages = _Messages(seen)
    frame = seen.frame
    head = parts.frame_pieces(frame.system, frame.tools, lambda _kind, text: _counter.count(text))
    pieces = [*head, *parts.message_pieces(messages.sized())]
    measured = call.prompt_measured
    tokens = call.tokens_prompt or round(sum(piece.tokens for piece in pieces))
    same = Profile.objects.filter(
        owner__conversations=call.conversation_id,
        name__in=(call.profile_name, short_name(call.model)),
        model=call.model,
    )
    # Perhaps no profile knows the model any more.
    window = same.values_list("context_window", flat=True).first() or 0
    comparison = compare(before, seen) if before else None
    made = Condensation.objects.filter(
        conversation=call.conversation_id, message__seq__in=messages.made_by_engine()
    )
    return SentCall(
        call=call,
        seen=seen,
        cards=parts.cards_of(pieces, tokens, window, call.tokens_cache_read if measured else None),
        tokens=tokens,
        measured=measured,
        window=window,
        comparison=comparison,
        missed=why_missed(call, earlier, comparison),
        hiders=hiders(made),
        earlier=earlier,
        later=later,
    )


class _Messages:
    """The messages of a request, and the stored messages that they were made of."""

    def __init__(self, seen: StoredRequest) -> None:
        self.told = seen.messages
        self.call = seen.call
        self.rows = Message.objects.filter(conversation=seen.call.conversation_id)
        sources = {seq for _message, own in self.told for seq in own}
        stored = self.rows.filter(seq__in=sources)
        self._made = frozenset(stored.made_by_engine().values_list("seq", flat=True))
        pinned = stored.filter(pin__isnull=False).values_list("content", flat=True)
        texts = (parts.pinned_texts(_blocks(content)) for content in pinned)
        self._pinned = frozenset[str]().union(*texts)
        # The ranks of recalled passages are not sent: they are in stored or recent messages.
        self._ranks: Mapping[str, Sequence[int]] = {}
        if recalled := [own for message, own in self.told if _RECALLED in message.text]:
            asked = self.rows.questions().filter(created_at__lte=self.call.created_at)
            latest = asked.order_by("-seq").values("pk")[:LATEST]
            seqs = {seq for own in recalled for seq in own}
            rows = self.rows.filter(Q(seq__in=seqs) | Q(pk__in=latest))
            contents = map(_blocks, rows.values_list("content", flat=True))
            self._ranks = parts.recalled_ranks(itertools.chain.from_iterable(contents))

    def made_by_engine(self) -> set[int]:
        """Return the numbers of the summaries and markers among them."""
        return {made for one in self.told if (made := self._made_of(*one))}

    def sized(self) -> list[parts.Sized]:
        """Return the messages with their sizes, marked if the engine wrote them."""
        return [
            parts.Sized(
                message,
                condense.count_message(message, _counter),
                made=bool(self._made_of(message, sources)),
                seq=min(sources, default=0),
                pinned=self._pinned,
                ranks=self._ranks,
            )
            for message, sources in self.told
        ]

    def _made_of(self, message: condense.Message, sources: Sequence[int]) -> int:
        """Return the number of the summary or marker in a message, 0 if it is none."""
        if sources:
            return next((seq for seq in sources if seq in self._made), 0)
        if message.role != "user" or not any(condense.split_parts(message.text)):
            return 0
        found = (seq for said, seq in self._beginnings if message.text.startswith(said))
        return next(found, 0)

    @cached_property
    def _beginnings(self) -> Sequence[tuple[str, int]]:
        """The first texts of the latest summaries and markers, for requests without numbers."""
        rows = self.rows.filter(created_at__lte=self.call.created_at).made_by_engine()
        latest = rows.order_by("-seq").values_list("content", "seq")[:LATEST]
        firsts = ((next(iter(_blocks(content)), None), seq) for content, seq in latest)
        return [(one.text, seq) for one, seq in firsts if isinstance(one, condense.TextBlock)]


def _blocks(content: list[dict[str, object]]) -> Iterable[condense.Block]:
    return condense.Message("user", condense.content_from_api(content)).blocks
