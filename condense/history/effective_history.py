"""Effective history: the messages that the model sees, derived from the tags of all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from condense.messages import Block, Cleared, Message, OpaqueBlock, ToolResultBlock


@dataclass(frozen=True, slots=True)
class InForce:
    """The ids of all summaries and markers that currently hide something."""

    summaries: frozenset[str]
    markers: frozenset[str]

    @classmethod
    def of(cls, messages: Iterable[Message]) -> "InForce":
        """Collect the ids from a history; one hidden by a later summary is still in force."""
        live = [message.tags for message in messages if not message.taken_back]
        summaries = [tags.condense_id for tags in live if tags.condense_id is not None]
        markers = [tags.truncation_id for tags in live if tags.truncation_id is not None]
        return cls(frozenset(summaries), frozenset(markers))

    def hide(self, message: Message) -> bool:
        """Return True if one of them hides this message."""
        tags = message.tags
        return tags.condense_parent in self.summaries or tags.truncation_parent in self.markers


def effective_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages that the model sees, derived from the tags of a whole history.

    With a summary in force: the last one and the messages after it, without tool results whose call
    is gone; otherwise all messages that no marker in force hides. Each result that a visible marker
    cleared is one line. Costs no more than the part behind the last summary.
    """
    start = _last_summary(messages)
    newest = [messages[index] for index in range(start or 0, len(messages))]
    visible = [message for message in newest if not message.taken_back]
    if start is not None:
        visible = _without_orphans(visible)
    if markers := {one.tags.truncation_id for one in visible} - {None}:
        visible = [one for one in visible if one.tags.truncation_parent not in markers]
    cleared: dict[str, Mapping[str, str]] = {}
    for message in visible:
        for name, lines in message.tags.cleared.items():
            cleared[name] = {**cleared.get(name, {}), **lines}
    return clear_results(visible, cleared) if cleared else tuple(visible)


def messages_since_last_summary(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the last summary in force and the messages after it, or the whole history."""
    start = _last_summary(messages) or 0
    return tuple([messages[index] for index in range(start, len(messages))])


def _last_summary(messages: Sequence[Message]) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].is_summary and not messages[index].taken_back:
            return index
    return None


def _without_orphans(tail: Sequence[Message]) -> list[Message]:
    """Return the messages without results of calls that are gone; drop those left empty."""
    calls = {use.id for message in tail if message.role == "assistant" for use in message.tool_uses}
    known = (calls - {""}) | {None}
    kept: list[Message] = []
    for message in tail:
        if message.role == "assistant" or isinstance(message.content, str):
            kept.append(message)
            continue
        blocks = tuple([block for block in message.content if _called_by(block) in known])
        if blocks:
            is_whole = len(blocks) == len(message.content)
            kept.append(message if is_whole else message.with_content(blocks))
    return kept


def _called_by(block: Block) -> str | None:
    """Return the id of the call that a block answers, None for other blocks."""
    match block:
        case ToolResultBlock(id_) | OpaqueBlock({"type": "tool_result", "tool_use_id": str(id_)}):
            return id_
        case OpaqueBlock({"type": "tool_result"}):
            return ""
    return None


def clear_results(messages: Sequence[Message], cleared: Cleared) -> tuple[Message, ...]:
    """Return the messages with each result that ``cleared`` names replaced by its line.

    A message that changes has no token count of its own any more.
    """
    made: list[Message] = []
    for message in messages:
        if lines := cleared.get(message.id):
            blocks = [
                replace(block, content=lines[block.tool_use_id])
                if isinstance(block, ToolResultBlock) and block.tool_use_id in lines
                else block
                for block in message.blocks
            ]
            made.append(message.with_content(tuple(blocks)))
        else:
            made.append(message)
    return tuple(made)


def replace_hidden(
    effective: Sequence[Message], hidden: Sequence[str], message: Message
) -> tuple[Message, ...]:
    """Return the history with ``message``, a summary or marker, after the last one it hides.

    The messages of a clearing stay, with one line for each result it clears.
    """
    ids = frozenset(hidden)
    last = [place for place, one in enumerate(effective) if one.id in ids][-1]
    before: Sequence[Message] = effective[: last + 1]
    if message.tags.cleared:
        before = clear_results(before, message.tags.cleared)
    else:
        before = [one for one in before if one.id not in ids]
    return (*before, message, *effective[last + 1 :])
