"""Watchers that are nobody's page."""

from typing import Any, override

from chatapp.live import outgoing_frames
from chatapp.live.watchers import Watchers


class Heard(Watchers):
    """Somebody who watches, and remembers every frame."""

    def __init__(self) -> None:
        """Hear nothing yet."""
        super().__init__()
        self.frames: list[dict[str, Any]] = []

    @override
    def __bool__(self) -> bool:
        return True

    @override
    def send(self, frame: outgoing_frames.Frame) -> None:
        self.frames.append(frame)
