"""Puts compiled catalogues into the wheel."""

import subprocess
import sys
from typing import Any, override

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledMessages(BuildHookInterface[Any]):
    """Compiles them first."""

    @override
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what has changed."""
        subprocess.run([f"{self.root}/.ci/compile_messages", sys.executable], check=True)
