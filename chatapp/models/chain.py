"""The arithmetic of the audit chain, as docs/audit.md tells it to whoever wants to check one."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

# Stands in all that is hashed; another way to hash gets another name.
FORMAT = "palimpsest audit 1"


def written(value: Any) -> str:
    """Return a JSON value as it is hashed: keys in order, no spaces, all letters as they are."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def moment(at: datetime) -> str:
    """Return a time as it is hashed, in UTC."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def beginning(conversation: str) -> str:
    """Return what stands for the hash before the first entry of a conversation's chain."""
    return _hashed(written([FORMAT, conversation]))


def link(
    conversation: str, *, number: int, kind: str, at: datetime, payload: str, previous: str
) -> str:
    """Return the hash of an entry."""
    said = [FORMAT, conversation, number, kind, moment(at), payload, previous]
    return _hashed(written(said))


def commit(salt: str, content: Any) -> str:
    """Return the digest that stands for a content, and says nothing of it without the salt."""
    return _hashed(salt + written(content))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
