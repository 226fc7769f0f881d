"""What became of a fact, as a receipt has it."""

from typing import Literal

import condense


def finding(
    text: str,
    state: condense.FactState | Literal["missing"],
    kind: condense.FactKind = "commands",
    **rest: bool,
) -> condense.Finding:
    """Return what became of one fact."""
    return condense.Finding(kind, text, text, state=state, **rest)
