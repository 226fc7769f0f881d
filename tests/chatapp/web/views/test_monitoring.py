"""What watches over the server is told whether it lives and may be used, and its numbers."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from chatapp.models import Condensation, Conversation, ModelCall
from chatapp.turns.monitoring import OTHER_KEY
from chatapp.turns.running_turns import running_turns
from tests.chatapp.claude import answered_by
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import open_page
from tests.chatapp.web.api.programs import LONG
from tests.standin.behaviours import UNAUTHORIZED, Gate, Reply
from tests.standin.server import Standin

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
Numbers = dict[tuple[str, ...], float]


def read() -> Numbers:
    """Return each number by its name and the values of its labels, in the order of their names."""
    answer = Client().get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {
        (
            one.name.removeprefix("palimpsest_"),
            *dict(sorted(one.labels.items())).values(),
        ): one.value
        for family in families
        for one in family.samples
    }


def read_apart() -> Numbers:
    """Return the numbers, as a thread reads them that ends."""
    try:
        return read()
    finally:
        connections.close_all()


read_later = sync_to_async(read_apart, thread_sensitive=False)


def test_a_token_lets_in_whoever_has_it(settings: Settings, browser: Client) -> None:
    """A session is none, and neither is half of it; without one set there is nothing."""
    for who in (Client(), browser, Client(headers={"Authorization": "Bearer "})):
        assert who.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = "a long secret"
    for said in ("", "Bearer", "Bearer ", "Bearer a long", "Basic a long secret", "Bearer \xff"):
        for who in (Client(), browser):
            answer = who.get("/metrics", headers={"Authorization": said})
            assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
            assert "palimpsest" not in answer.text
    answer = Client().get("/metrics", headers={"Authorization": "Bearer a long secret"})
    assert answer.status_code == 200
    assert "palimpsest_turns_total" in answer.text


@pytest.mark.django_db(transaction=True)
async def test_what_happens_is_counted_and_nobody_is_named(
    settings: Settings, alice: User, conversation: Conversation, anthropic_standin: Standin
) -> None:
    """Turns, calls, tokens, money and condensations; what runs and who watches, at this moment."""
    settings.ALLOW_METRICS = True
    before = await read_later()
    gate = Gate()
    anthropic_standin.then(Reply("Yes.", gate=gate), UNAUTHORIZED, Reply(SUMMARY))
    async with open_page(conversation, alice) as page:
        await page.say(LONG)
        assert await asyncio.to_thread(gate.wait_until_reached)
        meanwhile = await read_later()
        assert (meanwhile["running_turns",], meanwhile["watchers",]) == (1, 1)
        assert meanwhile["event_loop_lag_seconds",] >= 0
        gate.open()
        await page.until_idle()
        await page.say("And now?")
        await page.until_idle()
        for text in ("The first answer.", "The second answer."):
            await sync_to_async(lambda text=text: end(ask(conversation, LONG), text))()
        await page.send("condense.start", nonce=str(uuid.uuid4()))
        await page.until_idle()
    after = await read_later()
    grown = {name: after[name] - was for name, was in before.items() if name[0].endswith("_total")}
    assert await Condensation.objects.filter(status="succeeded").acount() == 1
    expected = {
        ("turns_total", "succeeded"): 4,
        ("turns_total", "failed"): 1,
        ("turns_total", "stopped"): 0,
        ("model_calls_total", "succeeded", "chat"): 1,
        ("model_calls_total", "failed", "chat"): 1,
        ("model_calls_total", "succeeded", "summary"): 1,
        ("condensations_total", "condensed", "succeeded", "manual"): 1,
    }
    assert expected.items() <= grown.items()
    calls = [call async for call in ModelCall.objects.all()]
    spent = sum(call.cost for call in calls)
    assert grown["cost_usd_total",] == pytest.approx(float(spent))
    written = after["tokens_total", "output"] - before.get(("tokens_total", "output"), 0)
    assert written == sum(call.tokens_output for call in calls)
    text = str(after.keys())
    for name in ("alice", "claude", str(conversation.pk)):
        assert name not in text
    assert (after["running_turns",], after["watchers",]) == (0, 0)


def answer(address: str, browser: Client | None = None) -> tuple[int, str]:
    """Return status and text, in English whatever language is asked for."""
    found = (browser or Client(headers={"Accept-Language": "de"})).get(address)
    assert found["Content-Language"] == "en"
    return found.status_code, found.text


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_without_its_database_it_is_neither(browser: Client, address: str) -> None:
    """Without a trace, which would tell strangers where it lies; with it, it says "ok".

    Somebody who is signed in reads the same.

    A new start brings back no server of databases: while that is away, a process lives.
    """
    assert answer(address) == (200, "ok")
    assert Client().head(address).status_code == 200

    def fail(*_args: Any) -> Any:
        raise OperationalError("disk I/O error")

    lives = address == "/healthz" and connection.vendor == "postgresql"
    with connection.execute_wrapper(fail):
        for who in (None, browser):
            said = answer(address, who)
            assert said == ((200, "ok") if lives else (503, "The database can't be read."))


def test_where_no_turn_can_begin_it_is_alive_and_not_ready(
    db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While it is stopped, on a disk that takes nothing, and before its migrations."""
    with monkeypatch.context() as stopped:
        stopped.setattr(running_turns, "closing", True)
        assert answer("/readyz") == (503, "The server is being stopped.")
    settings.DATA_DIR = tmp_path / "not there"
    assert answer("/readyz") == (503, "The disk can't be written.")
    MigrationRecorder(connection).record_unapplied("chatapp", "0001_squashed_0057_language")
    assert answer("/readyz") == (503, "The database has to be migrated.")
    assert answer("/healthz") == (200, "ok")


def test_where_stored_keys_are_of_another_secret_key_it_says_so(
    alice: User, settings: Settings
) -> None:
    """It is ready all the same: conversations can be read, and other profiles answer."""
    answered_by(alice, "anthropic", "claude-opus-5", "https://example.org")
    assert answer("/readyz") == (200, "ok")
    settings.SECRET_KEY_FALLBACKS, former = [], settings.SECRET_KEY
    settings.SECRET_KEY = "n" * 50
    assert answer("/readyz") == (200, OTHER_KEY)
    settings.SECRET_KEY_FALLBACKS = [former]
    assert answer("/readyz") == (200, "ok")
