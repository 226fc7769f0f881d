"""What is shown of a file in each language: a sample and its lines, side by side in one file.

SNAPSHOTS=write .venv/bin/python -m pytest tests/condense/folded_files/test_folding_languages.py
"""

import os
from pathlib import Path

import pytest

from condense.folded_files.signatures import LANGUAGES, MARKDOWN, language_of
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
    assert {language_of(file.stem) for file in SAMPLES} == set(LANGUAGES)
    assert {file.stem for file in QUERIES.iterdir()} == set(LANGUAGES) - {MARKDOWN, "tsx"}


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.PY", "python"),
        ("a/b.c.ts", "typescript"),
        ("a.d.ts", "typescript"),
        (".gitignore", None),
        ("Makefile", None),
        ("a.txt", None),
        ("", None),
    ],
)
def test_the_extension_tells_the_language(name: str, language: str | None) -> None:
    """In any case of letters; without one there is none."""
    assert language_of(name) == language


def test_a_short_function_is_shown_and_a_short_object_is_not() -> None:
    """A signature is worth its line at any length; data is shown when it is long."""
    assert definitions("a.py", "def one(): return 1\n") == "# a.py\n1--1 | def one(): return 1\n"
    assert definitions("a.json", '{"one": {\n"two": 3}}') is None


def test_what_stands_above_a_signature_is_left_out() -> None:
    """The range begins at the name: a decorator alone says nothing."""
    assert (
        definitions("a.py", "@cache\n@other\ndef f():\n    pass\n") == "# a.py\n3--4 | def f():\n"
    )
    assert definitions("A.java", "class A {\n@Override\npublic int f() { return 1; }}\n") == (
        "# A.java\n1--3 | class A {\n3--3 | public int f() { return 1; }}\n"
    )


def test_a_line_of_source_is_shown_once() -> None:
    """However many definitions begin on it; the longest range stands."""
    assert definitions("a.js", "class A { m() {\n} }\n") == "# a.js\n1--2 | class A { m() {\n"


def test_a_component_shows_what_its_script_defines() -> None:
    """Rows are those of the whole file."""
    assert "10--12 | function shout" in str(
        definitions("Component.vue", (SAMPLES[0].parent / "Component.vue.txt").read_text())
    )
