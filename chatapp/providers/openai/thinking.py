"""Tells thinking from text where a server puts both into the content, between tags."""

from collections.abc import Iterator

OPENING, CLOSING = "<think>", "</think>"


class ThinkTags:
    """Splits what is streamed; only thinking at the beginning of a reply is taken for it."""

    def __init__(self) -> None:
        """Begin before the first character."""
        self._held = ""
        self._take = self._at_beginning

    def take(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield pieces of "thinking" and of "text"; what may become a tag is held back."""
        self._held += text
        yield from self._take()

    def end(self) -> Iterator[tuple[str, str]]:
        """Yield what was held back to the end, which is no tag after all."""
        if self._held:
            yield ("thinking" if self._take == self._in_thinking else "text"), self._held
        self._held = ""

    def _at_beginning(self) -> Iterator[tuple[str, str]]:
        begun = self._held.lstrip()
        if begun.startswith(OPENING):
            self._held = begun[len(OPENING) :]
            self._take = self._in_thinking
            yield from self._take()
        elif begun and not OPENING.startswith(begun):
            self._take = self._in_text
            yield from self._take()

    def _in_thinking(self) -> Iterator[tuple[str, str]]:
        thought, closed, rest = self._held.partition(CLOSING)
        if closed:
            self._held = rest
            self._take = self._after_thinking
        else:
            kept = _beginning_of_closing(thought)
            thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            yield "thinking", thought
        if closed:
            yield from self._take()

    def _after_thinking(self) -> Iterator[tuple[str, str]]:
        self._held = self._held.lstrip()
        if self._held:
            self._take = self._in_text
            yield from self._take()

    def _in_text(self) -> Iterator[tuple[str, str]]:
        text, self._held = self._held, ""
        if text:
            yield "text", text


def _beginning_of_closing(text: str) -> int:
    """Return how many characters at the end of a text may begin the closing tag."""
    sizes = range(min(len(text), len(CLOSING) - 1), 0, -1)
    return next((size for size in sizes if CLOSING.startswith(text[-size:])), 0)
