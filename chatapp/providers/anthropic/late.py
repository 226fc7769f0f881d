"""Rules that people pinned in mid-conversation, as system messages where the model takes those.

Such a message stands behind one of the user's, and nothing before it changes. What a rule quotes
is not one, nor is what only an imported file says to be one: nobody else's words are told with a
system prompt's authority.
"""

from collections.abc import Mapping
from typing import Any

import condense
from chatapp.agent.beside import RULE, is_claimed, stands_for

# Until it is written out, a rule is a block of its own in the user's message.
_APART = "late_system"


def split(message: condense.Message) -> tuple[condense.Message, tuple[condense.Block, ...]]:
    """Return a message and the rules in it, none where it is nothing else."""
    stated = (one for one in message.blocks if stands_for(one) == RULE)
    rules = tuple(one for one in stated if not is_claimed(one))
    rest = tuple(one for one in message.blocks if one not in rules)
    return (message.with_content(rest), rules) if rules and rest else (message, ())


def with_rules(message: condense.Message, rules: tuple[condense.Block, ...]) -> condense.Message:
    """Return the message with its rules apart, at the end."""
    texts = (one.text for one in rules if isinstance(one, condense.TextBlock))
    apart = (condense.OpaqueBlock({"type": _APART, "text": text}) for text in texts)
    return message.with_content((*message.blocks, *apart))


def written_out(said: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return a message as the API takes it, and its rules as one of the system behind it."""
    content = said["content"]
    late = [one for one in content if one.get("type") == _APART] if type(content) is list else []
    if not late:
        return (dict(said),)
    rest = [one for one in content if one not in late]
    system = [{"type": "text", "text": one["text"]} for one in late]
    return {**said, "content": rest}, {"role": "system", "content": system}
