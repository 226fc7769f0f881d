"""Why the prompt cache could not be used, as the API's cache diagnostics tell it."""

import json
from collections.abc import Mapping
from typing import Any

from tests.standin.metering import count_text
from tests.standin.thinking import unmarked

Body = Mapping[str, Any]


class Diagnosis:
    """Compares each request with the one before it, by the id of the reply to that."""

    def __init__(self) -> None:
        """Begin without any request."""
        self._bodies: dict[str, Body] = {}

    def compare(self, body: Body, id_: str) -> dict[str, Any] | None:
        """Return the reply's ``diagnostics``, and remember the request that it answers."""
        self._bodies[id_] = body
        previous = (body.get("diagnostics") or {}).get("previous_message_id")
        if previous is None:
            return None
        reason = self._reason(self._bodies.get(previous), body)
        return {"cache_miss_reason": reason} if reason else None

    def _reason(self, before: Body | None, body: Body) -> dict[str, Any] | None:
        if before is None:
            return {"type": "previous_message_not_found"}
        known, asked = unmarked(before["messages"]), unmarked(body["messages"])
        missed = count_text(json.dumps(known))
        for name in ("model", "system", "tools"):
            if unmarked(before.get(name)) != unmarked(body.get(name)):
                return {"type": f"{name}_changed", "cache_missed_input_tokens": missed}
        if asked[: len(known)] != known:
            return {"type": "messages_changed", "cache_missed_input_tokens": missed}
        return None
