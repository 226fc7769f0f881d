"""What a provider made of a history: a block signed for one model, with text that all can read."""

from condense.messages import Block, Message, OpaqueBlock, TextBlock


def is_compaction(block: Block) -> bool:
    """Whether a block is a provider's compaction; it goes first, and unchanged or not at all."""
    return isinstance(block, OpaqueBlock) and block.data.get("type") == "compaction"


def without_compaction(message: Message) -> Message:
    """Return the message with a compaction's readable text in its place, for any other reader."""
    if not any(map(is_compaction, message.blocks)):
        return message
    texts = (_as_text(block) for block in message.blocks)
    return message.with_content(tuple(block for block in texts if block))


def _as_text(block: Block) -> Block | None:
    if not (isinstance(block, OpaqueBlock) and is_compaction(block)):
        return block
    return TextBlock(block.said) if block.said else None
