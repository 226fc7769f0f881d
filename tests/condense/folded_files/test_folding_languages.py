"""What is shown of a file in each language: a sample and its lines, side by side in one file.

SNAPSHOTS=write .venv/bin/python -m pytest tests/condense/folded_files/test_folding_languages.py
"""

import os
from pathlib import Path

import pytest

from condense.folded_files.signatures import ENDINGS_BY_LANGUAGE, MARKDOWN, language_of
from tests.condense.folded_files.definitions import definitions

SAMPLES = sorted((Path(__file__).parent / "folded").glob("*.txt"))
QUERIES = Path(__file__).parents[3] / "condense" / "folded_files" / "queries"
FOLDED = "=== folded ===\n"


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_a_sample_folds_to_the_lines_below_it(file: Path) -> None:
    """Each definition with its rows and its line of source, and nothing else."""
    source, _, expected = file.read_text("utf-8").partition(FOLDED)
    shown = definitions(file.stem, source)
    if os.environ.get("SNAPSHOTS") == "write":
        file.write_text(f"{source}{FOLDED}{shown}", "utf-8")
        expected = str(shown)
    assert shown == expected


def test_every_language_has_a_sample_and_a_query_file() -> None:
    """None is listed that was never seen to work; Markdown needs none, TSX takes TypeScript's."""
    assert {language_of(file.stem) for file in SAMPLES} == set(ENDINGS_BY_LANGUAGE)
    assert {file.stem for file in QUERIES.iterdir()} == set(ENDINGS_BY_LANGUAGE) - {MARKDOWN, "tsx"}


@pytest.mark.parametrize(
    ("name", "language"),
    [("a.PY", "python"), ("a.d.ts", "typescript"), (".gitignore", None), ("Makefile", None)],
)
def test_the_extension_tells_the_language(name: str, language: str | None) -> None:
    """In any case of letters; without one there is none."""
    assert language_of(name) == language
