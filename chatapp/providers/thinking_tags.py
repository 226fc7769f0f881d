"""Thinking that servers leave in an answer's text, between tags, with or without an opening one."""

import re
from collections.abc import Iterator

_NAMES = "think thinking thought thoughts reasoning seed:think mm:think".split()
_PAIRS = {f"<{name}>": f"</{name}>" for name in _NAMES} | {
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel>thought": "<channel|>",
    "<|channel|>analysis<|message|>": "<|end|>",
}
# What stands around an answer in some of these formats.
_FRAME = "<|start|>assistant <|channel|>final<|message|> <|channel|>commentary<|message|> <|end|> \
<|return|> <|start_response|> <|end_response|> <|begin_of_solution|> <|end_of_solution|>".split()
_ALL = (*_PAIRS, *_PAIRS.values(), *_FRAME)
_TAG = re.compile("|".join(map(re.escape, _ALL)), re.IGNORECASE)
_LONGEST = max(map(len, _ALL)) - 1
# Characters for which a tag in the middle of a text waits for the one that closes it.
_FAR = 20_000
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class ThinkTags:
    """Separates thinking from text as it is streamed; what may become a tag is held back."""

    def __init__(self) -> None:
        # Nothing before is thinking whose opening tag is missing; a tag was the last that came.
        self._is_settled = self._follows_tag = False
        self._held = self._close = self._last = ""
        self._said: list[str] = []

    def take(self, text: str, *, is_last: bool = False) -> Iterator[tuple[str, str]]:
        """Yield pieces of "thinking" and of "text".

        "recalled" says that all text before it was thinking, which comes again as such.
        """
        self._held += text
        at = 0
        while found := _TAG.search(self._held, at):
            tag, before, rest = found[0].lower(), self._held[: found.start()], found.end()
            after = self._held[rest:]
            said = "".join(self._said)
            kind, close = "text", ""
            if self._close:
                is_named = (self._last + before)[-1:] == "`" and after[:1] in ("`", "")
                if is_named and not (after or is_last):
                    break
                known, kind = tag == self._close and not is_named, "thinking"
                self._is_settled = self._is_settled or known
            elif _is_code(said + before):
                known = False
            elif tag in _PAIRS:
                close = _PAIRS[tag]
                known = not (said + before).strip() or close in after[:_FAR].lower()
                if not (known or is_last or len(after) > _FAR):
                    break
            else:
                known = tag in _FRAME or not (said + before).strip()
                if not (known or self._is_settled):
                    yield "recalled", ""
                    kind, before, self._said = "thinking", said + before, []
                    known = self._is_settled = True
            at = rest
            if known:
                yield from self._tell(kind, before if before.strip() else "")
                self._held, self._close, at, self._follows_tag = after, close, 0, True
        end = found.start() if found and not is_last else self._undecided(is_last)
        piece, self._held = self._held[:end], self._held[end:]
        if piece.isspace() and not (self._close or self._said or is_last):
            piece, self._held = "", piece + self._held
        yield from self._tell("thinking" if self._close else "text", piece)

    def _tell(self, kind: str, text: str) -> Iterator[tuple[str, str]]:
        if kind == "text" and self._follows_tag:
            text = text.lstrip()
        if text:
            self._follows_tag, self._last = False, text[-1]
            self._said += [text] if kind == "text" else []
            yield kind, text

    def _undecided(self, is_last: bool) -> int:
        """Return where the end of what is held may be the beginning of a tag."""
        first = max(0, len(self._held) - _LONGEST)
        for found in re.finditer(r"[<\[◁]", self._held[first:] if not is_last else ""):
            begun = self._held[first + found.start() :].lower()
            if any(tag.startswith(begun) for tag in _ALL):
                return len(self._held) - len(begun)
        return len(self._held)


def _is_code(said: str) -> bool:
    """Whether code goes on at the end of a text: a fence, or a line's backticks."""
    line = said[said.rfind("\n") + 1 :]
    return len(_FENCE.findall(said)) % 2 == 1 or line.count("`") % 2 == 1


def parted(text: str) -> list[tuple[str, str]]:
    """Return a whole text in parts of "thinking" and of "text"."""
    parts: list[tuple[str, str]] = []
    for kind, piece in ThinkTags().take(text, is_last=True):
        if kind == "recalled":
            parts.clear()
        elif parts and parts[-1][0] == kind:
            parts[-1] = (kind, parts[-1][1] + piece)
        else:
            parts.append((kind, piece))
    return parts
