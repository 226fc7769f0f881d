"""A process that is frozen at a write, while another one takes its turn."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.utils import timezone

from chatapp.models import ModelCall, Turn
from chatapp.storage import partial_replies
from tests.chatapp.sockets import Page

# What another process does to the turn of one that is frozen.
LOSSES: dict[str, dict[str, Any]] = {
    "ended": {"status": "interrupted", "finished_at": timezone.now()},
    "taken over": {"owner": "elsewhere/1/1"},
    "taken over in this process": {"attempt": 2},
    "given back": {"owner": ""},
}
# One of them in the ordinary run, the rest in the long one.
ONE_AND_REST = [
    pytest.param(loss, marks=[pytest.mark.soak] if place else [])
    for place, loss in enumerate(LOSSES)
]


def can_be_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process make writes that fail again at once."""
    monkeypatch.setattr(partial_replies, "WAITS", (0.2,) * 10_000)


async def until_frozen(page: Page) -> None:
    """Return once a write was tried in vain."""
    while "could not save" not in (await page.until("panel.changed"))["notice"]:
        pass


def dump() -> dict[str, list[Any]]:
    """Return all that is stored."""
    return {
        model.__name__: [*model._base_manager.order_by("pk").values_list()]
        for model in apps.get_app_config("chatapp").get_models()
    }


async def lose_turn(loss: str) -> dict[str, list[Any]]:
    """Take the turn from its process; return all that is stored then."""
    await Turn.objects.filter(finished_at=None).aupdate(**LOSSES[loss])
    return await sync_to_async(dump)()


async def nothing_was_stored_since(before: dict[str, list[Any]], page: Page) -> None:
    """Fail unless all is as it was, once the process has let go of its turn."""
    await page.until_idle()
    assert await sync_to_async(dump)() == before
    # Nobody else ends the call of a turn that is over: that is done with the turn.
    await ModelCall.objects.filter(status="running").aupdate(status="interrupted")
