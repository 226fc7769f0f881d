"""A conversation of 300 turns that was imported, and went on here through ten condensations."""

import asyncio
import io
import tempfile
from pathlib import Path

from django.core.management import call_command

from chatapp import services
from chatapp.models import Condensation, Conversation, Preferences
from tests.bench.server import Server, open_page
from tests.chatapp.claude import answered_by
from tests.sessions import session
from tests.standin.server import Standin

TURNS, COMPACTIONS = 300, 7
CONDENSATIONS = 10
WINDOW, THRESHOLD = 24_000, 50
# 3,750 tokens: of a context that begins at some 5,000 two make 12,000.
LONG = " ".join(map(str, [*range(100, 725)] * 3))


def make_long(server: Server) -> Conversation:
    """Return it, made over the data of a server: its file is imported, and a stand-in answers."""
    with Standin(window=WINDOW) as standin:
        conversation = import_session(standin.url)
        asyncio.run(_go_on(server, conversation))
    return conversation


def import_session(url: str, **preferences: object) -> Conversation:
    """Import the session's file; what answers at this address has a window that is soon full."""
    owner = services.prepare_owner()
    wanted = services.preferences_of(owner)
    profile = answered_by(owner, "anthropic", "claude-opus-5", url, context_window=WINDOW)
    before = wanted.default_profile
    _prefer(wanted, default_profile=profile, threshold=THRESHOLD, **preferences)
    with tempfile.TemporaryDirectory(prefix="bench-session-") as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes(session(TURNS, COMPACTIONS))
        call_command("import_transcript", path, stdout=io.StringIO())
    _prefer(wanted, default_profile=before)
    return Conversation.objects.latest("created_at")


def _prefer(wanted: Preferences, **columns: object) -> None:
    for name, value in columns.items():
        setattr(wanted, name, value)
    wanted.save()


async def _go_on(server: Server, conversation: Conversation) -> None:
    """Talk, with a tool now and then, until there are condensations."""
    page = await open_page(server, str(conversation.pk))
    here = Condensation.objects.filter(calls__conversation=conversation).distinct()
    number = 0
    while await here.acount() < CONDENSATIONS:
        number += 1
        await page.say(LONG if number % 3 else 'call list_files {"path": "."}')
    await page.socket.close()
