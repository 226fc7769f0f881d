"""Images in requests: as many as a server takes, the newest ones."""

from collections.abc import Sequence

import condense

LEFT_OUT = "[An image, left out here: the server takes no more of them in a request]"


def newest_images(
    messages: Sequence[condense.Message], most: int
) -> tuple[Sequence[condense.Message], int]:
    """Replace all but the ``most`` newest images by text; return also the number that remain."""
    blocks = (block for message in messages for block in condense.flat_blocks(message.content))
    had = sum(isinstance(block, condense.ImageBlock) for block in blocks)
    excess = had - most

    def kept(block: condense.Block) -> condense.Block:
        nonlocal excess
        if excess <= 0 or not isinstance(block, condense.ImageBlock):
            return block
        excess -= 1
        return condense.TextBlock(LEFT_OUT)

    return condense.change_blocks(messages, kept) if excess > 0 else messages, min(had, most)
