"""An attempt to condense as it stands on record, for tests and for what they begin with."""

from chatapp.models import Condensation, Conversation

USUAL = {
    "status": "succeeded",
    "kind": "condensed",
    "strategy": "fresh_start",
    "trigger": "manual",
    "threshold": 90,
    "threshold_source": "global",
    "context_window": 200_000,
    "allowed": 171_808,
    "profile_name": "Offline",
    "model": "offline",
    "tokens_before": 900,
    "tokens_before_measured": False,
}


def put_on_record(conversation: Conversation, **columns: object) -> Condensation:
    """Return the record of a condensation by hand that succeeded, but for these columns."""
    return Condensation.objects.create(conversation=conversation, **USUAL | columns)
