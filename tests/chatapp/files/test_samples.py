"""A newcomer's first look tells one story: the context folds once, and the answer knows it all."""

import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from chatapp.condensation import undo
from chatapp.conversations import conversations
from chatapp.files import workspaces
from chatapp.models import Condensation, Conversation, McpServer, Message, Turn
from chatapp.turns import assembly
from chatapp.views.conversations import EXAMPLES
from tests.chatapp.sockets import open_page

pytestmark = pytest.mark.django_db(transaction=True)


def begin(alice: User, tools: int) -> Conversation:
    """Return the example's conversation, with so many tools of a server beside the usual ones."""
    listed = [
        {
            "tool": f"search_{number}",
            "name": f"docs__search_{number}",
            "description": "Search all documents by meaning; return the best passages. " * 5,
            "schema": {"type": "object", "properties": {}},
            "read_only": True,
        }
        for number in range(tools)
    ]
    now = timezone.now()
    McpServer.objects.create(
        owner=alice, name="docs", address="https://mcp.example.org", tools=listed, listed_at=now
    )
    return conversations.start_conversation(owner=alice, workspace=workspaces.SAMPLES)


@pytest.mark.parametrize("tools", [0, 12])
async def test_the_first_example_folds_once_and_answers_from_all_it_read(
    alice: User, tools: int
) -> None:
    """By itself, in mid-turn; what a summary says was read is not read again, and not forgotten.

    However many tools there are, the originals fit again where it is undone.
    """
    conversation = await sync_to_async(begin)(alice, tools)
    files = {path.name for path in assembly.workspace_of(conversation).iterdir()}
    async with open_page(conversation, alice) as page:
        await page.say(str(EXAMPLES[0]["prompt"]))
        await page.until_idle()
    turn = await Turn.objects.aget()
    assert (turn.status, turn.error) == (Turn.Status.SUCCEEDED, "")
    folded = await Condensation.objects.aget()
    assert (folded.status, folded.trigger) == (Condensation.Status.SUCCEEDED, "auto")
    # One to list them, again after the summary, one for each file, the summary, and the answer.
    assert await turn.calls.acount() == len(files) + 4
    answer = await Message.objects.filter(role="assistant").order_by("-seq").afirst()
    assert answer is not None
    assert answer.seq > folded.at_seq
    text = answer.content[0]["text"]
    told = dict(re.findall(r"^- `(\S+)`: (.+)$", text, re.MULTILINE))
    assert told.keys() == files
    assert "web chat" in told["README.md"]
    assert f"{len(files) - 1} files, is hidden" in text
    assert "Undo condensation" in text
    await sync_to_async(undo.undo_condensation)(condensation=folded)
    assert (await Condensation.objects.aget()).status == Condensation.Status.UNDONE
