"""The system prompt: the conversation's or the profile's words, and the project's AGENTS.md."""

from chatapp.agent.errors import ToolError
from chatapp.agent.prompts import compose_system
from chatapp.models import Conversation, Profile
from chatapp.toolbox.toolbox import folder_of
from chatapp.tools.workspace import Workspace

PROJECT_FILE = "AGENTS.md"

# Characters: they go along with every request.
LONGEST = 32_000


def system_of(conversation: Conversation, profile: Profile) -> str:
    """Return the system prompt with which a conversation's next turn would begin.

    The project's file is read each time; the prompt is the same, byte for byte, while that is.
    """
    own = conversation.system_prompt or profile.system_prompt
    return compose_system(own, read_instructions(conversation))


def read_instructions(conversation: Conversation) -> str:
    """Return what the workspace's AGENTS.md says, "" where there is none that can be read."""
    try:
        text = Workspace(folder_of(conversation)).read_text(PROJECT_FILE).strip()
    except ToolError:
        return ""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[The rest of {PROJECT_FILE} is left out here: read the file.]"
