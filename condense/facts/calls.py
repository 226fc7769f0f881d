"""Tool calls with what came of them, told by the shape of their arguments."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from condense.facts.plain import result_text
from condense.history.pairs import pair_calls
from condense.messages import Message, ToolResultBlock, ToolUseBlock

Outcome = Literal["ok", "failed", "refused", "unknown"]

# What agents answer where the user said no.
_REFUSED = re.compile(
    r"\s*(?:\[[^\]\n]{0,60}\]\s)?(?:Reason: )?(?:The )?user (?:has )?"
    r"(?:doesn't want|does not want|rejected|denied|declined|refused)"
    r"|[^\n]{0,80}\b(?:rejected|denied|declined|refused|cancell?ed) by (?:the )?user\b"
    r'|\s*\{\s*"status":\s*"(?:denied|rejected|declined|refused)"',
    re.IGNORECASE,
)
# All of these hold one of two words, which is found ten times as fast.
_BEGINNING = 400  # characters
_EXIT_CODE = re.compile(
    r"^\s*(?:Process exited with |Command failed with )?exit code:? [1-9]", re.I
)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call, its arguments, and what was answered."""

    name: str
    arguments: Mapping[str, Any]
    outcome: Outcome
    answer: str = ""


def read_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, Call]]:
    """Yield each call with the message that answers it; those without an answer come last."""
    pairing = pair_calls(messages)
    for pair in pairing.answered:
        yield messages[pair.answered_at], _answered(pair.call, pair.result)
    for place, use in pairing.unanswered:
        yield messages[place], Call(use.name, _arguments(use), "unknown")


def _answered(use: ToolUseBlock, result: ToolResultBlock) -> Call:
    answer = result_text(result)
    return Call(use.name, _arguments(use), _outcome(answer, is_error=result.is_error), answer)


def _arguments(use: ToolUseBlock) -> Mapping[str, Any]:
    return use.input if isinstance(use.input, Mapping) else {}


def _outcome(answer: str, *, is_error: bool) -> Outcome:
    beginning = answer[:_BEGINNING].casefold()
    if ("user" in beginning or '"status"' in beginning) and _REFUSED.match(answer):
        return "refused"
    return "failed" if is_error or _EXIT_CODE.match(answer) else "ok"
