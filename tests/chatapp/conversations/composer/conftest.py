"""The workspace that messages name files of, and a conversation that a stand-in answers."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from chatapp.conversations import conversations
from chatapp.models import Conversation, Message
from chatapp.tools.workspace import Workspace
from tests.chatapp.claude import answered_by
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.sockets import Page
from tests.standin.server import Standin

# Where requests look different; elsewhere one vendor stands for all.
EVERY_DOOR = pytest.mark.parametrize(
    "conversation", DOORS, ids=lambda door: door.name, indirect=True
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace, beside a secret."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return Workspace(folder)


@pytest.fixture
def conversation(
    request: pytest.FixtureRequest, alice: User, anthropic_standin: Standin
) -> Conversation:
    """A conversation that the stand-in answers, through one vendor's door or another's."""
    door: Door = getattr(request, "param", DOORS[0])
    profile = answered_by(alice, door.name, door.model, door.url(anthropic_standin))
    return conversations.start_conversation(owner=alice, profile=profile)


async def tell(page: Page, text: str, ids: list[str] | None = None, **more: Any) -> None:
    """Send a message with what is attached, and wait for the end of its turn."""
    nonce = await page.say(text, **({"attachments": ids} if ids else {}), **more)
    await page.until("message.accepted", nonce=nonce)
    await page.until_idle()


async def said(conversation: Conversation) -> Message:
    """Return the newest message of the user."""
    return await conversation.messages.filter(role="user").order_by("-seq").afirst()
