"""What the command and the paths in a message stand for, read while nothing else waits for it."""

import asyncio

import condense
from chatapp.composer import attachments, slash_commands
from chatapp.models import Conversation
from chatapp.models.read_executor import reading


async def bring(conversation: Conversation, text: str, *, strict: bool) -> attachments.Brought:
    """Return what a message brings; unless ``strict``, what is not understood is text.

    Raises Unclear where it is.
    """
    blocks: list[condense.Block] = []
    if text.lstrip().startswith("/"):
        blocks += await reading(slash_commands.directive_in)(conversation, text, strict=strict)
    if "@" in text:
        add = slash_commands.mentioned_in
        blocks += await asyncio.to_thread(add, conversation, text, strict=strict)
    return (
        await asyncio.to_thread(attachments.Brought.by, text, blocks)
        if blocks
        else attachments.NOTHING
    )
