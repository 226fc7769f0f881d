"""Messages that wait, as a page shows them."""

import re
from typing import Any

from tests.chatapp.sockets import Page


def chips(frame: dict[str, Any]) -> list[str]:
    """Return the texts of the messages that a frame shows as waiting."""
    html = frame["queue"] if frame["type"] == "snapshot" else frame["html"]
    return re.findall(r'<span class="queued-text"[^>]*>(.*?)</span>', html)


async def shows(page: Page, *texts: str) -> None:
    """Wait until a page shows these messages as waiting, and no others."""
    told = ("snapshot", "queue.changed")
    latest = next(frame for frame in reversed(page.frames) if frame["type"] in told)
    while chips(latest) != [*texts]:
        latest = await page.until("queue.changed")
