"""Thinking that servers leave in an answer's text, between tags, with or without an opening one."""

import re
from collections.abc import Iterator

_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think", "mm:think")
_PAIRS = {f"<{name}>": f"</{name}>" for name in _NAMES} | {
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel|>analysis<|message|>": "<|end|>",
}
# What stands around an answer in some of these formats.
_FRAME = (
    *("<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>"),
    *("<|end|>", "<|return|>", "<|start_response|>", "<|end_response|>"),
    *("<|begin_of_solution|>", "<|end_of_solution|>"),
)
_ALL = (*_PAIRS, *_PAIRS.values(), *_FRAME)
_TAG = re.compile("|".join(map(re.escape, _ALL)), re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_LONGEST = max(map(len, _ALL)) - 1
# Characters for which a tag in the middle of a text waits for the one that closes it.
_FAR = 20_000


class ThinkTags:
    """Separates thinking from text as it is streamed; what may become a tag is held back."""

    def __init__(self) -> None:
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
            before, after = self._held[: found.start()], self._held[found.end() :]
            said = "".join([*self._said, before])
            tag, kind, close = found[0].lower(), "text", ""
            if self._close:
                kind, known = "thinking", tag == self._close
                if known and (self._last + before)[-1:] == "`" and after[:1] in ("`", ""):
                    # The thought names the tag, unless nothing follows.
                    known = is_last and not after
                    if not (after or is_last):
                        break
                self._is_settled = self._is_settled or known
            elif _is_code(said):
                known = False
            elif tag in _PAIRS:
                close = _PAIRS[tag]
                known = not said.strip() or close in after[:_FAR].lower()
                if not (known or is_last or len(after) > _FAR):
                    break
            elif not (known := tag in _FRAME or not said.strip()) and not self._is_settled:
                yield "recalled", ""
                kind, before, self._said = "thinking", said, []
                known = self._is_settled = True
            at = found.end()
            if known:
                yield from self._tell(kind, before if before.strip() else "")
                self._held, self._close, at, self._follows_tag = after, close, 0, True
        end = found.start() if found else len(self._held) if is_last else self._undecided()
        if is_last or self._close or self._said or not self._held[:end].isspace():
            piece, self._held = self._held[:end], self._held[end:]
            yield from self._tell("thinking" if self._close else "text", piece)

    def _tell(self, kind: str, text: str) -> Iterator[tuple[str, str]]:
        if kind == "text":
            text = text.lstrip() if self._follows_tag else text
            self._said += [text] if text else []
        if text:
            self._follows_tag, self._last = False, text[-1]
            yield kind, text

    def _undecided(self) -> int:
        """Return where the end of what is held may be the beginning of a tag."""
        first = max(0, len(self._held) - _LONGEST)
        for found in re.finditer(r"[<\[◁]", self._held[first:]):
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
    parts = [*ThinkTags().take(text, is_last=True)]
    kinds = [kind for kind, _ in parts]
    return parts[kinds.index("recalled") + 1 :] if "recalled" in kinds else parts
