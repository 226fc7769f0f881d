"""Wait for a summary that a person is to review."""

from chatapp.models import Review
from tests.chatapp.sockets import Page


async def until_shown(page: Page) -> Review:
    """Wait until a summary is shown to a person."""
    await page.until("status.changed", waits=True)
    await page.until("panel.changed")
    return await Review.objects.select_related("condensation").aget(status=Review.Status.PENDING)
