"""Thoughts: what the model thought before it said or did something, and for how long."""

from dataclasses import dataclass
from typing import ClassVar

from chatapp.markdown import render_markdown


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    """A thought, whose ``text`` is "" where the provider tells nothing of it.

    It took ``seconds``, if that is known. One that goes on does so ``since`` (Unix seconds), and
    one that is being written has an ``id`` on the page.
    """

    text: str = ""
    seconds: int | None = None
    since: float | None = None
    id: str = ""
    kind: ClassVar[str] = "thought"

    @property
    def html(self) -> str:
        """Safe HTML of the text, made when it is shown: a card is drawn without its row."""
        return render_markdown(self.text)
