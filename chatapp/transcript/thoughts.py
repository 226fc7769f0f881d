"""Thoughts: what the model thought before it said or did something, and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chatapp.markdown import render_markdown

# Seconds: nothing takes longer, and what says so is wrong.
MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    """A thought, whose ``text`` is "" where the provider tells nothing of it.

    It took ``seconds``, if that is known. One that goes on does so ``since`` (Unix seconds), and
    one that is being written has an ``id`` on the page.
    """

    text: str = ""
    seconds: float | None = None
    since: float | None = None
    id: str = ""
    kind: ClassVar[str] = "thought"

    @property
    def size(self) -> int:
        """How many characters it has, whatever stands around them."""
        return len(self.text.strip())

    @property
    def html(self) -> str:
        """Safe HTML of the text, made when it is shown: a card is drawn without its row."""
        return render_markdown(self.text)

    @property
    def whole_seconds(self) -> int | None:
        """The seconds as people say them: no thought takes less than one."""
        return None if self.seconds is None else max(1, round(self.seconds))


def read_thought(text: object, said: object) -> ThoughtPart:
    """Return a thought; a mark on its block, or a draft, has ``said`` how many "seconds" it took.

    What a file has said that was imported may be anything.
    """
    text = text if isinstance(text, str) else ""
    told = said.get("seconds") if isinstance(said, Mapping) else None
    try:
        seconds = float(told) if isinstance(told, str | float | int) else None
    except (OverflowError, ValueError):
        seconds = None
    known = seconds if seconds is not None and 0 <= seconds <= MOST else None
    return ThoughtPart(text, known)
