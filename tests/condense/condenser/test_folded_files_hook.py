"""The files that stand beside a summary as signatures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from condense import (
    AttachFoldedFiles,
    Block,
    Hooks,
    Message,
    Reduction,
    Situation,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from condense.condenser.hooks import PER_TOKEN_OF_WINDOW
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import texts

SOURCE = "def {name}(size):\n    return size\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with two source files and one that its rules keep from the model."""
    for name in ("first", "second", "secret"):
        (tmp_path / f"{name}.py").write_text(SOURCE.format(name=name))
    (tmp_path / ".rooignore").write_text("secret.*\n")
    return tmp_path


def reading(*paths: str, tool: str = "read_file", key: str = "path") -> list[Message]:
    """Return a long conversation in which the agent reads files, in this order."""
    messages = [Message("user", "Look around.", id="asked")]
    for path in paths:
        call, result = ToolUseBlock(path, tool, {key: path}), ToolResultBlock(path, "word " * 99)
        messages += [
            Message("assistant", (call,), id=f"call {path}"),
            Message("user", (result,), id=f"result {path}"),
        ]
    return [*messages, Message("assistant", "Done.", id="done"), *talk(12)]


def folding(root: Path, **rest: Any) -> Bench:
    """Return a condenser that folds files, with one summary to give."""
    hooks = Hooks(after=(AttachFoldedFiles(root),))
    return Bench("S", **{"hooks": hooks, **rest})


def folded_in(reduction: Reduction) -> list[str]:
    """Return the paths of the folded files in the order in which the model reads them."""
    head = "<system-reminder>\n## File Context: "
    return [t.removeprefix(head).split("\n")[0] for t in texts(reduction.message) if head in t]


@pytest.mark.parametrize("strategy", ["fresh_start", "keep_recent", "ledger"])
async def test_a_summary_shows_the_files_that_were_read(root: Path, strategy: str) -> None:
    """One block each, the last read first, whoever wrote the summary."""
    bench = folding(root, strategies=(strategy,))
    made = await bench.condense(reading("first.py", "second.py"))
    assert folded_in(made) == ["second.py", "first.py"]
    assert texts(made.message)[-1] == (
        "<system-reminder>\n## File Context: first.py\n"
        "This is only an outline: read the file before you quote or change it.\n"
        "# first.py\n1--2 | def first(size):\n\n</system-reminder>"
    )


async def test_the_record_names_what_was_folded_and_what_was_not(root: Path) -> None:
    """Each file left out with its reason as a sentence."""
    paths = ("first.py", "secret.py", "gone.py", "/elsewhere/a.py")
    made = await folding(root).condense(reading(*paths, tool="Read", key="file_path"))
    size = len(texts(made.message)[-1])
    assert made.folded.to_json() == {
        "characters": size,
        "files": [{"path": "first.py", "characters": size}],
        "left_out": [
            {"path": "/elsewhere/a.py", "reason": "It is outside the workspace."},
            {"path": "gone.py", "reason": "It no longer exists."},
            {"path": "secret.py", "reason": "The ignore rules exclude it."},
        ],
    }


async def test_a_truncation_shows_no_files_and_the_next_summary_shows_them_again(
    root: Path,
) -> None:
    """By an application's own rules."""
    bench = folding(root, strategies=("sliding_window",))
    made = await bench.condense(reading("first.py"))
    assert (made.kind, made.folded) == ("truncated", None)
    first = await folding(root).condense(reading("first.py"))
    (root / "first.py").write_text(SOURCE.format(name="renamed"))
    made = await folding(root).condense([first.message, *reading("second.py")])
    assert folded_in(made) == ["second.py", "first.py"]
    assert "def renamed(size)" in texts(made.message)[-1]
    hooks = Hooks(after=(AttachFoldedFiles(root, ignore=lambda path: path == "first.py"),))
    made = await folding(root, hooks=hooks).condense(reading("first.py", "secret.py"))
    assert folded_in(made) == ["secret.py"]


async def test_a_small_window_gets_less(root: Path) -> None:
    """The same share as of a large one, and less than what is gained."""
    names = [f"m{number}.py" for number in range(9)]
    for name in names:
        (root / name).write_text("".join(SOURCE.format(name=f"f{n}") for n in range(40)))
    made = await folding(root).condense(reading(*names))
    assert 0 < made.folded.characters <= 26_000 * PER_TOKEN_OF_WINDOW
    assert made.folded.files[0].path == "m8.py"
    assert made.folded.left_out[-1].reason == "There was no room left under the character limit."
    (root / "long.py").write_text("".join(SOURCE.format(name=f"f{n}") for n in range(400)))
    history = [*reading("long.py")[:3], *talk(2, words=900)]
    made = await folding(root).condense(history)
    assert [one.path for one in made.folded.files] == ["long.py"]
    assert made.folded.characters < made.tokens_before.value


async def test_what_would_be_too_much_is_left_out_with_a_reason(root: Path) -> None:
    """Here the other blocks leave just too little room; they stay."""

    async def flood(_situation: Situation, reduction: Reduction) -> Sequence[Block]:
        taken = reduction.tokens_before.value * 0.9 - reduction.tokens_after.value
        return (TextBlock("word " * (int(taken) - 2)),)

    hooks = Hooks(after=(flood, AttachFoldedFiles(root)))
    made = await folding(root, hooks=hooks).condense(reading("first.py", "gone.py"))
    assert folded_in(made) == []
    assert "word word" in texts(made.message)[-1]
    assert made.folded.files == ()
    assert [one.reason for one in made.folded.left_out] == [
        "With it, the context would not have become small enough.",
        "It no longer exists.",
    ]
