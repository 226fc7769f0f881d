"""What the command and the paths in a message stand for, read while nothing else waits for it."""

import asyncio

import condense
from chatapp import services
from chatapp.models import Conversation
from chatapp.models.reading import reading


async def bring(conversation: Conversation, text: str, *, strict: bool) -> services.Brought:
    """Return what a message brings; unless ``strict``, what is not understood is text.

    Raises services.Unclear where it is.
    """
    blocks: list[condense.Block] = []
    if text.lstrip().startswith("/"):
        blocks += await reading(services.directive_in)(conversation, text, strict=strict)
    if "@" in text:
        add = services.mentioned_in
        blocks += await asyncio.to_thread(add, conversation, text, strict=strict)
    return (
        await asyncio.to_thread(services.Brought.by, text, blocks) if blocks else services.NOTHING
    )


async def missing_from(conversation: Conversation, text: str) -> str:
    """Return a sentence on the paths in a message that lead nowhere, "" without any."""
    if "@" not in text:
        return ""
    return await asyncio.to_thread(services.missing_from, conversation, text)
