"""The registry of background jobs: each is an ``async def``, imported when it first runs."""

from typing import Any

from django.utils.module_loading import import_string

JOBS: dict[str, str] = {
    "check_draft": "chatapp.turns.follow_ups.check_draft",
    "condense_idle": "chatapp.turns.follow_ups.condense_idle",
    "follow_turn": "chatapp.turns.follow_ups.follow_turn",
    "import_files": "chatapp.importers.import_files",
    "name_conversation": "chatapp.turns.follow_ups.name_after",
    "seal_audit": "chatapp.maintenance.audit_seals.seal_audit",
    "write_draft": "chatapp.turns.follow_ups.write_draft",
}

# Those that take minutes: a worker does one at a time, which takes no other job's place.
LONG_JOBS = frozenset({"import_files", "seal_audit"})


class UnknownJob(LookupError):
    """No job has this name: a newer process may have enqueued it."""


async def run(name: str, arguments: dict[str, Any]) -> None:
    """Run a job to its end."""
    if name not in JOBS:
        raise UnknownJob(name)
    await import_string(JOBS[name])(**arguments)
