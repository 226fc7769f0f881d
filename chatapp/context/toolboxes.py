"""Which tools a conversation has, whether they may run, and what they work with."""

from collections.abc import Mapping
from pathlib import Path

from chatapp.agent.ports import Policy
from chatapp.models import Conversation, Profile
from chatapp.tools import Offers, WorkspaceToolbox, tool_specs
from chatapp.tools.ports import Person

# What tools may ask for besides the folder.
OFFERS: Offers = {Person: lambda line: line}


def policies_of(conversation: Conversation | None, profile: Profile) -> Mapping[str, Policy]:
    """Return by name what was decided about tools: for the conversation, else for the profile."""
    own = conversation.tool_policies if conversation else {}
    decided = {**profile.tool_policies, **own}
    specs = tool_specs()
    return {name: Policy(policy) for name, policy in decided.items() if name in specs}


def policy_of(name: str, conversation: Conversation, profile: Profile) -> Policy:
    """Return whether a tool may run in a conversation as it is stored now."""
    spec = tool_specs().get(name)
    decided = policies_of(conversation, profile).get(name)
    return decided or (spec.default_policy if spec else Policy.ALLOW)


def toolbox_for(
    folder: Path, conversation: Conversation | None, profile: Profile
) -> WorkspaceToolbox:
    """Return the tools of a conversation for a folder."""
    policies = policies_of(conversation, profile)
    return WorkspaceToolbox(folder, offers=OFFERS, policies=policies)


def offered(conversation: Conversation | None, profile: Profile) -> tuple[str, ...]:
    """Return the names of the tools that the model is told about."""
    return tuple(spec.name for spec in toolbox_for(Path(), conversation, profile).specs)
