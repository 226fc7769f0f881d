"""The rooms of a process, from its first visitor to its orderly stop."""

import uuid

import pytest

from chatapp import services
from chatapp.live.hub import Hub


async def test_nothing_begins_while_the_server_stops() -> None:
    """What would be cut at once is refused; the page keeps its text for the next start."""
    hub = Hub()
    await hub.close()
    with pytest.raises(services.Refused, match="being stopped"):
        async with hub.enter(uuid.uuid4()):
            pass
