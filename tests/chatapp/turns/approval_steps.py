"""What a person does about a question: wait until it is asked, and answer it as the page does."""

from asgiref.sync import sync_to_async
from django.http import HttpResponse
from django.test import Client

from chatapp.models import Question, Turn
from chatapp.turns.running_turns import running_turns
from tests.chatapp.observers import ELSEWHERE
from tests.chatapp.sockets import Page
from tests.standin.rules import blocks_of
from tests.standin.server import Standin


async def until_asked(page: Page) -> Question:
    """Wait until the turn waits for a person, and return what it asks."""
    await page.until("status.changed", waits=True)
    return await Question.objects.select_related("turn").aget(status="pending")


async def answer(
    client: Client, question: Question, decision: str, words: str = ""
) -> HttpResponse:
    """Answer a question as the page does."""
    address = f"/c/{question.turn.conversation_id}/questions/{question.pk}/"
    send = sync_to_async(client.post)
    return await send(
        address, {"decision": decision, "words": words}, headers={"HX-Request": "true"}
    )


def result_of(standin: Standin) -> str:
    """Return what the model was told of its last call."""
    return str(blocks_of(standin.requests[-1].body["messages"][-1])[0]["content"])


async def restart() -> None:
    """Do what a stop and a start of the server do, as far as one process can."""
    running_turns.closing = False
    for task in [*running_turns.turns.values()]:
        task.leave("The server was stopped.")
        await task.ended()
    running_turns.cleared_up = False
    await Turn.objects.aupdate(owner=ELSEWHERE)


async def start_again() -> None:
    """Clear up as a server does when it starts."""
    running_turns.cleared_up = False
    await running_turns.clear_up()
