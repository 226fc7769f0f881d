"""Frames that fit through the line: one that is too large becomes several, or word to fetch."""

from collections.abc import Iterator

from chatapp.live.frames import Frame, encode, text_streamed, transcript_changed

# Bytes of one message to the browser; servers and proxies cut the line at a megabyte or more.
LARGEST_FRAME = 900_000

# Characters of HTML in one part of a message that has to be parted; a character is 4 bytes at most.
LARGEST_PART = 200_000

# What the ids begin with of rows whose messages are stored, and of their cards.
STORED = ("message-", "tool-")


def parts(frame: Frame) -> Iterator[Frame]:
    """Yield the frame as frames none of which is larger than LARGEST_FRAME.

    Where it does not fit it becomes several, or word to fetch what the server has stored.
    """
    if _fits(frame):
        yield frame
    else:
        yield from _smaller(frame)


def _fits(frame: Frame) -> bool:
    # With its number it is a little longer.
    size = LARGEST_FRAME - 100
    return _at_most(frame) <= size or len(encode(frame).encode()) <= size


def _at_most(value: object) -> int:
    """Return bytes that a value never exceeds as JSON, where a character has six at most."""
    match value:
        case str():
            return 6 * len(value) + 4
        case dict():
            return sum(_at_most(key) + _at_most(one) for key, one in value.items())
        case list():
            return sum(map(_at_most, value))
    return 40


def _smaller(frame: Frame) -> Iterator[Frame]:
    match frame:
        case {"type": "snapshot"}:
            yield {**frame, "revision": None, "articles": [], "streamed": None}
            if frame["streamed"]:
                yield from _in_parts(frame["streamed"])
        case {"type": "text.streamed"}:
            yield from _in_parts(frame)
        case {"type": "article.upserted", "id": str(id_)} if not id_.startswith(STORED):
            # Nobody else has what was not saved.
            yield frame
        case _:
            yield transcript_changed(None)


def _in_parts(frame: Frame) -> Iterator[Frame]:
    """Yield streamed blocks a few at a time; one that is too large comes with the stored row."""
    blocks = [_short(html) for html in frame["closed"]]
    id_, index, size = frame["id"], frame["index"], 0
    part: list[str] = []
    for html in blocks:
        size += len(html)
        if part and size > LARGEST_PART:
            yield text_streamed(id_, index=index, closed=part, open_="")
            index, size, part = index + len(part), len(html), []
        part.append(html)
    yield text_streamed(id_, index=index, closed=part, open_=_short(frame["open"]))


def _short(html: str) -> str:
    return html if len(html) <= LARGEST_PART else "<p>…</p>"
