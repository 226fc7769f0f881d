"""One value for all that can be set, and Roo Code's settings as one."""

from dataclasses import replace
from typing import Any

import pytest

import condense
from condense.testing import RecordingLog, ScriptedSummarizer, WordCounter
from tests.condense.bench import talk, veto
from tests.condense.dialogues import numbered

TALK = numbered(talk(11))
SIZE = condense.TokenCount(22_000)


async def test_a_configuration_makes_a_condenser_that_works_so() -> None:
    """Strategies, policy, hooks, prompt, buffer, thresholds and the user's switch."""
    wanted = condense.Configuration(
        strategies=("sliding_window",),
        thresholds=(condense.Fixed(50),),
        prompt="Mine.",
        policy=condense.Policy(small_window=0),
    )
    log, budget = RecordingLog(), wanted.budget(26_000, 100)
    condenser = wanted.condenser(ScriptedSummarizer("S"), WordCounter(), log=log)
    made = await condenser.fit(wanted.situation(TALK, SIZE, budget))
    assert made.strategy == "sliding_window"
    assert log.names == ["started", "succeeded"]
    other = replace(
        wanted, strategies=condense.ladder_from("fresh_start"), hooks=condense.Hooks(before=(veto,))
    )
    situation = other.situation(TALK, SIZE, budget, trigger=condense.Trigger.MANUAL)
    with pytest.raises(condense.Vetoed):
        await other.condenser(ScriptedSummarizer("S"), WordCounter()).fit(situation)
    assert situation.prompt == "Mine."
    off = condense.Configuration(automatic=False, thresholds=(condense.Fixed(50),), buffer=0.05)
    budget = off.budget(26_000, 100)
    assert budget.allowed == pytest.approx(24_600)
    condenser = off.condenser(ScriptedSummarizer("S"), WordCounter())
    assert await condenser.fit(off.situation(TALK, SIZE, budget)) is None
    wanted = condense.Configuration(
        thresholds=(condense.PerProfile({"p": 70}), condense.Adaptive(), condense.Fixed(90))
    )
    assert wanted.budget(100_000, 10_000, profile="p").threshold_source == "profile"
    assert wanted.budget(100_000, 10_000, history=TALK).threshold_source == "adaptive"
    assert wanted.budget(100_000, 10_000).threshold == 90


def export(profiles: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """Return a file as Roo Code exports it."""
    configs = profiles or {"Opus": {"id": "x1"}, "Local": {"id": "x2"}}
    return {
        "globalSettings": settings,
        "providerProfiles": {"currentApiConfigName": "Opus", "apiConfigs": configs},
    }


def test_what_an_export_says_of_condensing_is_read() -> None:
    """Thresholds by names of profiles; one that the file does not hold goes by its id."""
    found = condense.read_roo_settings(
        export(
            autoCondenseContext=False,
            autoCondenseContextPercent=80,
            profileThresholds={"x1": 60, "x2": -1},
            customSupportPrompts={"CONDENSE": " Mine. ", "ENHANCE": "Other."},
        )
    )
    assert found == condense.RooSettings(
        automatic=False, threshold=80, profiles={"Opus": 60, "Local": -1}, prompt="Mine."
    )
    made = found.configuration()
    assert (made.automatic, made.prompt) == (False, "Mine.")
    assert made.budget(100_000, profile="Opus").threshold == 60
    assert made.budget(100_000, profile="Local").threshold == 80
    found = condense.read_roo_settings({"profileThresholds": {"default": 70}})
    assert found.profiles == {"default": 70}
    assert "default" in found.notes[0]


def test_what_is_not_said_stays_as_it_is() -> None:
    """A file that speaks of other things changes nothing; what is no object is refused."""
    base = condense.Configuration(prompt="Mine.", automatic=False, thresholds=(condense.Fixed(70),))
    for data in ({}, export(), {"globalSettings": None, "providerProfiles": []}):
        found = condense.read_roo_settings(data)
        assert found == condense.RooSettings()
        made = found.configuration(base)
        assert (made.prompt, made.automatic) == ("Mine.", False)
        assert made.budget(100_000).threshold == 70
    for refused in (None, "x"):
        with pytest.raises(condense.CondenseError, match="JSON object"):
            condense.read_roo_settings(refused)


def condensing(new: Any) -> dict[str, Any]:
    """Return settings with a prompt in the old place, and one in the new place."""
    return {"customCondensingPrompt": "Old.", "customSupportPrompts": {"CONDENSE": new}}


@pytest.mark.parametrize(
    ("settings", "prompt", "said"),
    [
        ({"customCondensingPrompt": "Old."}, "Old.", "is taken for"),
        (condensing("New."), "New.", "is not used"),
        ({"customSupportPrompts": {"CONDENSE": ""}}, "", ""),
        ({"customSupportPrompts": {"CONDENSE": 7}}, None, ""),
    ],
)
def test_an_old_prompt_moves_to_its_new_place(
    settings: dict[str, Any], prompt: str | None, said: str
) -> None:
    """Unless there is one already; a blank one means the default."""
    found = condense.read_roo_settings(export(**settings))
    assert found.prompt == prompt
    assert said in " ".join(found.notes)
    assert bool(found.notes) == bool(said)


@pytest.mark.parametrize("value", [4, 101, "80", True, 10**400])
def test_a_percentage_that_is_none_is_noted_and_not_used(value: Any) -> None:
    """Everywhere and for a profile."""
    found = condense.read_roo_settings(
        export(autoCondenseContextPercent=value, profileThresholds={"x1": value})
    )
    assert (found.threshold, dict(found.profiles)) == (None, {})
    first, second = found.notes
    assert first.startswith("autoCondenseContextPercent is ")
    assert second.startswith("profileThresholds.x1 is ")
    assert len(first) < 150
