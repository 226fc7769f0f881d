"""Chart of the composition of a conversation's latest requests, one column each."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import condense
from chatapp.conversations.context.sizes import CondensingPoint
from chatapp.conversations.context.turn_context import terms_with
from chatapp.models import Conversation, ModelCall, message_store
from chatapp.page.inspector.parts import MADE, MESSAGES, SEGMENTS, SYSTEM, TOOLS, label_of
from chatapp.page.inspector.requests import learn_chains
from chatapp.providers.formats import Frame, read_frame, read_messages, request_format
from chatapp.storage.request_log import LONGEST_CHAIN, Item
from chatapp.storage.request_reader import RequestReader, fragment_of, sources_of

CALLS = 40
WIDTH, HEIGHT = 400, 100
# Where nothing was counted: roughly the length of a token of English text or of JSON.
CHARACTERS_PER_TOKEN = 4
# The columns' share of the width; the rest lies between them.
FILLED = 0.8


@dataclass(frozen=True, slots=True)
class Slice:
    """One part of a column, in tokens and in the chart's units."""

    name: str
    tokens: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """One call; ``dropped`` says that the context was condensed since the one before.

    ``slices`` lie on each other from the lower edge.
    """

    call: ModelCall
    tokens: int
    x: float
    width: float
    slices: Sequence[Slice]
    dropped: bool

    @property
    def measured(self) -> bool:
        """True if the provider reported its size."""
        return self.call.prompt_measured

    @property
    def middle(self) -> float:
        """The place of a mark for the whole column."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Chart:
    """The columns, oldest first; the chart is ``most`` tokens high.

    The ``limit`` is the size at which the context is condensed now, None without a profile.
    """

    columns: Sequence[Column]
    names: Sequence[tuple[str, str]]
    most: int
    limit: CondensingPoint | None
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def limit_y(self) -> float:
        """The height of the limit's line."""
        return HEIGHT * (1 - self.limit.at / self.most) if self.limit else 0.0


def draw_chart(conversation: Conversation) -> Chart | None:
    """Return the composition of the latest answers' requests, None if none is on record."""
    answers = conversation.calls.filter(purpose=ModelCall.Purpose.CHAT, manifest__isnull=False)
    newest = answers.select_related("manifest").order_by("-created_at", "-pk")
    calls = [*reversed(newest[:CALLS])]
    if not calls:
        return None
    weights = _Weights(conversation, calls)
    sizes = [call.tokens_prompt or round(sum(weights.of(call).values())) for call in calls]
    limit = None
    if profile := conversation.answering:
        terms = terms_with(conversation, profile)
        budget = terms.budget(message_store.read_outline(conversation.pk)[0])
        limit = CondensingPoint.of_budget(budget, automatic=terms.preferences.auto_condense)
    most = max(*sizes, 1, *([limit.at] if limit and limit.at < 2 * max(sizes) else []))
    step = WIDTH / max(len(calls), 8)
    befores = [calls[0], *calls[:-1]]
    columns = [
        Column(
            call=call,
            tokens=size,
            x=index * step,
            width=step * FILLED,
            slices=tuple(_slices(weights.of(call), size, most)),
            dropped=bool(weights.made(call) - weights.made(before)),
        )
        for index, (before, call, size) in enumerate(zip(befores, calls, sizes, strict=True))
    ]
    kinds = (SYSTEM, TOOLS, condense.PartKind.SUMMARY, MESSAGES)
    return Chart(
        columns, [(SEGMENTS.get(kind, MADE), label_of(kind)) for kind in kinds], most, limit
    )


def _slices(weights: Mapping[str, float], total: int, most: int) -> Iterator[Slice]:
    whole, y = sum(weights.values()) or 1, float(HEIGHT)
    for name, weight in weights.items():
        tokens = total * weight / whole
        height = HEIGHT * tokens / most
        y -= height
        yield Slice(name, round(tokens), y, height)


class _Weights:
    """The weights of each call's parts by kind, without reading the texts of messages."""

    def __init__(self, conversation: Conversation, calls: Sequence[ModelCall]) -> None:
        self._reader = RequestReader(conversation.pk)
        learn_chains(self._reader, calls[-1], 2 * len(calls) + LONGEST_CHAIN)
        self._items = {call.pk: self._reader.items(call.manifest) for call in calls}
        items = {item for listed, _tail in self._items.values() for item in listed}
        loose = {pk for item in items if (pk := fragment_of(item))}
        self._bytes = self._reader.fragments(loose | {call.manifest.head_id for call in calls})
        # The tokens of stored messages, and the tags of those that the engine wrote.
        columns = "seq", "tokens", "condense_id", "truncation_id", "clear_id"
        stored = {seq for item in items for seq in sources_of(item)}
        rows = conversation.messages.filter(seq__in=stored).values_list(*columns)
        self._rows = {seq: (tokens, any(ids)) for seq, tokens, *ids in rows}
        self._loose = dict[int, bool]()
        self._frames = dict[tuple[int, bytes], dict[str, float]]()

    def of(self, call: ModelCall) -> Mapping[str, float]:
        """Return the weights of a call's parts, from the lower edge upwards."""
        items, tail = self._items[call.pk]
        weights = {**self._frame(call, tail), MADE: 0.0, "messages": 0.0}
        for item in items:
            for _key, tokens, made in self._weigh(item, call.provider):
                weights[MADE if made else "messages"] += tokens
        return weights

    def made(self, call: ModelCall) -> set[object]:
        """Return the keys of the summaries and markers in a call's request."""
        items, _tail = self._items[call.pk]
        weighed = itertools.chain.from_iterable(self._weigh(one, call.provider) for one in items)
        return {key for key, _tokens, made in weighed if made}

    def _weigh(self, item: Item, provider: str) -> Iterator[tuple[object, float, bool]]:
        """Yield an item's parts: key, tokens, and True if the engine wrote it."""
        if pk := fragment_of(item):
            if pk not in self._loose:
                self._loose[pk] = _begins_made(provider, self._bytes[pk])
            yield item, len(self._bytes[pk]) / CHARACTERS_PER_TOKEN, self._loose[pk]
        for seq in sources_of(item):
            yield seq, *self._rows[seq]

    def _frame(self, call: ModelCall, tail: bytes) -> Mapping[str, float]:
        key = call.manifest.head_id, tail
        if key not in self._frames:
            try:
                frame = read_frame(request_format(call.provider), self._bytes[key[0]], tail)
            except ValueError:
                frame = Frame()
            tools = sum([len(json.dumps(tool)) for tool in frame.tools.values()])
            said = {"system": len(frame.system), "tools": tools}
            self._frames[key] = {name: size / CHARACTERS_PER_TOKEN for name, size in said.items()}
        return self._frames[key]


def _begins_made(provider: str, fragment: bytes) -> bool:
    """Return True if bytes that no message holds are a summary or a marker."""
    try:
        said = next(read_messages(request_format(provider), fragment), None)
    except (ValueError, condense.InvalidMessage):
        return False
    return said is not None and said.role == "user" and any(condense.split_parts(said.text))
