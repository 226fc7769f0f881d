"""A conversation of 300 turns that was imported, and went on here through ten condensations."""

import asyncio
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.contrib.auth.models import User
from django.core.management import call_command

from chatapp.models import Condensation, Conversation, Preferences, accounts
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
    owner = accounts.prepare_owner()
    with Standin(window=WINDOW) as standin:
        profile = answered_by(
            owner, "anthropic", "claude-opus-5", standin.url, context_window=WINDOW
        )
        with preferring(owner, default_profile=profile, threshold=THRESHOLD):
            conversation = _import_session()
            asyncio.run(_go_on(server, conversation))
    return conversation


@contextmanager
def preferring(owner: User, **columns: object) -> Iterator[None]:
    """Change somebody's preferences for a while."""
    mine = Preferences.objects.filter(owner=owner)
    before = accounts.preferences_of(owner)
    mine.update(**columns)
    yield
    mine.update(**{name: getattr(before, name) for name in columns})


def _import_session() -> Conversation:
    with tempfile.TemporaryDirectory(prefix="bench-session-") as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes(session(TURNS, COMPACTIONS))
        call_command("import_transcript", path, stdout=io.StringIO())
    return Conversation.objects.latest("created_at")


async def _go_on(server: Server, conversation: Conversation) -> None:
    """Talk, with a tool now and then, until there are condensations."""
    page = await open_page(server, str(conversation.pk))
    here = Condensation.objects.filter(calls__conversation=conversation).distinct()
    number = 0
    while await here.acount() < CONDENSATIONS:
        number += 1
        await page.say(LONG if number % 3 else 'call list_files {"path": "."}')
    await page.socket.close()
