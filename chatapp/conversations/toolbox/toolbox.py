"""The tools of a conversation: their permissions, their folders, and their services."""

import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from chatapp.agent.ports import Access, Line, ToolPolicy, ToolSpec
from chatapp.conversations.toolbox import mcp_servers
from chatapp.conversations.toolbox.history_search import StoredHistory
from chatapp.models import Conversation, McpServer, Profile
from chatapp.models.errors import Refused
from chatapp.project.network import Guard
from chatapp.project.sentences import translate as _
from chatapp.tools import TOOL_SPECS, WorkspaceToolbox
from chatapp.tools.long_outputs import Outputs
from chatapp.tools.mcp.pool import RemoteTool
from chatapp.tools.search_history import HiddenMessages
from chatapp.tools.shell import Shell
from condense import open_folder

OWN, SAMPLES = "users", "samples"

# Kinds of access that need the files to be kept, and a folder of one's own.
CHANGES_FILES = frozenset({Access.WRITE, Access.EXECUTE})

# Pages of the public web only, also where profiles may have other addresses.
WEB = Guard(allow_private=False)


def workspace_of(conversation: Conversation, *, make: bool = True) -> Path:
    """Return the folder of the conversation's tools; ``make`` creates a missing one.

    Raises Refused for a folder that the owner may not read any more, and for links.
    """
    chosen = conversation.workspace or conversation.pk.hex
    folder = place_of(chosen)
    try:
        if not _is_allowed(conversation):
            raise NotADirectoryError(chosen)
        with suppress(FileNotFoundError), open_folder(folder, make=make):
            pass
    except (NotADirectoryError, PermissionError) as error:
        raise no_folder(conversation.owner_id, chosen) from error
    return folder


def folder_of(conversation: Conversation) -> Path:
    """Return the path of the chosen workspace, existing or not; the own one if it is forbidden."""
    own = conversation.pk.hex
    return place_of((conversation.workspace or own) if _is_allowed(conversation) else own)


def place_of(folder: str) -> Path:
    """Return the path of a folder below WORKSPACES_ROOT; shared folders may be links."""
    first, *rest = PurePath(folder).parts
    place = Path(settings.WORKSPACES_ROOT).resolve() / first
    return (place.resolve() if first in _shared() else place).joinpath(*rest)


def no_folder(owner: int, folder: str) -> Refused:
    """Return the error for a missing or forbidden folder."""
    words = _(
        "You have no workspace folder {folder}. Yours lie in {own} on the server.",
        folder=folder[:100],
        own=f"{OWN}/{owner}",
    )
    return Refused(words)


def _is_allowed(conversation: Conversation) -> bool:
    return is_own(conversation) or may_read(conversation.owner_id, conversation.workspace)


def may_read(owner: int, folder: str) -> bool:
    """Return True if a user's conversations may read a folder below WORKSPACES_ROOT."""
    match PurePath(folder).parts:
        case parts if ".." in parts or folder.startswith("/"):
            return False
        case (first, number, *_rest) if first == OWN:
            return number == str(owner)
        case (first, *_rest) if first != OWN:
            if first in _shared():
                return True
            try:
                is_a_conversation_s = Conversation.objects.filter(pk=uuid.UUID(first)).exists()
            except ValueError:
                is_a_conversation_s = False
            # As it is stored now: a page may be open, and a turn go on, for days.
            runs_server = User.objects.filter(pk=owner, is_superuser=True).exists()
            return runs_server and not is_a_conversation_s
    return False


def _shared() -> set[str]:
    return {SAMPLES, *settings.SHARED_WORKSPACES}


def policies_of(conversation: Conversation | None, profile: Profile) -> Mapping[str, ToolPolicy]:
    """Return the decisions about tools by name: the conversation's, else the profile's.

    Agents change no files that several users see, and members use no tools that operators deny. A
    tool of an MCP server that changed since its owner saw it is asked about.
    """
    own = conversation.tool_policies if conversation else {}
    specs = specs_for(profile.mcp_servers)
    decided = {**profile.tool_policies, **own}.items()
    policies = {name: ToolPolicy(policy) for name, policy in decided if name in specs}
    for server in profile.mcp_servers:
        for one in server.definitions:
            if one.tool in server.unseen and policies.get(one.name) is ToolPolicy.ALLOW:
                policies[one.name] = ToolPolicy.ASK
    if conversation and conversation.workspace and _is_shared(conversation):
        changing = [name for name, one in specs.items() if one.access in CHANGES_FILES]
        policies |= dict.fromkeys(changing, ToolPolicy.DENY)
    return policies | dict.fromkeys(profile.binding.denied_tools, ToolPolicy.DENY)


def specs_for(own: Collection[McpServer]) -> dict[str, ToolSpec]:
    """Return all tools that exist with these servers, by name."""
    return TOOL_SPECS | mcp_servers.specs_of(own) if own else TOOL_SPECS


def _is_shared(conversation: Conversation) -> bool:
    """Return True if the workspace is one of the server's, and the owner no operator."""
    is_users = conversation.workspace.partition("/")[0] == OWN
    return not (is_users or is_own(conversation) or conversation.owner.is_superuser)


def is_own(conversation: Conversation) -> bool:
    """Return True if the workspace is that of the conversation, or of another of its owner's."""
    if not conversation.workspace:
        return True
    try:
        other = uuid.UUID(hex=conversation.workspace)
    except ValueError:
        return False
    return Conversation.objects.filter(pk=other, owner=conversation.owner_id).exists()


def policy_of(name: str, conversation: Conversation, profile: Profile) -> ToolPolicy:
    """Return the policy for a tool in a conversation as it is stored now."""
    if decided := policies_of(conversation, profile).get(name):
        return decided
    spec = specs_for(profile.mcp_servers).get(name)
    return spec.default_policy if spec else ToolPolicy.DENY


def toolbox_for(
    folder: Path, conversation: Conversation | None, profile: Profile, zone: str = ""
) -> WorkspaceToolbox:
    """Return the tools of a conversation for a folder; None stands for a new conversation.

    Days are those of the time ``zone``. In files that others see, no MCP server runs as a command.
    """
    pk = conversation.pk if conversation else uuid.UUID(int=0)
    offers: dict[type[Any], Callable[[Line], Any]] = {
        Line: lambda line: line,
        Guard: lambda _line: WEB,
        HiddenMessages: lambda _line: StoredHistory(pk, zone),
    }
    foreign: Mapping[str, RemoteTool] = {}
    if servers := profile.mcp_servers:
        commands = not (conversation and _is_shared(conversation))
        foreign = mcp_servers.tools_of(servers, folder, outputs_of(pk), commands=commands)
    if settings.ALLOW_COMMANDS:
        offers[Shell] = lambda line: Shell(folder, outputs_of(pk), line)
    if settings.ALLOW_COMMANDS or foreign:
        offers[Outputs] = lambda _line: Outputs(outputs_of(pk))
    policies = policies_of(conversation, profile)
    return WorkspaceToolbox(folder, offers=offers, policies=policies, foreign=foreign)


def outputs_of(conversation_id: uuid.UUID) -> Path:
    """Return the folder that keeps long outputs of a conversation's commands."""
    return Path(settings.DATA_DIR) / "outputs" / conversation_id.hex


def offered(conversation: Conversation | None, profile: Profile) -> tuple[ToolSpec, ...]:
    """Return the tools that the model may call."""
    return toolbox_for(Path(), conversation, profile).specs
