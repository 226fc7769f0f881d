"""The words on a page: what the page's scripts make of frames, and of the rows they fetch."""

import re
from collections.abc import Mapping
from typing import Any

from tests.cluster.narrator import read_words

ROWS = re.compile(r'<article\b[^>]*?\bid="([^"]+)"')
REVISION = re.compile(r'data-revision="(\d+)"')
STREAMING = "streaming"
# Articles whose words are part of another one, or are said to be nowhere else.
BESIDE = (f"{STREAMING}-", "tool-", "unsaved-")

Frame = Mapping[str, Any]


class Screen:
    """Rows by their ids, and the words of each block of the reply that is being written."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.parts: dict[str, list[list[str]]] = {}
        self.revision = -1
        self.turn = ""
        self.status = ""
        self.waits = False
        # What no page may ever show.
        self.wrong: list[str] = []

    @property
    def words(self) -> list[str]:
        """All words, from top to bottom."""
        return [word for html in self.rows.values() for word in read_words(html)] + self._written

    @property
    def _written(self) -> list[str]:
        return [word for part in self.parts.values() for block in part for word in block]

    def wants_rows(self, frame: Frame) -> bool:
        """Return whether the rows are to be fetched before a frame is shown."""
        kind = frame["type"]
        return kind in {"snapshot", "transcript.changed"} and frame["revision"] != self.revision

    def show_rows(self, html: str) -> bool:
        """Show fetched rows; return whether there were any, as there are for who may see them."""
        found = REVISION.search(html)
        if found is None:
            return False
        self.revision = int(found[1])
        _, *pieces = ROWS.split(html)
        self.rows = dict(zip(pieces[::2], pieces[1::2], strict=True))
        return True

    def show(self, frame: Frame) -> None:
        """Do with a frame what the page's scripts do."""
        match frame:
            case {"type": "snapshot"}:
                self._tell(frame["turn"], frame["status"], frame["waits"])
                self.parts.clear()
                for one in frame["articles"]:
                    self._upsert(one["id"], one["html"])
                for one in frame["streamed"]:
                    self._stream(one)
            case {"type": "article.upserted", "id": str(id_), "html": str(html)}:
                self._upsert(id_, html)
            case {"type": "article.removed", "id": str(id_)}:
                self.rows.pop(id_, None)
                if id_ == STREAMING:
                    self.parts.clear()
            case {"type": "text.streamed"}:
                self._stream(frame)
            case {"type": "status.changed"}:
                self._tell(frame["turn"], frame["text"], frame["waits"])

    def _tell(self, turn: str, status: str, waits: bool) -> None:
        self.turn, self.status, self.waits = turn, status, waits

    def _upsert(self, id_: str, html: str) -> None:
        if id_ == STREAMING:
            self.parts.clear()
        elif not id_.startswith(BESIDE):
            self.rows[id_] = html

    def _stream(self, frame: Frame) -> None:
        """Take streamed text: what is written is whole at each moment, and nothing of it twice."""
        blocks, index = self.parts.setdefault(frame["id"], []), frame["index"]
        if index > len(blocks):
            self.wrong.append(f"block {index} came, and {len(blocks)} were there")
        last = [frame["open"]] if frame["open"] else []
        blocks[index:] = map(read_words, [*frame["closed"], *last])
        places = [int(word.partition("w")[2]) for word in self._written]
        if places and places != [*range(places[0], places[0] + len(places))]:
            self.wrong.append(f"torn or twice: {self._written}")


def words_of(frame: Frame) -> list[str]:
    """Return the words that a frame shows."""
    texts = [frame.get("html", ""), *frame.get("closed", ()), frame.get("open", "")]
    inner = [*frame.get("articles", ()), *frame.get("streamed", ())]
    return read_words(" ".join(texts)) + [word for one in inner for word in words_of(one)]
