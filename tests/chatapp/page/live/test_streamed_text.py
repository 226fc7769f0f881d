"""What pages are sent of a reply while it is written: little, and enough to show all of it."""

import re
import time
from html import escape, unescape
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatapp.page.live import outgoing_frames
from chatapp.page.live.streamed_text import StreamedText
from tests.chatapp.page.markdown.cuts import pieces

CODE = re.compile(r"(?s)(<div class=\"code-block\".*?<code>)(.*)(</code></pre></div>\n)")
LINE = st.sampled_from(
    [
        "Some words.",
        "",
        "- item",
        "```python",
        "```",
        "x = '<b>' & 1",
        "naïve 🦉 = 漢字",
        "|",
        "# h",
    ]
)
TEXT = st.lists(LINE, max_size=25).map("\n".join)
LONG_CODE = "```python\n" + "    return compute(x, y)  # 🦉 & more\n" * 2_700  # 100,000 characters


class Page:
    """Does with frames what a page's script does: blocks of HTML, the last of them open."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.is_open = False

    def show(self, frame: dict[str, Any]) -> None:
        """Take one frame, twice: that must do no harm."""
        for _ in range(2):
            getattr(self, frame["type"].replace(".", "_"))(frame)

    def text_streamed(self, frame: dict[str, Any]) -> None:
        """Replace everything from a block on."""
        self.is_open = bool(frame["open"])
        new = [*frame["closed"], *([frame["open"]] if frame["open"] else [])]
        self.blocks[frame["index"] :] = new

    def code_streamed(self, frame: dict[str, Any]) -> None:
        """Let the open block grow, where it is the one that is meant."""
        if not self.is_open or frame["index"] != len(self.blocks) - 1:
            return
        found = CODE.fullmatch(self.blocks[-1])
        assert found
        units = unescape(found[2]).encode("utf-16-le")
        if len(units) >= 2 * frame["at"]:
            text = units[: 2 * frame["at"]].decode("utf-16-le") + frame["text"]
            self.blocks[-1] = found[1] + escape(text) + found[3]

    def text(self) -> list[str]:
        """Return what is read of each block."""
        return [unescape(re.sub("<[^>]*>", "", block)) for block in self.blocks]


@settings(deadline=None)
@given(TEXT, st.lists(st.integers(0, 300), max_size=20), st.integers(0, 20))
@example("```python\na 🦉 b\nc d\n```\nx\n```\ny\n", [12, 14, 20, 24, 26], 2)
def test_every_page_shows_the_same_whenever_it_came(
    text: str, cuts: list[int], joined: int
) -> None:
    """One that comes late may get news that are older than its snapshot."""
    streaming, early, late, fresh = StreamedText(), Page(), Page(), Page()
    parts = pieces(text, cuts) or [""]
    joined %= len(parts)
    for number, piece in enumerate(parts):
        streaming.feed(piece)
        news = streaming.news()
        early.show(news)
        if number == joined:
            streaming.feed("\nmore ")
            late.show(streaming.snapshot())
        if number >= joined:
            late.show(news)
    last = streaming.news()
    for page in (early, late):
        page.show(last)
    fresh.show(streaming.snapshot())
    assert early.text() == fresh.text()
    assert late.text() == fresh.text()


def test_a_long_code_block_is_sent_about_once() -> None:
    """Sent whole with every frame, these 100,000 characters came to 250 MB."""
    streaming, page, sent = StreamedText(), Page(), 0
    for start in range(0, len(LONG_CODE), 20):
        streaming.feed(LONG_CODE[start : start + 20])
        frame = streaming.news()
        sent += sum(map(len, outgoing_frames.encode(frame)))
        if frame["type"] == "text.streamed":
            page.show(frame)
    assert sent < 10 * len(LONG_CODE)
    page.show(streaming.snapshot())
    assert page.text() == [LONG_CODE.partition("\n")[2] + "\n"]


@pytest.mark.parametrize("line", ["- one of many\n", "| a | b |\n", "and more of it "])
async def test_a_long_block_is_sent_in_proportion_to_its_length(line: str) -> None:
    """As a page shows it: drawn each time that it has grown by a share, and not sent between."""

    async def sent(length: int) -> int:
        streaming, size = StreamedText(), 0
        head = "| a | b |\n| - | - |\n" if line[0] == "|" else ""
        for piece in [head, *[line * 8] * (length // 8)]:
            streaming.feed(piece)
            if news := await streaming.read_news():
                size += sum(map(len, outgoing_frames.encode(news)))
        return size

    assert await sent(1_600) < 3 * await sent(800)


def test_alone_a_text_is_sent_fifteen_times_a_second() -> None:
    """It reads as flowing, and the first words wait for nothing."""
    alone = StreamedText()
    before = time.monotonic()
    alone.feed("Hello ")
    assert alone.due is not None
    assert alone.due <= time.monotonic()
    alone.news()
    alone.feed("again ")
    assert alone.due is not None
    assert before + 0.05 < alone.due <= time.monotonic() + 1 / 15


def test_many_texts_share_what_can_be_sent() -> None:
    """Of each there are fewer frames, and as many as before once the others have ended."""
    many = [StreamedText() for _ in range(400)]
    before = time.monotonic()
    many[0].feed("Hello ")
    many[0].news()
    many[0].feed("again ")
    assert many[0].due is not None
    assert many[0].due >= before + 0.4
    many.clear()
    test_alone_a_text_is_sent_fifteen_times_a_second()
