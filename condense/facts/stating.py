"""What replies state: results, decisions, promises, figures; told by their words and numbers."""

import re
from collections.abc import Iterator, Sequence

from condense.facts.plain import estimate
from condense.facts.sentences import sentences, short, weight
from condense.messages import Message, TextBlock

PER_REPLY = 3  # the main points of an answer; more of them are an account
LEAST = 1  # weight; what states nothing at all weighs none
# Of what replies say, where there is little but words: with the user's words beside it, that is a
# tenth of a chat. Where tools do the work, words count by their share of it, and get few tokens.
SHARE, FEW = 0.07, 30
_CODE = re.compile(
    r"^[^\S\n]*+(?:```|~~~).*?(?:^[^\S\n]*+(?:```|~~~)[^\S\n]*+$|\Z)", re.MULTILINE | re.DOTALL
)
_MARKS = re.compile(r"^(?:[#>*•|-]+\s+|\d+[.)]\s+)+|\*\*|__|`")
_QUESTION = re.compile(r"[?？؟]\W*$")


class Statements:
    """Sentences of replies, each once, the newest last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[str, None] = {}
        self._said = self._carried = 0.0

    def hear(self, reply: Message) -> None:
        """Note what a reply states."""
        self._said += sum(map(estimate, _texts(reply)))
        for sentence in statements(reply):
            self._renew(sentence)

    def carry(self, earlier: Sequence[str]) -> None:
        """Take over the statements of an earlier ledger, the newest first there."""
        for sentence in reversed(earlier):
            self._carried += estimate(sentence)
            self._renew(sentence)

    def newest(self, hidden: float) -> tuple[str, ...]:
        """Return those that state most, newest first, of so many ``hidden`` tokens."""
        share = self._said / max(1, hidden)
        newest = [*reversed(self._known)]
        kept, room = set(), self._carried + max(FEW, SHARE * share * self._said)
        for sentence in sorted(newest, key=lambda one: -weight(one)):
            room -= estimate(sentence)
            if room < 0:
                break
            kept.add(sentence)
        return tuple(sentence for sentence in newest if sentence in kept)

    def _renew(self, sentence: str) -> None:
        self._known.pop(sentence, None)
        self._known[sentence] = None


def statements(reply: Message) -> tuple[str, ...]:
    """Return what a reply states, in its order; one that goes on to call tools states nothing."""
    if reply.tool_uses:
        return ()
    found = {sentence: weight(sentence) for sentence in _candidates(reply)}
    best = sorted(found, key=lambda sentence: -found[sentence])[:PER_REPLY]
    return tuple(sentence for sentence in found if sentence in best and found[sentence] >= LEAST)


def _candidates(reply: Message) -> Iterator[str]:
    for sentence in sentences(_CODE.sub("\n", "\n".join(_texts(reply)))):
        plain = _MARKS.sub("", short(sentence)).strip()
        if plain and not _QUESTION.search(plain):
            yield plain


def _texts(reply: Message) -> list[str]:
    return [block.text for block in reply.blocks if isinstance(block, TextBlock)]
