"""Which tools a conversation has, whether they may run, and what they work with."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from chatapp.agent.tool_port import Access, Line, Policy, ToolSpec
from chatapp.models import Conversation, McpServer, Profile
from chatapp.network.address_guard import Guard
from chatapp.toolbox import mcp_servers
from chatapp.toolbox.history_search import StoredHistory
from chatapp.tools import Foreign, WorkspaceToolbox, tool_specs
from chatapp.tools.long_outputs import Outputs
from chatapp.tools.ports import History, Person
from chatapp.tools.shell import Shell

# What needs files to be kept as they were, and none but one's own.
CHANGES_FILES = frozenset({Access.WRITE, Access.EXECUTE})

# Pages of the public web only, whatever profiles may name.
WEB = Guard(allow_private=False)


def workspace_of(conversation: Conversation) -> Path:
    """Return the folder the conversation's tools may read, made when it is missing."""
    folder = folder_of(conversation)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def folder_of(conversation: Conversation) -> Path:
    """Return where the conversation's workspace is, or would be."""
    return Path(settings.WORKSPACES_ROOT) / (conversation.workspace or conversation.pk.hex)


def policies_of(conversation: Conversation | None, profile: Profile) -> Mapping[str, Policy]:
    """Return by name what was decided about tools: for the conversation, else for the profile.

    Files that several users see are changed by none of their agents.
    """
    own = conversation.tool_policies if conversation else {}
    decided = {**profile.tool_policies, **own}
    specs = specs_for(profile.mcp_servers)
    policies = {name: Policy(policy) for name, policy in decided.items() if name in specs}
    for name in mcp_servers.unseen(profile.mcp_servers):
        if policies.get(name) is Policy.ALLOW:
            policies[name] = Policy.ASK
    if conversation and _is_shared(conversation):
        policies |= {
            name: Policy.DENY for name, one in specs.items() if one.access in CHANGES_FILES
        }
    return policies


def specs_for(own: Iterable[McpServer]) -> dict[str, ToolSpec]:
    """Return all tools that there are for whom these servers are, by name."""
    return {**tool_specs(), **mcp_servers.specs_of(own)}


def _is_shared(conversation: Conversation) -> bool:
    """Whether the workspace is one of the server's, and the owner none who runs it."""
    is_users = conversation.workspace.partition("/")[0] == "users"
    return not (is_users or is_own(conversation) or conversation.owner.is_superuser)


def is_own(conversation: Conversation) -> bool:
    """Whether the workspace is the conversation's, or that of another one of its owner."""
    if not conversation.workspace:
        return True
    try:
        other = uuid.UUID(hex=conversation.workspace)
    except ValueError:
        return False
    return Conversation.objects.filter(pk=other, owner=conversation.owner_id).exists()


def policy_of(name: str, conversation: Conversation, profile: Profile) -> Policy:
    """Return whether a tool may run in a conversation as it is stored now."""
    spec = specs_for(profile.mcp_servers).get(name)
    decided = policies_of(conversation, profile).get(name)
    return decided or (spec.default_policy if spec else Policy.ALLOW)


def toolbox_for(
    folder: Path, conversation: Conversation | None, profile: Profile
) -> WorkspaceToolbox:
    """Return the tools of a conversation for a folder."""
    foreign = _foreign(folder, conversation, profile)
    offers = _offers(folder, conversation)
    if settings.ALLOW_COMMANDS or foreign:
        offers[Outputs] = lambda _line: Outputs(outputs_of(_pk(conversation)))
    policies = policies_of(conversation, profile)
    return WorkspaceToolbox(folder, offers=offers, policies=policies, foreign=foreign)


def _foreign(
    folder: Path, conversation: Conversation | None, profile: Profile
) -> Mapping[str, Foreign]:
    """Return the tools of MCP servers; in files that others see, none runs as a command."""
    commands = not (conversation and _is_shared(conversation))
    outputs = outputs_of(_pk(conversation))
    return mcp_servers.tools_of(profile.mcp_servers, folder, outputs, commands=commands)


def _pk(conversation: Conversation | None) -> uuid.UUID:
    return conversation.pk if conversation else uuid.UUID(int=0)


def _offers(
    folder: Path, conversation: Conversation | None
) -> dict[type[Any], Callable[[Line], Any]]:
    """Return what tools may ask for besides the folder."""
    pk = _pk(conversation)
    offers: dict[type[Any], Callable[[Line], Any]] = {
        Person: lambda line: line,
        Guard: lambda _line: WEB,
        History: lambda _line: StoredHistory(pk),
    }
    if settings.ALLOW_COMMANDS:
        offers[Shell] = lambda line: Shell(folder, outputs_of(pk), line)
    return offers


def outputs_of(conversation_id: uuid.UUID) -> Path:
    """Return the folder where long outputs of a conversation's commands are kept."""
    return Path(settings.DATA_DIR) / "outputs" / conversation_id.hex


def offered(conversation: Conversation | None, profile: Profile) -> tuple[ToolSpec, ...]:
    """Return the tools that the model is told about."""
    return toolbox_for(Path(), conversation, profile).specs
