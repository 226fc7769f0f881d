"""Parts of a request: messages taken apart into pieces, and pieces of one kind as a card."""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.agent.annotated_blocks import recalled_in, stands_for
from chatapp.project.sentences import apportion

SYSTEM, TOOLS, MESSAGES, NEWEST, SINCE = "system", "tools", "messages", "newest", "since"
# Pieces of a card that are listed, the last ones.
LISTED = 200

_Kind = condense.PartKind
_WORDS: dict[str, tuple[Promise, Promise]] = {
    SYSTEM: (_("System prompt"), _("What the model is told before anything else.")),
    TOOLS: (_("Tools"), _("What it may call, and how.")),
    _Kind.SUMMARY: (_("Summary"), _("Stands for messages that are hidden.")),
    _Kind.LEDGER: (_("Key facts"), _("Of hidden messages, copied by rule.")),
    _Kind.FILES: (_("Folded files"), _("Files that were read, as signatures.")),
    _Kind.WORKFLOWS: (_("Workflows"), _("Directives that outlive every condensation.")),
    _Kind.REQUEST: (_("Your latest request, repeated"), _("A hidden request, word for word.")),
    _Kind.PINS: (_("Pins"), _("Rules, passages, and what is hidden, word for word.")),
    _Kind.ENVIRONMENT: (_("Environment"), _("The time and the workspace, as they were.")),
    _Kind.RECALLED: (_("Recalled"), _("Hidden passages that fit a message, as it was sent.")),
    MESSAGES: (_("Messages"), _("What was said and done, as it was.")),
    NEWEST: (_("Newest request"), _("What the model is working on.")),
    SINCE: (_("Since then"), _("Replies and results after the newest request.")),
}


def label_of(kind: str) -> str:
    """Return the name of a kind."""
    return str(_WORDS[kind][0])


# The segment of each kind in the bar and in the chart.
SEGMENTS = {SYSTEM: "system", TOOLS: "tools"} | dict.fromkeys(
    (MESSAGES, NEWEST, SINCE, _Kind.ENVIRONMENT, _Kind.RECALLED), "messages"
)
MADE = "summary"
# The weight of an image or another block without words, in characters.
_BLOCK = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request; ``tokens`` are its weight among the others.

    ``seq`` is the stored message that it is or begins with, 0 if that is unknown.
    """

    kind: str
    text: str
    tokens: float
    name: str = ""
    role: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Sized:
    """A message with its tokens; ``made`` says that the engine wrote it, or part of it."""

    message: condense.Message
    tokens: int
    made: bool  # the engine wrote it, or part of it
    seq: int = 0
    pinned: frozenset[str] = frozenset()  # rules and passages, no part of the talk
    ranks: Mapping[str, Sequence[int]] = field(default_factory=dict)  # of recalled ones, by text


def pinned_texts(blocks: Iterable[condense.Block]) -> frozenset[str]:
    """Return the texts of some blocks that are rules and passages."""
    texts = (block for block in blocks if isinstance(block, condense.TextBlock))
    return frozenset(block.text for block in texts if stands_for(block))


def recalled_ranks(blocks: Iterable[condense.Block]) -> dict[str, list[int]]:
    """Return the ranks of the passages in recalled blocks, 1 the best, by the blocks' texts."""
    found = {}
    for block in recalled_in(blocks):
        match condense.beside_of(block).get("passages"):
            case [*passages] if all(isinstance(one, Mapping) for one in passages):
                ranks = [one.get("rank") for one in passages]
                found[block.text] = [one if type(one) is int else 0 for one in ranks]
    return found


def frame_pieces(
    system: str, tools: Mapping[str, object], weigh: Callable[[str, str], float]
) -> Iterator[Piece]:
    """Yield the pieces before the messages; ``weigh`` returns the tokens of a text of a kind."""
    if system.strip():
        yield Piece(SYSTEM, system, weigh(SYSTEM, system))
    for name, tool in tools.items():
        sent = json.dumps(tool, separators=(",", ":"))
        yield Piece(TOOLS, json.dumps(tool, indent=1), weigh(TOOLS, sent), name=name)


def message_pieces(messages: Sequence[Sized]) -> Iterator[Piece]:
    """Yield the pieces of a request's messages, in order."""
    newest = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        one = messages[index]
        said = [block for kind, block in _blocks(one) if kind is None]
        texts = [block.text for block in said if isinstance(block, condense.TextBlock)]
        if one.message.role == "user" and any(text.strip() for text in texts):
            newest = index
            break
    for index, one in enumerate(messages):
        kind = MESSAGES if index < newest else NEWEST if index == newest else SINCE
        yield from _pieces(one, kind)


def _pieces(one: Sized, default: str) -> Iterator[Piece]:
    blocks = [*_blocks(one)]
    whole = sum(_weight(block) for _kind, block in blocks) or 1
    # A request and results that stand before it do not belong together.
    groups = itertools.groupby(
        blocks, key=lambda found: (found[0], isinstance(found[1], condense.ToolResultBlock))
    )
    for (kind, is_result), group in groups:
        said = tuple(block for _kind, block in group)
        share = one.tokens * sum(map(_weight, said)) / whole
        if kind is condense.PartKind.RECALLED:
            yield from _recalled_pieces(said, one.ranks, share)
            continue
        text = condense.tools_to_text(condense.Message(one.message.role, said)).text
        calls = [block.name for block in said if isinstance(block, condense.ToolUseBlock)]
        yield Piece(
            kind=str(kind or (MESSAGES if is_result and default == NEWEST else default)),
            text=text or " · ".join(f"[{block.to_api().get('type')}]" for block in said),
            tokens=share,
            name=", ".join(calls),
            role="results" if is_result else one.message.role,
            seq=one.seq,
        )


def _recalled_pieces(
    blocks: Iterable[condense.Block], ranks: Mapping[str, Sequence[int]], tokens: float
) -> Iterator[Piece]:
    """Yield each passage with its rank; the passages share the tokens of their preface."""
    texts = [one.text for one in blocks if isinstance(one, condense.TextBlock)]
    for text in texts:
        before, told = condense.split_recalled(text)
        places = zip(told, itertools.chain(ranks.get(text, ()), itertools.repeat(0)), strict=False)
        found = [(one.seq, one.text, rank) for one, rank in places]
        if before:
            found.insert(0, (0, before, 0))
        whole = sum([len(said) for _seq, said, _rank in found]) * len(texts) or 1
        for seq, said, rank in found:
            name = str(_("Rank %(rank)s") % {"rank": rank}) if rank else ""
            share = tokens * len(said) / whole
            yield Piece(condense.PartKind.RECALLED, said, share, name=name, seq=seq)


def _weight(block: condense.Block) -> int:
    match block:
        case condense.TextBlock(text):
            return len(text) or 1
        case condense.ToolUseBlock() | condense.ToolResultBlock():
            return len(str(block)) or 1
    return _BLOCK


def _blocks(one: Sized) -> Iterator[tuple[condense.PartKind | None, condense.Block]]:
    """Yield a message's blocks, each with its kind if its author did not write it."""
    # Only the engine's own text is searched for parts: words that begin like one are words.
    for block in one.message.blocks:
        match block:
            case condense.TextBlock(text) if one.message.role == "user":
                for is_pinned, part in _apart(text, one.pinned):
                    if is_pinned:
                        yield condense.PartKind.PINS, condense.TextBlock(part)
                    else:
                        yield from _text_parts(part, made=one.made)
            case condense.OpaqueBlock() if block.said is not None:
                yield condense.PartKind.SUMMARY, block
            case _:
                yield None, block


def _apart(text: str, pinned: frozenset[str]) -> Iterator[tuple[bool, str]]:
    """Yield the pinned and other parts of a text, each with True if it is pinned."""
    every = "|".join(map(re.escape, pinned))
    parts = re.split(rf"(?:\A|\n\n)({every})(?=\n\n|\Z)", text) if pinned else [text]
    for index, part in enumerate(parts):
        if said := part.removeprefix("\n\n") if pinned else part:
            yield bool(index % 2), said


def _text_parts(
    text: str, *, made: bool
) -> Iterator[tuple[condense.PartKind | None, condense.Block]]:
    kind = condense.part_kind(text) if made else None
    found: Iterable[tuple[condense.PartKind | None, str]] = condense.split_beside(text)
    if kind:
        found = [*condense.split_parts(text)] or [(kind, text)]
    for of, part in found:
        yield of, condense.TextBlock(part)


@dataclass(frozen=True, slots=True)
class PartCard:
    """The part of a request that is of one kind; ``percent`` is its share of the window."""

    kind: str
    label: str
    hint: str
    segment: str  # its colour in the context bar
    shade: int  # number of earlier kinds with that colour
    tokens: int
    percent: float  # of the window
    cached: int | None  # read from the provider's cache, None if unknown
    pieces: Sequence[Piece] = field(repr=False)
    beyond: int = 0

    @property
    def listed(self) -> Sequence[Piece]:
        """The last pieces, as many as are shown."""
        return self.pieces[-LISTED:]

    @property
    def unlisted(self) -> int:
        """The number of pieces that are not shown."""
        return len(self.pieces) - len(self.listed) + self.beyond

    @property
    def cached_percent(self) -> float | None:
        """The share of the card that was read from the cache."""
        return None if self.cached is None else 100 * self.cached / (self.tokens or 1)


def cards_of(
    found: Sequence[Piece], total: int, window: int, cached: int | None = None, beyond: int = 0
) -> tuple[PartCard, ...]:
    """Return the cards of a request of ``total`` tokens, in the order in which their kinds begin.

    Of the request the first ``cached`` tokens were read from a cache. Pieces share the total by
    their weight. One piece of messages stands for ``beyond`` further ones.
    """
    scale = total / (sum(piece.tokens for piece in found) or 1)
    kinds: dict[str, list[Piece]] = {}
    tokens, hits, at = dict[str, float](), dict[str, float](), 0.0
    for piece in found:
        size = piece.tokens * scale
        kinds.setdefault(piece.kind, []).append(piece)
        tokens[piece.kind] = tokens.get(piece.kind, 0) + size
        hits[piece.kind] = hits.get(piece.kind, 0) + min(size, max(0, (cached or 0) - at))
        at += size
    counts = apportion([tokens[kind] for kind in kinds])
    colours = [SEGMENTS.get(kind, MADE) for kind in kinds]
    return tuple(
        PartCard(
            kind=kind,
            label=label_of(kind),
            hint=str(_WORDS[kind][1]),
            segment=colours[place],
            shade=colours[:place].count(colours[place]),
            tokens=counts[place],
            percent=100 * tokens[kind] / (window or total or 1),
            cached=None if cached is None else round(hits[kind]),
            pieces=those,
            beyond=beyond if kind == MESSAGES else 0,
        )
        for place, (kind, those) in enumerate(kinds.items())
    )
