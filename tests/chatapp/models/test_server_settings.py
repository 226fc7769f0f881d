"""Settings of the server: they bind members, and no operator."""

import pytest
from django.contrib.auth.models import User

from chatapp.models import ServerSettings


@pytest.mark.parametrize("is_operator", [True, False])
def test_members_are_bound_and_operators_are_not(alice: User, is_operator: bool) -> None:
    """By limits, and by tools that are denied."""
    ServerSettings(pk=1, denied_tools=["run_command"], requests_per_minute=7).save()
    alice.is_superuser = is_operator
    binding = ServerSettings.binding(alice)
    assert (binding.requests_per_minute, binding.commands_allowed) == (
        (None, True) if is_operator else (7, False)
    )
