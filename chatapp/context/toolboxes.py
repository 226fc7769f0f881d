"""Which tools a conversation has, and what they work with."""

from collections.abc import Mapping
from pathlib import Path

from chatapp.agent.ports import Policy
from chatapp.tools import WorkspaceToolbox, tool_specs


def policies_in_force() -> Mapping[str, Policy]:
    """Return by name which tools may run: what would need a person's word may not."""
    specs = tool_specs().items()
    return {name: Policy.DENY for name, spec in specs if spec.default_policy is not Policy.ALLOW}


def toolbox_for(folder: Path) -> WorkspaceToolbox:
    """Return the tools for a folder."""
    return WorkspaceToolbox(folder, policies=policies_in_force())


def offered() -> tuple[str, ...]:
    """Return the names of the tools that the model is told about."""
    return tuple(spec.name for spec in toolbox_for(Path()).specs)
