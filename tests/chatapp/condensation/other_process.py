"""Jobs as another process does them: on an event loop of its own, which tells this one nothing."""

import asyncio
import uuid

from django.db import connections

from chatapp.condensation import draft_writer


async def write_draft(conversation: str) -> None:
    """Write a draft there."""
    await asyncio.to_thread(_write, uuid.UUID(conversation))


def _write(conversation_id: uuid.UUID) -> None:
    try:
        asyncio.run(draft_writer.write_draft(conversation_id))
    finally:
        connections.close_all()


async def leave_draft(conversation: str) -> None:
    """Have none written: no worker is free."""
