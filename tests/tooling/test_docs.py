"""What the documents claim is true of the code."""

import ast
import re
from dataclasses import fields
from inspect import iscoroutine
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from django.core.management import get_commands

import condense
from chatapp.operations import processes
from chatapp.providers import provider_specs
from chatapp.storage import partial_replies

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")),
)


def read(name: str) -> str:
    """Return a document's text."""
    return (ROOT / name).read_text("utf-8")


def first_column(text: str, heading: str) -> set[str]:
    """Return what stands in backquotes in the first column of the table that begins so."""
    table = text[text.index(heading) :].split("\n\n", maxsplit=1)[0].splitlines()[2:]
    return {name for row in table for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_readme_lists_every_folder() -> None:
    """The list is the architecture: it leaves none out, and names none that is gone."""
    listing = read("README.md").split("## Architecture in short")[1]
    there = {
        path.name
        for package in (ROOT / "chatapp", ROOT / "condense")
        for path in package.iterdir()
        if path.is_dir() and any(path.glob("*.*")) and path.name != "__pycache__"
    }
    tops = {"chatapp", "condense", "templates", "static", "tests"}
    assert set(re.findall(r"\b(\w+)/ ", listing)) == there | tops


def test_the_reader_is_told_where_the_offline_model_condenses() -> None:
    """The tour says when the fold comes: window and threshold are those of the profile."""
    (model,) = provider_specs()["offline"].models
    window = model.context_window
    budget = condense.Budget(window, condense.output_limit(window, model.max_output))
    text = " ".join(read("README.md").split())
    assert f"at {budget.allowed:,.0f} of {window:,} tokens" in text


def test_the_buttons_that_the_readme_names_are_on_the_page() -> None:
    """A tour that asks for a button of another name ends there."""
    tour = read("README.md").split("## A tour")[1].split("## Configuration")[0]
    said = {" ".join(name.split()) for name in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", tour)}
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "templates").rglob("*.html"))
    words = pages + "".join(
        (ROOT / "chatapp" / name).read_text("utf-8")
        for name in ("web/views/conversations.py", "page/transcript/labels.py")
    )
    assert "Undo" in said
    assert not [name for name in said if name not in words]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_or_links_to_exists(document: str) -> None:
    """Addresses go stale when files move."""
    text = read(document)
    made = set(re.findall(r"file=(\S+)", text))
    named = {
        ROOT / path
        for path in re.findall(
            r"`((?:chatapp|condense|tests|docs|templates|static)/[\w./]+)`", text
        )
        if path not in made
    }
    linked = {
        (ROOT / document).parent / link for link in re.findall(r"\]\((?!https?:)([^)#]+)", text)
    }
    assert not [path for path in named | linked if not path.exists()]


def test_the_tables_of_rungs_and_of_tags_are_those_of_the_code() -> None:
    """A strategy that is added is told of; tags are named as in the code."""
    text = read("docs/engine.md")
    told = first_column(text, "| rung |")
    assert told == {one.name for one in condense.built_in_strategies()}
    for one in condense.built_in_strategies():
        asks = "yes" if getattr(one, "asks_model", False) else "no"
        assert re.search(rf"\| `{one.name}` \|.*\| {asks} \|", text)
    names = {field.name for field in fields(condense.Tags)}
    told = first_column(read("docs/architecture.md"), "| tag |")
    assert told
    assert told <= names


def test_the_readme_names_every_variable_that_the_settings_read() -> None:
    """An operator finds all there is to set in one table, and the strategies to choose from."""
    told = first_column(read("README.md"), "| variable |")
    source = (ROOT / "chatapp/settings.py").read_text("utf-8")
    asked = set(re.findall(r'read_\w+\(\s*"([A-Z_]+)"', source))
    for spec in provider_specs().values():
        asked |= {name for name in (spec.key_variable, spec.url_variable) if name}
    assert told == asked
    row = next(line for line in read("README.md").splitlines() if "`CONDENSE_STRATEGY`" in line)
    names = {one.name for one in condense.built_in_strategies() if one.kind != "cleared"}
    assert names <= set(re.findall(r"`(\w+)`", row))


def test_every_make_target_and_command_that_a_document_names_exists() -> None:
    """Nobody should meet a target or a command of manage.py that is not there."""
    targets = set(re.findall(r"^([.\w-]+):", read("Makefile"), re.MULTILINE))
    for document in DOCUMENTS:
        named = re.findall(
            r"(?:^    |`)(?:\w+=\S* )*make ([a-z][\w-]*)", read(document), re.MULTILINE
        )
        assert set(named) <= targets, document
        named = set(re.findall(r"manage\.py (\w+)", read(document)))
        assert named <= get_commands().keys(), document


def test_the_numbers_of_the_ladder_and_of_a_crash_are_those_of_the_code() -> None:
    """Window, share, distance, signs of life, silence, drafts: as the document tells them."""
    policy = condense.Policy()
    text = " ".join(read("docs/internals.md").split())
    assert f"a window under {policy.small_window:,} tokens is only truncated" in text
    assert policy.least_progress == 0.1
    assert "Each rung must take a tenth of the history away" in text
    assert (policy.distance_messages, policy.distance_share) == (2, 0.05)
    assert "the next try waits for two messages and 5 % of the window" in text
    assert (processes.INTERVAL, processes.SILENT_SECONDS, processes.WATCHED) == (2, 4, 2.5)
    assert partial_replies.WRITE_PAUSE < 0.5
    for told in ("a sign of life every two seconds", "silent for 4 seconds", "half a second old"):
        assert told in text


async def test_the_guide_to_the_engine_runs() -> None:
    """All blocks in one go, as a reader would paste them."""
    blocks = re.findall(r"```python\n(.*?)```", read("docs/engine.md"), re.DOTALL)
    assert len(blocks) > 3
    names: dict[str, Any] = {}
    for block in blocks:
        code = compile(block, "docs/engine.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if iscoroutine(running := FunctionType(code, names)()):
            await running


def test_each_promise_of_the_threat_model_has_its_test() -> None:
    """They are named by file and function."""
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", read("docs/security.md"))
    assert len(named) > 20
    missing = [
        f"{path}::{test}"
        for path, test in named
        if f"def {test}(" not in (ROOT / "tests" / path).read_text("utf-8")
    ]
    assert not missing
