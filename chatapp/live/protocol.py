"""The WebSocket's messages: the only file that knows the wire's JSON keys.

Browser → server: ``message.send``, ``turn.retry``, ``turn.continue``, ``turn.regenerate``,
``turn.stop``, ``condense.start``, ``condense.cancel``.
Server → browser: everything under "frames" below. A frame that shows something carries HTML made by
the page's own templates; every frame is idempotent, so that one sent twice does no harm.
"""

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import condense

SIGN_IN_REQUIRED = 4401
NOT_YOURS = 4403

# Bytes of one message to the browser; servers and proxies cut the line at a megabyte or more.
LARGEST_FRAME = 900_000

# Characters of HTML in one part of a message that has to be parted; a character is 4 bytes at most.
LARGEST_PART = 200_000

# Bytes of one message to the server: the longest text, as JSON at its worst.
LARGEST_COMMAND = 4 * 1024 * 1024

# The page has a shorter field.
LONGEST_FOCUS = 2_000

# What the ids of rows begin with whose messages are stored.
STORED = "message-"

Frame = dict[str, Any]


class BadFrame(Exception):
    """The browser sent something that is not part of the protocol."""


@dataclass(frozen=True, slots=True)
class SendMessage:
    """``text`` starts a turn; ``nonce`` makes a repeated send harmless.

    ``replaces`` is the seq of an earlier message of the user that this one is an edit of.
    """

    text: str
    nonce: uuid.UUID
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class TakeUp:
    """Start a turn without a new message: ``how`` is "retry", "continue" or "regenerate".

    ``seq`` is the answer to regenerate.
    """

    how: str
    nonce: uuid.UUID
    seq: int = 0


@dataclass(frozen=True, slots=True)
class StopTurn:
    """Stop what runs: the turn, and a condensation within it."""


@dataclass(frozen=True, slots=True)
class StartCondensing:
    """Condense now; ``focus`` says what the summary should dwell on."""

    focus: str = ""


@dataclass(frozen=True, slots=True)
class CancelCondensing:
    """Cancel the condensation that runs, and nothing else."""


Command = SendMessage | TakeUp | StopTurn | StartCondensing | CancelCondensing


def decode(text: str) -> Command:
    """Return the command in one text frame; raise BadFrame for anything else."""
    try:
        match condense.well_formed_json(json.loads(text)):
            case {"type": "message.send", "text": str(text), "nonce": str(nonce), **rest}:
                replaces = rest.get("replaces")
                if not isinstance(replaces, int | None):
                    raise BadFrame("replaces is a number")
                return SendMessage(text, uuid.UUID(nonce), replaces)
            case {
                "type": "turn.retry" | "turn.continue" | "turn.regenerate" as name,
                "nonce": str(nonce),
                "seq": int(seq),
            }:
                return TakeUp(name.removeprefix("turn."), uuid.UUID(nonce), seq)
            case {"type": "turn.stop"}:
                return StopTurn()
            case {"type": "condense.start", **rest}:
                return StartCondensing(str(rest.get("focus", ""))[:LONGEST_FOCUS])
            case {"type": "condense.cancel"}:
                return CancelCondensing()
    except (ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from error
    raise BadFrame("unknown type")


# Frames


def snapshot(
    *, revision: int, running: bool, status: str, articles: Sequence[tuple[str, str]], panel: Frame
) -> Frame:
    """Everything a page needs to show the present: sent first on every connection.

    ``articles`` are (element id, HTML) of what is being written; ``panel`` is a ``panel`` frame.
    A page whose transcript has another ``revision`` fetches it again.
    """
    return {
        "type": "snapshot",
        "revision": revision,
        "running": running,
        "status": status,
        "articles": [{"id": id_, "html": html} for id_, html in articles],
        "panel": panel,
    }


def article_upserted(id_: str, html: str) -> Frame:
    """Replace the element ``id_``, or append it to the transcript."""
    return {"type": "article.upserted", "id": id_, "html": html}


def article_removed(id_: str) -> Frame:
    """Remove the element ``id_`` if it is there."""
    return {"type": "article.removed", "id": id_}


def text_streamed(id_: str, *, index: int, closed: Sequence[str], open_: str) -> Frame:
    """Show streamed markdown: blocks from ``index`` on are final, ``open_`` is being written."""
    return {
        "type": "text.streamed",
        "id": id_,
        "index": index,
        "closed": list(closed),
        "open": open_,
    }


def code_streamed(id_: str, *, index: int, at: int, text: str) -> Frame:
    """Put ``text`` at ``at`` (UTF-16 units) into the open code block ``index``; nothing follows it.

    A page in which this block is closed, or does not reach so far, has newer news, and ignores it.
    """
    return {"type": "code.streamed", "id": id_, "index": index, "at": at, "text": text}


def transcript_changed(revision: int | None) -> Frame:
    """Ask the page to fetch its transcript again, unless it has this revision."""
    return {"type": "transcript.changed", "revision": revision}


def panel(*, bar: str, condensing: str, written: str, notice: str, now: float) -> Frame:
    """Replace the context bar, the "Condensing context…" band, and the notice at the composer.

    ``written`` says how far the summary is. Moments in the HTML are in Unix seconds of the server's
    clock, which shows ``now``: so a band that goes on is the same HTML, and stays in its place.
    """
    return {
        "type": "panel.changed",
        "bar": bar,
        "condensing": condensing,
        "written": written,
        "notice": notice,
        "now": now,
    }


def condensing_progressed(written: str) -> Frame:
    """Say in the band how far the summary is."""
    return {"type": "condensing.progressed", "written": written}


def status_changed(text: str, *, running: bool) -> Frame:
    """Announce what goes on; ``running`` decides between Send and Stop."""
    return {"type": "status.changed", "text": text, "running": running}


def message_accepted(nonce: uuid.UUID) -> Frame:
    """Tell the sender that its message is stored, so the composer may be cleared."""
    return {"type": "message.accepted", "nonce": str(nonce)}


def refused(reason: str, *, nonce: uuid.UUID | None = None) -> Frame:
    """Tell the sender why its command was not carried out; its text is kept."""
    return {"type": "refused", "reason": reason, "nonce": str(nonce) if nonce else None}


# Fitting


def encode(frame: Frame) -> Iterator[str]:
    """Yield the frame as the text of a WebSocket message, none larger than LARGEST_FRAME.

    Where it does not fit it becomes several, or word to fetch what the server has stored.
    """
    text = json.dumps(frame, ensure_ascii=False)
    if _fits(text, LARGEST_FRAME):
        yield text
    else:
        for part in _smaller(frame):
            yield json.dumps(part, ensure_ascii=False)


def _fits(text: str, size: int) -> bool:
    return 4 * len(text) <= size or len(text.encode()) <= size


def _smaller(frame: Frame) -> Iterator[Frame]:
    match frame:
        case {"type": "snapshot"}:
            yield {**frame, "revision": None, "articles": []}
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
