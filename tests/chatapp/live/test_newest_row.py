"""The row of the newest message, while its tools run."""

import pytest

from tests.chatapp.sockets import Page
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_call_is_shown_for_the_same_however_many_a_reply_makes(
    anthropic_standin: Standin, page: Page
) -> None:
    """Its own card is sent; the row with all of them once before and once after."""
    sent = []
    for calls in (5, 40):
        listings = [ToolCall("list_files", id=f"toolu_{calls}_{n}") for n in range(calls)]
        anthropic_standin.then(Reply("All of them.", listings), Reply("Done."))
        page.frames.clear()
        await page.ask("Look")
        told = [frame for frame in page.frames if frame["type"] == "article.upserted"]
        cards = [frame["id"] for frame in told if frame["id"].startswith("tool-")]
        assert len(cards) == 2 * calls
        sent.append(sum(len(frame["html"]) for frame in told) / calls)
    assert sent[1] < 1.2 * sent[0]
