# ruff: noqa: RUF001 - words of many scripts
"""Recall by meaning: passages that share no word with a question, and small vectors."""

import subprocess
import sys

import numpy as np
import pytest

from condense import (
    BESIDE,
    USER_WORDS,
    ImageBlock,
    MemoryRecall,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    centre_of,
    embedded_passages,
    nearest,
    parts_of,
    quantise,
    signs_of,
)
from condense.recall.meanings import COMMON
from tests.condense.dialogues import numbered
from tests.condense.recall.embedder import Synonyms

OTHERS = [Message("user", f"Number {number} of the weather reports.") for number in range(300)]
SAID = [Message("user", text) for text in ("My molar hurts.", "A puppy came.", "The code is K77.")]


@pytest.mark.parametrize(
    ("fails", "words", "best"),
    [
        ("", "Which teeth?", "My molar hurts."),
        ("", "Welcher Zahnarzt?", "My molar hurts."),
        ("", "Что с зубы?", "My molar hurts."),
        ("", "What is K77, the wolf's code?", "The code is K77."),
        ("question", "Which molar?", "My molar hurts."),
        ("passages", "Which molar?", "My molar hurts."),
        ("question", "Which teeth?", ""),
        ("passages", "Which teeth?", ""),
    ],
)
def test_a_passage_is_found_by_its_meaning(fails: str, words: str, best: str) -> None:
    """Whatever its words are; by words too, and by these alone while no vectors can be made."""
    search = MemoryRecall(numbered([*OTHERS[:150], *SAID, *OTHERS[150:]]), Synonyms(fails=fails))
    assert next((one.text for one in search(words, 5)), "") == best


def test_the_only_message_is_found_by_its_meaning() -> None:
    """Nothing is less like the question than it."""
    (found,) = MemoryRecall(numbered(SAID[:1]), Synonyms())("Which teeth?", 5)
    assert found.fit > 0
    assert MemoryRecall([], Synonyms())("Which teeth?", 5) == []


def test_a_passage_that_is_near_to_all_does_not_stand_before_the_answer() -> None:
    """A sign alone has nothing but what all texts have in common."""
    said = [Message("user", text) for text in ("👍", "My molar hurts since Monday evening.")]
    search = MemoryRecall(numbered([*OTHERS[:50], *said, *OTHERS[50:100]]), Synonyms())
    assert "molar" in search("Which teeth was it?", 1)[0].text


def test_of_a_long_message_the_passage_with_the_meaning_is_found() -> None:
    """Calls beside it are not embedded, and not counted."""
    text = f"{'It rains. ' * 300}My molar hurts. {'It snows. ' * 300}"
    call = ToolUseBlock("t", "run", {"command": "ls"})
    said = Message("assistant", (call, TextBlock(text), call))
    (found,) = MemoryRecall(numbered([said]), Synonyms())("Which teeth?", 5)
    assert "molar" in found.text


def _user(text: str, **extra: object) -> Message:
    return Message("user", (TextBlock(text, extra),))


@pytest.mark.parametrize(
    ("message", "count"),
    [
        (_user("My words."), 1),
        (Message("assistant", "My words."), 1),
        (_user("My words. " * 400), 4),
        (_user("My words. " * 40_000), 60),
        (_user("Some words. <reminder>", **{USER_WORDS: "Some words."}), 1),
        (_user("A report.", **{USER_WORDS: ""}), 0),
        (_user("A file.", **{BESIDE: {"kind": "file", "name": "a.txt"}}), 0),
        (_user("An old text.", **{BESIDE: {"kind": "recalled"}}), 0),
        (Message("assistant", (ToolUseBlock("t", "write", {"text": "A file."}),)), 0),
        (Message("user", (ToolResultBlock("t", "A result."),)), 0),
        (Message("assistant", (OpaqueBlock({"type": "thinking", "thinking": "Hm."}),)), 0),
        (Message("user", (ImageBlock({}, {BESIDE: {"name": "a.png"}}),)), 0),
    ],
)
def test_prose_alone_is_embedded(message: Message, count: int) -> None:
    """Of people and of the model; numbered in order, of a long text only the beginning."""
    ((_, parts),) = [*parts_of([message])] or [(message, [])]
    passages = embedded_passages(parts)
    assert [number for number, _ in passages] == [*range(count)]
    assert "".join(text for _, text in passages) == message.text[: sum(len(t) for _, t in passages)]


def test_small_vectors_find_what_large_ones_do() -> None:
    """By a bit a dimension, although all vectors have most in common; neighbours count."""
    dice = np.random.default_rng(1)
    common = 5 * dice.normal(size=384)
    groups = dice.normal(size=(60, 384))
    vectors = common + 0.6 * np.repeat(groups, 100, axis=0) + 0.8 * dice.normal(size=(6_000, 384))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    rows = quantise(vectors)
    centre = centre_of(rows[:500])
    for at in (0, *range(50, 6_000, 600), 5_999):
        alike = vectors @ (vectors[at] - COMMON * vectors[:500].mean(axis=0))
        exact = np.convolve(np.pad(alike, 1, "edge"), [0.25, 1, 0.25], "valid")
        best = nearest(vectors[at], centre, signs_of(rows, centre), rows.__getitem__, 10)
        assert best[0][0] == at
        assert len({place for place, _ in best} & {*np.argsort(-exact)[:10].tolist()}) >= 7
        assert np.allclose(
            [likeness for _, likeness in best], exact[[p for p, _ in best]], atol=0.02
        )


def test_the_engine_needs_no_numpy_to_go_by_words() -> None:
    """It belongs to the extra."""
    code = (
        "import sys; sys.modules['numpy'] = None; import condense; said = condense.Message('user',"
        " 'My molar hurts.'); print(condense.MemoryRecall([said])('Which molar?', 1)[0].text)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "My molar hurts.\n"
