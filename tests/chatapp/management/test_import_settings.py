"""``manage.py import_settings``: Roo Code's settings become a user's."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from chatapp.conversations.context.turn_context import budget_for
from chatapp.models import accounts

EXPORT: dict[str, Any] = {
    "providerProfiles": {"apiConfigs": {"Opus": {"id": "x1"}, "Nobody's": {"id": "x2"}}},
    "globalSettings": {
        "autoCondenseContext": False,
        "autoCondenseContextPercent": 80,
        "profileThresholds": {"x1": 60, "x2": 70},
        "customCondensingPrompt": "Name the files.",
    },
}


@pytest.fixture
def opus(alice: User) -> str:
    """Alice has a profile of the same name."""
    accounts.preferences_of(alice)
    alice.profiles.update(name="Opus")
    return "Opus"


def run(folder: Path, data: object) -> tuple[str, str]:
    """Import a file for Alice; return what was printed, and what was complained of."""
    file, out, err = folder / "roo.json", StringIO(), StringIO()
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    call_command("import_settings", str(file), "--user", "alice", stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_settings_of_roo_code_become_the_users(alice: User, opus: str, tmp_path: Path) -> None:
    """Switch, percentage, prompt, and the thresholds of profiles that have the same names."""
    said, complained = run(tmp_path, EXPORT)
    preferences = accounts.preferences_of(alice)
    assert (preferences.auto_condense, preferences.threshold) == (False, 80)
    assert preferences.condensing_prompt == "Name the files."
    budget = budget_for(alice.profiles.get(name=opus), preferences)
    assert (budget.threshold, budget.threshold_source) == (60, "profile")
    assert "Threshold of Opus: 60" in said
    assert "Condensing prompt: own text" in said
    assert 'There is no profile "Nobody\'s"' in complained
    assert "customSupportPrompts.CONDENSE" in complained


def test_what_the_file_does_not_say_stays(alice: User, opus: str, tmp_path: Path) -> None:
    """Also beside what it says; -1 inherits again, and a file without such settings says so."""
    run(tmp_path, EXPORT)
    run(tmp_path, {"globalSettings": {"autoCondenseContextPercent": 70}})
    preferences = accounts.preferences_of(alice)
    assert (preferences.auto_condense, preferences.threshold) == (False, 70)
    assert preferences.condensing_prompt == "Name the files."
    settings = {"profileThresholds": {"x1": -1}, "customSupportPrompts": {"CONDENSE": ""}}
    said, _ = run(tmp_path, {**EXPORT, "globalSettings": settings})
    preferences = accounts.preferences_of(alice)
    assert preferences.condensing_prompt == ""
    assert budget_for(alice.profiles.get(name=opus), preferences).threshold == 70
    assert "Threshold of Opus: inherited" in said
    assert "Condensing prompt: default" in said
    said, complained = run(tmp_path, {"globalSettings": {"language": "de"}})
    assert said == "There was nothing to import.\n"
    assert complained == ""


def test_a_file_that_cannot_be_used_is_refused(alice: User, opus: str, tmp_path: Path) -> None:
    """In one sentence; where the page would refuse a prompt, nothing else is set either."""
    settings = {"autoCondenseContextPercent": 70, "customCondensingPrompt": "x" * 200_001}
    for data, reason in (
        ("{", "is no JSON"),
        ("[]", "are a JSON object"),
        ({"globalSettings": settings}, "condensing_prompt: "),
    ):
        with pytest.raises(CommandError, match=reason):
            run(tmp_path, data)
    assert accounts.preferences_of(alice).threshold == 100


def test_only_somebody_who_is_there_has_settings(db: None, tmp_path: Path) -> None:
    """A file that is not there is told too."""
    (tmp_path / "roo.json").write_text("{}")
    with pytest.raises(CommandError, match="There is no user 'mallory'"):
        call_command("import_settings", str(tmp_path / "roo.json"), "--user", "mallory")
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("import_settings", str(tmp_path / "none.json"))
