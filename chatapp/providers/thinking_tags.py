"""Thinking that servers leave in an answer's text, between tags, with or without an opening one."""

import itertools
import operator
import re
from collections.abc import Iterable, Iterator

_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think", "mm:think")
_PAIRS = {f"<{name}>": f"</{name}>" for name in _NAMES}
_PAIRS |= {"[think]": "[/think]", "◁think▷": "◁/think▷", "<|start_thinking|>": "<|end_thinking|>"}
_PAIRS |= {"<|channel|>analysis<|message|>": "<|end|>", "<unused94>": "<unused95>"}
# Marks around an answer in some of these formats.
_FRAME = {"<|start|>assistant", "<|channel|>final<|message|>", "<|end|>", "<|return|>"}
_FRAME |= {"<|channel|>commentary<|message|>", "<|start_response|>", "<|end_response|>"}
_ALL = (*_PAIRS, *_PAIRS.values(), *_FRAME)
_TAG = re.compile(f"({'|'.join(map(re.escape, _ALL))})", re.IGNORECASE)
_BEGUN = {tag[:size] for tag in _ALL for size in range(1, len(tag))}
_BEGINNING = re.compile(f"(?=[<[◁])(?:{'|'.join(map(re.escape, _BEGUN))})\\Z", re.IGNORECASE)
# Every tag begins with one of these: most pieces of a text are done with a plain search.
_SIGN = re.compile("[<[◁]")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)

# Tags of one answer: a model that repeats itself would else take minutes to read.
_MOST = 100
# Characters that are read for tags, again with each tag. No model writes as many.
_LONGEST = 5_000_000

_Part = tuple[str, str]


class ThinkTags:
    """Separates thinking from text as it is streamed; holds back the beginning of a tag."""

    def __init__(self) -> None:
        self._held, self._kind, self._follows_tag, self._tags = "", "text", False, 0
        self._size = self._read = 0
        self._pieces: list[str] = []
        self._shown: list[_Part] = []

    def take(self, text: str, *, is_last: bool = False) -> Iterator[_Part]:
        """Yield pieces of "thinking" and of "text".

        "recalled" says that the pieces before it were of the wrong kind, and come again.
        """
        held = self._held + text
        has_sign = _SIGN.search(held) is not None
        looks = has_sign and not is_last
        begun = _BEGINNING.search(held, max(0, len(held) - 40)) if looks else None
        end = begun.start() if begun else len(held)
        if not (is_last or self._shown) and held[:end].isspace():
            end = 0
        self._held = held[end:]
        told = held[:end]
        for piece in filter(None, _TAG.split(told) if has_sign else (told,)):
            self._pieces.append(piece)
            self._size += len(piece)
            is_read = has_sign and self._tags < _MOST and self._read < _LONGEST
            is_tag = is_read and bool(_TAG.fullmatch(piece))
            self._tags += is_tag
            self._read += self._size * is_tag
            strips = self._follows_tag and self._kind == "text"
            parts = [(self._kind, piece.lstrip() if strips else piece)]
            if is_tag:
                whole = parted("".join(self._pieces))
                self._kind = whole[-1][0]
                if whole == _merged([*self._shown, (self._kind, "")]):
                    parts = []
                elif whole != _merged([*self._shown, *parts]):
                    yield "recalled", ""
                    self._shown, parts = [], whole
            parts = [one for one in parts if one[1]]
            goes_on = bool(parts) and parts[-1][0] == self._kind
            self._follows_tag = (self._follows_tag or is_tag) and not goes_on
            self._shown += parts
            yield from parts


def parted(text: str) -> list[_Part]:
    """Return a text in parts of "thinking" and of "text", of which the last may be empty."""
    parts: list[_Part] = []
    start, close = 0, ""
    for tag in itertools.islice(_TAG.finditer(text), _MOST if len(text) <= _LONGEST else 0):
        name, before = tag[0].lower(), text[start : tag.start()]
        said = "".join([part for kind, part in parts if kind == "text"]) + before
        kind, is_tag = "text", not said.strip()
        if close:
            is_end = name == close or (name[1] == "/" and close not in text[tag.end() :].lower())
            is_named = before.endswith("`") and text.startswith("`", tag.end())
            kind, is_tag = "thinking", is_end and not is_named
        elif len(_FENCE.findall(said)) % 2 or said[said.rfind("\n") + 1 :].count("`") % 2:
            # It stands in code.
            continue
        elif name in _PAIRS:
            is_tag = is_tag or _PAIRS[name] in text[tag.end() :].lower()
        elif name in _FRAME:
            is_tag = is_tag or start > 0
        elif "\n\n" in said and re.fullmatch("[\\w,;] ", said[-2:]):
            # An answer of some paragraphs names it.
            continue
        elif not (is_tag or any(kind == "thinking" for kind, _ in parts)):
            # Its opening tag is missing.
            kind, before, parts, is_tag = "thinking", said, [], True
        if is_tag:
            if before.strip():
                parts.append((kind, before.lstrip() if start and kind == "text" else before))
            close = "" if kind == "thinking" else _PAIRS.get(name, "")
            start = tag.end()
    kind, rest = "thinking" if close else "text", text[start:]
    return _merged([*parts, (kind, rest.lstrip() if start and not close else rest)])


def _merged(parts: Iterable[_Part]) -> list[_Part]:
    groups = itertools.groupby(parts, key=operator.itemgetter(0))
    return [(kind, "".join([said for _, said in group])) for kind, group in groups]
