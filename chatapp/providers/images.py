"""Images in requests: as many as a server takes, the newest ones."""

from collections.abc import Sequence
from dataclasses import replace

import condense

LEFT_OUT = "[An image, left out here: the server takes no more of them in a request]"


def newest_images(
    messages: Sequence[condense.Message], most: int
) -> tuple[Sequence[condense.Message], int]:
    """Replace all but the ``most`` newest images by text; return also the number that remain."""
    had = 0

    def kept(content: condense.Content | None) -> condense.Content:
        nonlocal had
        blocks: list[condense.Block] = []
        for block in reversed(content if isinstance(content, tuple) else ()):
            had += isinstance(block, condense.ImageBlock)
            if isinstance(block, condense.ToolResultBlock) and isinstance(block.content, tuple):
                blocks.append(replace(block, content=kept(block.content)))
            elif isinstance(block, condense.ImageBlock) and had > most:
                blocks.append(condense.TextBlock(LEFT_OUT))
            else:
                blocks.append(block)
        return tuple(reversed(blocks))

    lighter = []
    for message in reversed(messages):
        before, content = had, kept(message.content)
        lighter.append(message.with_content(content) if had > max(before, most) else message)
    return lighter[::-1] if had > most else messages, min(had, most)
