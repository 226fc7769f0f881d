"""Signed blocks: thinking and compactions, which only the model that wrote them can read.

Newer models sign their thinking over what stands before it. After a change of what the model sees,
the thinking behind the change is not sent any more: the tag ``unbound`` of its message says so.
"""

from collections.abc import Callable, Iterable, Sequence

from condense.messages import Block, Message, OpaqueBlock, TextBlock

THINKING = ("thinking", "redacted_thinking")


def is_thinking(block: Block) -> bool:
    """Whether a block is reasoning, signed for the model and settings that wrote it."""
    return isinstance(block, OpaqueBlock) and block.data.get("type") in THINKING


def count_thinking(messages: Iterable[Message]) -> int:
    """Return how many blocks of thinking in some messages are still sent."""
    bound = [message for message in messages if not message.tags.unbound]
    return sum([is_thinking(block) for message in bound for block in message.blocks])


def without_thinking(message: Message) -> Message:
    """Return the message without any thinking."""
    blocks = tuple([block for block in message.blocks if not is_thinking(block)])
    return message if len(blocks) == len(message.blocks) else message.with_content(blocks)


def behind(effective: Sequence[Message], hidden: Iterable[str]) -> Sequence[Message]:
    """Return what stays of an effective history behind the first message that is hidden."""
    ids = frozenset(hidden)
    places = [place for place, one in enumerate(effective) if one.id in ids]
    first = places[0] if places else len(effective)
    return [message for message in effective[first:] if message.id not in ids]


def unbind(
    messages: Iterable[Message], is_behind: Callable[[Message], bool]
) -> tuple[Message, ...]:
    """Return the messages with the thinking in those behind a change no longer to be sent."""
    return tuple(
        [
            one.with_tags(unbound=True) if count_thinking((one,)) and is_behind(one) else one
            for one in messages
        ]
    )


def is_compaction(block: Block) -> bool:
    """Whether a block is a provider's compaction; it goes first, and unchanged or not at all."""
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
