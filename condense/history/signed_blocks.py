"""Signed blocks: thinking and compactions, which only the model that wrote them can read.

Newer models sign their thinking over all messages before it. After a change of the effective
history, the thinking behind the change is not sent any more: its message has the tag ``unbound``.
"""

from collections.abc import Callable, Iterable, Sequence

from condense.messages import Block, Message, OpaqueBlock, TextBlock, beside_of, retagged

THINKING = ("thinking", "redacted_thinking")
# The key in a thought's notes for the place it came from. Unless the thought is "bound" to the text
# before it, the application sends it there, with or without a signature.
ORIGIN = "origin"


def is_thinking(block: Block) -> bool:
    """Return True if a block is reasoning, signed for the model and settings that wrote it."""
    return isinstance(block, OpaqueBlock) and block.data.get("type") in THINKING


def has_origin(block: Block) -> bool:
    """Return True for thinking that goes back to its origin after any change before it."""
    notes = beside_of(block) if is_thinking(block) else {}
    return ORIGIN in notes and not notes.get("bound")


def without_thinking(message: Message, *, but: Callable[[Block], bool] | None = None) -> Message:
    """Return the message without any thinking, ``but`` for blocks that this accepts."""
    blocks = tuple([one for one in message.blocks if not is_thinking(one) or (but and but(one))])
    return message if len(blocks) == len(message.blocks) else message.with_content(blocks)


def count_thinking_behind(effective: Sequence[Message], hidden: Iterable[str]) -> int:
    """Return the number of blocks of thinking still sent after the first hidden message."""
    ids = frozenset(hidden)
    places = [place for place, one in enumerate(effective) if one.id in ids]
    behind = effective[places[0] :] if places else ()
    bound = [one for one in behind if not (one.tags.unbound or one.id in ids)]
    blocks = [block for message in bound for block in message.blocks]
    return sum([is_thinking(block) and not has_origin(block) for block in blocks])


def stop_sending_thinking(
    messages: Iterable[Message], is_behind: Callable[[Message], bool]
) -> tuple[Message, ...]:
    """Return the messages, with those that ``is_behind`` a change tagged ``unbound``."""
    return retagged(
        messages, lambda one: any(map(is_thinking, one.blocks)) and is_behind(one), unbound=True
    )


def is_compaction(block: Block) -> bool:
    """Return True if a block is a provider's compaction; it goes first, unchanged or not at all."""
    return isinstance(block, OpaqueBlock) and block.data.get("type") == "compaction"


def without_compaction(message: Message) -> Message:
    """Return the message with a compaction's readable text in its place, for any other reader."""
    if not any(map(is_compaction, message.blocks)):
        return message
    blocks: list[Block] = []
    for block in message.blocks:
        if not (isinstance(block, OpaqueBlock) and is_compaction(block)):
            blocks.append(block)
        elif block.said:
            blocks.append(TextBlock(block.said))
    return message.with_content(tuple(blocks))
