"""Statements of replies: results, decisions, promises and figures, told by their words."""

import re
from collections.abc import Sequence

from condense.messages import Message, TextBlock
from condense.notes.sentences import estimate, sentences, short, weight

PER_REPLY = 3  # the main points of an answer; more of them are an account
LEAST = 1  # weight; what states nothing at all weighs none
# Of what replies say, where there is little but words: half of the tenth that a ledger may take of
# a chat, for what the user says takes the other half. Where tools do the work, words count by their
# share of it, and get few tokens.
SHARE, FEW = 0.05, 30
_CODE = re.compile(
    r"^[^\S\n]*+(?:```|~~~).*?(?:^[^\S\n]*+(?:```|~~~)[^\S\n]*+$|\Z)", re.MULTILINE | re.DOTALL
)
_MARKS = re.compile(r"^(?:[#>*•|-]+\s+|\d+[.)]\s+)+|\*\*|__|`")
_ENDING = 6  # characters; enough for a mark and the quotes and brackets after it
_QUESTION = re.compile(r"[?？؟]\W*$")


class Statements:
    """Sentences of replies, each once, the newest last."""

    def __init__(self) -> None:
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
        return tuple([sentence for sentence in newest if sentence in kept])

    def _renew(self, sentence: str) -> None:
        self._known.pop(sentence, None)
        self._known[sentence] = None


def statements(reply: Message) -> tuple[str, ...]:
    """Return what a reply states, in its order; one that goes on to call tools states nothing."""
    if reply.tool_uses:
        return ()
    text = "\n".join(_texts(reply))
    if "```" in text or "~~~" in text:
        text = _CODE.sub("\n", text)
    found = {sentence: weight(sentence) for sentence in sentences(text)}
    telling = {sentence: much for sentence, much in found.items() if much >= LEAST}
    stating = [one for one in telling if _plain(one) and not _QUESTION.search(one[-_ENDING:])]
    best = sorted(stating, key=lambda sentence: -telling[sentence])[:PER_REPLY]
    return tuple([_plain(sentence) for sentence in telling if sentence in best])


def _plain(sentence: str) -> str:
    """Return the sentence without the marks of a list, a heading or emphasis."""
    return _MARKS.sub("", short(sentence)).strip()


def _texts(reply: Message) -> list[str]:
    return [block.text for block in reply.blocks if isinstance(block, TextBlock)]
