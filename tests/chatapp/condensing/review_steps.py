"""What a person does about a summary: wait until it is shown, and answer as the page does."""

from asgiref.sync import sync_to_async
from django.http import HttpResponse
from django.test import Client

from chatapp.models import Review
from tests.chatapp.sockets import Page


async def until_shown(page: Page) -> Review:
    """Wait until a summary is shown to a person."""
    await page.until("status.changed", waits=True)
    await page.until("panel.changed")
    return await Review.objects.select_related("condensation").aget(status=Review.Status.PENDING)


async def answer(
    client: Client, review: Review, decision: str, what: str = "", **fields: str
) -> HttpResponse:
    """Say something to a summary as the page does."""
    pk = review.condensation.conversation_id
    post = sync_to_async(client.post)
    sent = {"decision": decision, **fields}
    return await post(f"/c/{pk}/reviews/{review.pk}/{what}", sent, headers={"HX-Request": "true"})
