"""Images in requests: as many as a server takes, the newest ones."""

import base64
from collections.abc import Sequence
from dataclasses import replace

import condense

LEFT_OUT = "[An image, left out here: this server takes fewer in one request]"
# In a request with more images than this none may be larger, in pixels a side.
MANY, LARGE = 20, 2_000
# Characters of base64 in which the size stands.
_HEAD = 350_000


def newest_images(
    messages: Sequence[condense.Message], most: int, *, many: int | None = None
) -> tuple[Sequence[condense.Message], int]:
    """Return the messages with text for all but the ``most`` newest images, and how many remain.

    Where one is LARGE there may only be as ``many``.
    """
    found = [image for message in messages for image in _images(message.content)]
    if many is not None and len(found) > many and any(map(_is_large, found)):
        most = min(most, many)
    surplus = len(found) - most
    if surplus <= 0:
        return messages, len(found)
    lighter = []
    for message in messages:
        content, surplus = _without(message.content, surplus)
        same = content is message.content
        lighter.append(message if same else message.with_content(content))
    return lighter, most


def _images(content: condense.Content | None) -> list[condense.ImageBlock]:
    found: list[condense.ImageBlock] = []
    for block in content if isinstance(content, tuple) else ():
        if isinstance(block, condense.ImageBlock):
            found.append(block)
        elif isinstance(block, condense.ToolResultBlock):
            found += _images(block.content)
    return found


def _is_large(image: condense.ImageBlock) -> bool:
    data = image.source.get("data")
    head = base64.b64decode(data[:_HEAD] + "==") if isinstance(data, str) else b""
    size = condense.image_size(head)
    return size is not None and max(size) > LARGE


def _without(content: condense.Content, surplus: int) -> tuple[condense.Content, int]:
    """Return the content without so many of its first images, and how many have still to go."""
    if surplus <= 0 or not _images(content):
        return content, surplus
    blocks: list[condense.Block] = []
    for block in content if isinstance(content, tuple) else ():
        if isinstance(block, condense.ImageBlock) and surplus > 0:
            blocks.append(condense.TextBlock(LEFT_OUT))
            surplus -= 1
        elif isinstance(block, condense.ToolResultBlock) and block.content:
            within, surplus = _without(block.content, surplus)
            blocks.append(replace(block, content=within))
        else:
            blocks.append(block)
    return tuple(blocks), surplus
