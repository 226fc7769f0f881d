"""No frame is larger than a line may carry, and nothing is lost for that."""

import json
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from chatapp.conversations.toolbox import toolbox
from chatapp.models import Conversation, Message
from chatapp.page.live import outgoing_frames
from tests.chatapp.sockets import Page
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

OWL = "🦉"


def encoded(frame: outgoing_frames.Frame) -> list[dict[str, Any]]:
    """Return what is sent for a frame, none of it too large."""
    texts = outgoing_frames.encode(frame)
    assert all(len(text.encode()) <= outgoing_frames.LARGEST_FRAME for text in texts)
    return [json.loads(text) for text in texts]


def test_a_frame_that_fits_or_is_stored_nowhere_is_sent_as_it_is() -> None:
    """As nearly all do, and the words of an answer that could not be saved."""
    frame = outgoing_frames.article_upserted("message-1", "x" * 800_000)
    assert encoded(frame) == [frame]
    frame = outgoing_frames.article_upserted("unsaved-1", "x" * 1_000_000)
    assert [json.loads(text) for text in outgoing_frames.encode(frame)] == [frame]


@pytest.mark.parametrize("letter", ["x", '"', OWL, "\u0001"])
def test_a_stored_row_that_does_not_fit_is_fetched(letter: str) -> None:
    """Bytes count, not characters."""
    frame = outgoing_frames.article_upserted("message-1", letter * 1_000_000)
    assert encoded(frame) == [{"type": "transcript.changed", "revision": None}]


@pytest.mark.parametrize("letter", ["x", OWL])
def test_streamed_blocks_that_do_not_fit_come_in_several_frames(letter: str) -> None:
    """Each goes on where the one before ended; what is open comes last."""
    blocks = [f"<p>{number} {letter * 100_000}</p>" for number in range(40)]
    parts = encoded(
        outgoing_frames.text_streamed("streaming", index=7, closed=blocks, open_="<p>z</p>")
    )
    shown = [""] * 7
    for part in parts:
        assert part["index"] == len(shown)
        shown += part["closed"]
    assert shown[7:] == blocks
    assert [part["open"] for part in parts] == [""] * (len(parts) - 1) + ["<p>z</p>"]


def test_the_open_block_takes_room_as_well() -> None:
    """It comes in a frame of its own if the last closed ones leave none."""
    closed, open_ = "中" * 190_000, "文" * 190_000
    first, last = encoded(outgoing_frames.text_streamed("s", index=3, closed=[closed], open_=open_))
    assert (first["index"], first["closed"], first["open"]) == (3, [closed], "")
    assert (last["index"], last["closed"], last["open"]) == (4, [], open_)


def test_a_block_that_does_not_fit_alone_keeps_its_place() -> None:
    """It comes with the finished row; the blocks after it stay where they are."""
    blocks = ["<p>a</p>", "x" * 2_000_000, "<p>b</p>"]
    [part] = encoded(
        outgoing_frames.text_streamed("streaming", index=0, closed=blocks, open_="y" * 2_000_000)
    )
    assert part["closed"] == ["<p>a</p>", "<p>…</p>", "<p>b</p>"]
    assert part["open"] == "<p>…</p>"


def test_a_snapshot_that_does_not_fit_has_the_page_fetch_its_rows() -> None:
    """The rest of it arrives."""
    panel = outgoing_frames.panel(bar="", due="", condensing="", written="", notice="", now=1.0)
    [part] = encoded(
        outgoing_frames.snapshot(
            outgoing_frames.PageProgress("a", 1),
            revision=3,
            turn="b",
            status="Writing…",
            articles=[("message-1", "x" * 2_000_000)],
            panel=panel,
        )
    )
    assert (part["revision"], part["articles"], part["status"]) == (None, [], "Writing…")


def largest(page: Page) -> int:
    """Return the bytes of the largest frame that came."""
    return max(len(json.dumps(frame, ensure_ascii=False).encode()) for frame in page.frames)


@pytest.mark.django_db(transaction=True)
async def test_eight_large_results_at_once_fit_and_can_be_shown_in_full(
    conversation: Conversation, browser: Client, anthropic_standin: Standin, page: Page
) -> None:
    """The page has the beginning of each, the server the rest."""
    line = "0123456789abcdefghijklmnopqrstuvwxyz <&>\n"
    folder: Path = await sync_to_async(toolbox.workspace_of)(conversation)
    (folder / "large.txt").write_text(line * 1_950)
    calls = tuple(ToolCall("read_file", {"path": "large.txt"}, id=f"c{n}") for n in range(8))
    anthropic_standin.then(Reply(tools=calls), Reply("Read."))
    idle = await page.ask("Read it eight times.")
    assert idle["text"] == "Done."
    assert largest(page) <= outgoing_frames.LARGEST_FRAME

    asked = {"call": "c7", "part": "result"}
    address = reverse("call_text", args=[conversation.pk, 2])
    whole = await sync_to_async(browser.get)(address, asked)
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert whole.text.count("0123456789abcdef") == 1_950


@pytest.mark.django_db(transaction=True)
async def test_a_message_that_is_too_long_is_refused_with_the_limit(
    conversation: Conversation, settings: LazySettings, page: Page
) -> None:
    """And one that is just not too long is stored."""
    nonce = await page.say("x" * 500_001)
    refused = await page.until("refused", nonce=nonce)
    assert "it has 500,001 characters, and a message can have 500,000" in refused["reason"]
    assert not await Message.objects.filter(conversation=conversation).aexists()
    nonce = await page.say("x " * 250_000)
    await page.until("message.accepted", nonce=nonce)
    await page.until_idle()
    assert largest(page) <= outgoing_frames.LARGEST_FRAME
