"""Strategies by name: those of the package, those of other packages, and those registered."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import condense
from condense.budget.situation import Kind
from condense.reduction.strategy import ByRule
from condense.registry import Entry, Registry
from tests.condense.bench import Bench, talk

ROOT = Path(__file__).parents[3]


class Own(ByRule):
    """Truncates as somebody else wants it."""

    name = "own"
    label = "own way"
    description = "Hides what it likes."
    kind: Kind = "truncated"

    def __init__(self, fraction: float = 0.5) -> None:
        self.fraction = fraction

    async def reduce(self, situation: condense.Situation, kit: condense.Kit) -> condense.Reduction:
        return await condense.load_strategy("sliding_window", fraction=self.fraction).reduce(
            situation, kit
        )


async def test_what_is_registered_is_found_until_it_is_taken_back() -> None:
    """By its name."""
    condense.register_strategy(Own)
    assert condense.load_strategy("own", fraction=0.7).fraction == 0.7  # type: ignore[attr-defined]
    assert Own in condense.known_strategies()
    assert await Bench(strategies=("own",)).fit(talk(12)) is not None
    condense.unregister_strategy("own")
    with pytest.raises(LookupError, match=r"'own'; there are clear, .*sliding_window\."):
        condense.load_strategy("own")
    with pytest.raises(LookupError, match="No strategy 'own' was registered"):
        condense.unregister_strategy("own")


def test_a_typo_is_told_and_what_is_no_strategy_is_refused() -> None:
    """With what was probably meant; names are listed by priority, then by the alphabet."""
    with pytest.raises(LookupError, match=r"Did you mean 'sliding_window'\?"):
        condense.load_strategy("slidng_window")
    for path in ("no.such.Strategy", "condense.strategies.Nothing"):
        with pytest.raises(LookupError, match=f"at '{path}': .*by name there are clear"):
            condense.load_strategy(path)
    with pytest.raises(TypeError, match="Bench is no strategy: it has no name, kind, label"):
        condense.register_strategy(Bench)
    registry = Registry("toy", lambda: [Entry("ball", lambda: "a ball"), Entry("ace", lambda: "a")])
    registry.register("zebra", "a zebra", priority=2)
    registry.register("ball", "a better ball")
    registry.register("ball", "a worse ball", priority=-1)
    assert registry.names() == ("zebra", "ace", "ball")
    assert registry.all() == ["a zebra", "a", "a better ball"]


PLUGIN = """
from condense.strategies.sliding_window import SlidingWindow

class Plugged(SlidingWindow):
    name = "plugged"

class Bad:
    name = "bad"
"""
POINTS = """
[palimpsest.strategies]
plugged = plugin:Plugged
ledger = plugin:Plugged
broken = no_such_module:Thing
bad = plugin:Bad
"""
TRY = """
import condense, json
print(json.dumps({
    "plugged": type(condense.load_strategy("plugged")).__module__,
    "ledger": type(condense.load_strategy("ledger")).__module__,
    "known": [one.name for one in condense.known_strategies()],
}))
"""


def test_an_installed_package_offers_its_strategies_as_entry_points(tmp_path: Path) -> None:
    """Beside those of the package, which it cannot replace; one that is broken breaks no other."""
    folder = tmp_path / "plugin-1.dist-info"
    folder.mkdir()
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(POINTS)
    found = subprocess.run(
        [sys.executable, "-c", TRY],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    names = [one.name for one in condense.built_in_strategies()]
    assert json.loads(found.stdout) == {
        "plugged": "plugin",
        "ledger": "condense.strategies.ledger",
        "known": [*names, "plugged"],
    }
    assert "broken cannot be loaded" in found.stderr
