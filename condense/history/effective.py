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
        """Collect them from a history; one hidden by a later summary is still in force."""
        live = [message.tags for message in messages if message.in_force]
        return cls(
            frozenset(tags.condense_id for tags in live if tags.condense_id is not None),
            frozenset(tags.truncation_id for tags in live if tags.truncation_id is not None),
        )

    def hide(self, message: Message) -> bool:
        """Whether one of them names itself as what hides this message."""
        tags = message.tags
        return tags.condense_parent in self.summaries or tags.truncation_parent in self.markers


def effective_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return what the model sees, derived from the tags of a whole history.

    With a summary in force: the last one and what follows it, without tool results whose call is
    gone; otherwise all messages that no marker in force hides. What visible markers cleared is one
    line each. Costs no more than the part behind the last summary.
    """
    visible = _visible(messages)
    return clear_results(visible, _cleared_by(visible))


def _visible(messages: Sequence[Message]) -> tuple[Message, ...]:
    start = _last_summary(messages)
    if start is None:
        present = [message for message in messages if not message.taken_back]
        in_force = InForce.of(present)
        return tuple(message for message in present if not in_force.hide(message))
    tail = _without_orphans([m for m in _from(messages, start) if not m.taken_back])
    markers = InForce.of(tail).markers
    return tuple(message for message in tail if message.tags.truncation_parent not in markers)


def messages_since_last_summary(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the last summary in force and all that follows it, or the whole history."""
    return tuple(_from(messages, _last_summary(messages) or 0))


def _last_summary(messages: Sequence[Message]) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].is_summary and messages[index].in_force:
            return index
    return None


def _from(messages: Sequence[Message], start: int) -> Iterable[Message]:
    return (messages[index] for index in range(start, len(messages)))


def _without_orphans(tail: Sequence[Message]) -> list[Message]:
    calls = {use.id for message in tail if message.role == "assistant" for use in message.tool_uses}
    calls.discard("")
    kept = (_with_known_results(message, calls) for message in tail)
    return [message for message in kept if message.role == "assistant" or message.content != ()]


def _with_known_results(message: Message, calls: set[str]) -> Message:
    if message.role != "user" or isinstance(message.content, str):
        return message
    blocks = tuple(block for block in message.content if not _is_orphan(block, calls))
    return message if len(blocks) == len(message.content) else message.with_content(blocks)


def _is_orphan(block: object, calls: set[str]) -> bool:
    if isinstance(block, ToolResultBlock):
        return block.tool_use_id not in calls
    return isinstance(block, OpaqueBlock) and (
        block.data.get("type") == "tool_result" and block.data.get("tool_use_id") not in calls
    )


def _cleared_by(visible: Iterable[Message]) -> Cleared:
    """Return what all visible markers clear together."""
    cleared: dict[str, Mapping[str, str]] = {}
    for message in visible:
        for name, lines in message.tags.cleared.items():
            cleared[name] = {**cleared.get(name, {}), **lines}
    return cleared


def clear_results(messages: Sequence[Message], cleared: Cleared) -> tuple[Message, ...]:
    """Return the messages with each result that ``cleared`` names replaced by its line.

    A message that changes has no token count of its own any more.
    """
    if not cleared:
        return tuple(messages)
    return tuple(
        _with_lines(one, cleared[one.id]) if one.id in cleared else one for one in messages
    )


def _with_lines(message: Message, lines: Mapping[str, str]) -> Message:
    return message.with_content(tuple(_line(block, lines) for block in message.blocks))


def _line(block: Block, lines: Mapping[str, str]) -> Block:
    if isinstance(block, ToolResultBlock) and block.tool_use_id in lines:
        return replace(block, content=lines[block.tool_use_id])
    return block
