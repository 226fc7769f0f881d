"""Long words of the user's, cut where it hurts least; ``[…]`` stands where some are left out."""

import re

from condense.facts.plain import estimate
from condense.facts.sentences import is_rule, sentences, weight
from condense.facts.text import GAP

# Tokens of a request that stay: the plans that users hand over take 1,000 to 2,500.
WHOLE = 2_000
PASTED = WHOLE // 3  # of what a machine printed; its beginning and end tell what and how
HEAD = 0.75  # of what stays; the rest is the end, where the question may be
BRIEF = 30  # tokens; a sentence or two, not worth cutting
_ITEM = re.compile(r"\s*(?:#+|[>|*•-]|\d+[.)])\s")
_SENTENCE_END = re.compile(r"[.!?…:。！？؟۔।]\W*$")
_ENDING = 6  # characters; enough for a mark and the quotes and brackets after it
_FENCE = re.compile(r"\s*(?:```|~~~)")


def shortened(text: str, tokens: float = WHOLE) -> str:
    """Return a request as it is kept: whole, or its beginning and end where it is too long."""
    size = estimate(text)
    if size > PASTED and not _is_written(text):
        tokens = min(tokens, PASTED)
    if size <= tokens:
        return text
    room = int(len(text) * tokens / size)
    head = int(room * HEAD)
    return f"{text[:head]}\n{GAP}\n{text[len(text) - room + head :]}"


def _is_written(text: str) -> bool:
    """Whether most of it stands in sentences, lists, headings or marked code."""
    written, fenced = 0, False
    for line in text.split("\n"):
        is_fence = bool(_FENCE.match(line))
        is_sentence = _ITEM.match(line) or _SENTENCE_END.search(line[-_ENDING:])
        if fenced or is_fence or is_sentence:
            written += len(line) + 1
        fenced ^= is_fence
    return 2 * written >= len(text)


def essence(text: str) -> str:
    """Return the sentences that state something or set a rule, the others as gaps.

    Where none does, the first stands for all.
    """
    parts = [*sentences(text)]
    telling = [tells(part) for part in parts]
    if not any(telling):
        telling[:1] = [True]
    kept: list[str] = []
    for part, stays in zip(parts, telling, strict=True):
        if stays or kept[-1:] != [GAP]:
            kept.append(part if stays else GAP)
    return "\n".join(kept)


def tells(sentence: str) -> bool:
    """Whether the sentence says something that nobody could guess."""
    return weight(sentence) > 0 or is_rule(sentence)
