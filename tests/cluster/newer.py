"""A process of the next version: what it says has names and fields that this one does not know."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, override

import orjson
from django.apps import AppConfig


@dataclass(frozen=True, slots=True)
class EventOfTomorrow:
    """Something that happens in a turn."""

    text: str = "Nobody knows it."


@dataclass(frozen=True, slots=True)
class HintOfTomorrow:
    """Something that all processes are told."""

    conversation: str = ""


class Newer(AppConfig):
    """Has the process speak as the next version does."""

    name = "tests.cluster"
    label = "newer"
    path = str(Path(__file__).parent)

    @override
    def ready(self) -> None:
        # They need the models.
        from chatapp.agent.events import TextStreamed  # noqa: PLC0415
        from chatapp.page.live import channel, redis_channel  # noqa: PLC0415
        from chatapp.page.live.hints import TurnOpened  # noqa: PLC0415

        redis_channel.encode = with_more(redis_channel.encode)  # type: ignore[attr-defined] # its own name
        publisher, redis = redis_channel.RedisPublisher, type(channel.channel)
        publish, tell = publisher.publish, redis.tell

        def publish_more(self: Any, event: Any) -> None:
            if isinstance(event, TextStreamed):
                publish(self, EventOfTomorrow())  # type: ignore[arg-type] # of the next version
            publish(self, event)

        def tell_more(self: Any, hint: Any) -> None:
            if isinstance(hint, TurnOpened):
                tell(self, HintOfTomorrow())  # type: ignore[arg-type] # of the next version
            tell(self, hint)

        publisher.publish = publish_more  # type: ignore[method-assign] # as a newer one would
        redis.tell = tell_more  # type: ignore[method-assign] # as a newer one would


def with_more(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return an encoding that gives each event and hint a field more."""

    def encode_more(told: Any) -> bytes:
        named = orjson.loads(encode(told))
        return orjson.dumps([(name, {**fields, "of_tomorrow": True}) for name, fields in named])

    return encode_more
