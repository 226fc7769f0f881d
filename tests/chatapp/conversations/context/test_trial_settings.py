"""Other settings than those in force: each changes what it names, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from chatapp.conversations.context.trial_settings import Variant
from chatapp.models import Conversation, Profile
from tests.chatapp.runs import run_in


@pytest.mark.parametrize(
    ("own", "wanted", "preferences", "profile"),
    [
        (-1, {}, {"strategy": ""}, {}),
        (-1, {"threshold": 60.2}, {"strategy": "", "threshold": 60, "adaptive": False}, {}),
        (90, {"threshold": 60.2}, {"strategy": ""}, {"threshold": 60}),
        (90, {"threshold": 90.4}, {"strategy": ""}, {}),
        (-1, {"strategy": "ledger"}, {"strategy": "ledger"}, {}),
        (-1, {"strategy": "clear"}, {"clear_tool_output": True}, {}),
        (-1, {"prompt": "In short."}, {"condensing_prompt": "In short.", "strategy": ""},
         {"condensing_prompt": None}),
    ],
)  # fmt: skip
def test_only_what_is_another_is_changed(
    conversation: Conversation, own: int, wanted: Any, preferences: Any, profile: Any
) -> None:
    """A threshold where it is set now: in the settings, or in a profile that has its own."""
    Profile.objects.update(threshold=own)
    terms = run_in(conversation)
    variant = replace(Variant.in_force(terms), **wanted)
    assert (variant.preferences(terms), variant.profile(terms)) == (preferences, profile)
    assert round(variant.of(terms).budget().threshold) == round(variant.threshold)
