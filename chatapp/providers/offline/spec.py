"""The stand-in: one model, free of charge, in a small window."""

from chatapp.providers.specs import ModelSpec, ProviderSpec
from condense import noop

SPEC = ProviderSpec(
    name="offline",
    label=noop("Offline"),
    factory="chatapp.providers.offline.provider:OfflineProvider",
    needs_key=False,
    names_conversations=False,
    writes_at_once=True,
    # Small, so that a condensation can be seen within a few messages.
    models=(
        ModelSpec(
            "offline", "Offline stand-in", context_window=16_000, max_output=4_000, images=False
        ),
    ),
)
