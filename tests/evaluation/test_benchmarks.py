"""Benchmarks: chats with questions in the formats of BEAM and LoCoMo, all of them made up."""

import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from condense import CharacterCounter
from condense.recall.meanings import Vectors
from tests.evaluation.__main__ import main
from tests.evaluation.benchmarks import benchmark_of, read_benchmark
from tests.evaluation.vectors import StoredVectors

# Said in this order; all that follows is about nothing.
SAID = ["Always answer in rhymes. ->-> 1,2", "Gladly.", "The boat is called Esmeralda.", "A name."]
TALK = [f"The weather of day {day} was fair, as I said. " * 30 for day in range(20)]


def beam(folder: Path) -> None:
    """Write a chat as BEAM has it."""
    turns = [
        {"role": ("user", "assistant")[at % 2], "id": at, "content": text}
        for at, text in enumerate(SAID + TALK)
    ]
    rule = {"question": "Say hello.", "source_chat_ids": [0]}
    asked = {
        "instruction_following": [{**rule, "instruction_being_tested": "Always answer in rhymes."}],
        "knowledge_update": [{"question": "What is my boat called?", "answer": "Esmeralda",
                              "source_chat_ids": {"original": [2], "updated": [23, 999]}}],
        "abstention": [{"question": "Who am I?", "ideal_response": "I do not know."}],
    }  # fmt: skip
    probing = folder / "chats/100K/3/probing_questions"
    probing.mkdir(parents=True)
    (probing / "probing_questions.json").write_text(json.dumps(asked))
    (probing.parent / "chat.json").write_text(json.dumps([{"batch": 1, "turns": [turns]}]))


def locomo(folder: Path, *, packed: bool = True) -> None:
    """Write a dialogue as LoCoMo has it: in a file of its own, packed, or in one list."""
    talk = {
        "speaker_a": "Ann", "speaker_b": "Bo", "session_1_date_time": "1 May",
        **{f"session_{day}": [
            {"speaker": ("Bo", "Ann")[turn % 2], "dia_id": f"D{day}:{turn}", "text": text}
            for turn, text in enumerate(texts, start=1)
        ] for day, texts in ((10, TALK), (2, SAID))},
    }  # fmt: skip
    asked = [{"question": "What is the boat called?", "answer": "Esmeralda", "category": 4,
              "evidence": ["D2:03; D10:20", "D"]}]  # fmt: skip
    (folder / "data").mkdir(exist_ok=True)
    if packed:
        with zipfile.ZipFile(folder / "data/locomo10.zip", "w") as files:
            files.writestr("data/1.json", json.dumps({**talk, "qa": asked}))
    else:
        one = {"conversation": talk, "qa": asked, "sample_id": "conv-1"}
        (folder / "data/locomo10.json").write_text(json.dumps([one]))


def listed(folder: Path) -> None:
    """Write a dialogue as LoCoMo has it now."""
    locomo(folder, packed=False)


@pytest.mark.parametrize(
    ("write", "number", "rule", "evidence"),
    [(beam, 3, "Always answer in rhymes.", [{0}, {2, 23}]),
     (locomo, 1, "Ann: Always answer in rhymes. ->-> 1,2", [{2, 23}]),
     (listed, 1, "Ann: Always answer in rhymes. ->-> 1,2", [{2, 23}])],
)  # fmt: skip
def test_a_checkout_is_read(
    write: Callable[[Path], None], number: int, rule: str, evidence: list[set[int]], tmp_path: Path
) -> None:
    """With the messages in order, and the questions that any of them answers."""
    write(tmp_path)
    (one,) = read_benchmark(tmp_path, CharacterCounter(), numbers=[number])
    assert one.chat.messages[0].text == rule
    assert {message.role for message in one.chat.messages[::2]} == {"user"}
    assert [{one.places[name] for name in asked.evidence} for asked in one.asked] == evidence
    assert not [*read_benchmark(tmp_path, CharacterCounter(), numbers=[number + 1])]
    assert not benchmark_of(tmp_path / "data")


def test_evidence_is_looked_for_wherever_a_request_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the ledger, the recalled passages and the visible end; FTS finds whole messages."""
    beam(tmp_path)
    main([str(tmp_path), "--json", "--half", "tuning"])
    found = json.loads(capsys.readouterr().out)["as recorded"]["beam 3"]
    rule, update = found["instruction following"], found["knowledge update"]
    assert [rule[name] for name in ("evidence", "ledger", "request", "recall")] == [1, 1, 1, 0]
    names = ("evidence", "found", "recall", "tail", "request", "whole", "FTS", "last")
    assert [update[name] for name in names] == [2, 1, 1, 1, 2, 1, 1, 1]
    main([str(tmp_path), "--chat", "3", "--passages", "1", "--tokens", "1"])
    lines = dict(
        line.rsplit("  ", 1) for line in capsys.readouterr().out.splitlines() if "%" in line
    )
    assert set(lines.values()) == {"0"}
    main([str(tmp_path), "--half", "report"])
    assert "beam 3" not in capsys.readouterr().out


def test_a_text_is_embedded_once(tmp_path: Path) -> None:
    """As a question or as a passage; the next run reads its vector."""
    asked: list[str] = []

    class Lengths:
        name, dimensions = "lengths", 2

        def embed(self, texts: Sequence[str], *, asks: bool = False) -> Vectors:
            asked.extend(texts)
            return np.array([[len(text), asks] for text in texts], np.float32)

    for _run in range(2):
        stored = StoredVectors(tmp_path / "vectors", Lengths())
        assert stored.embed(["a", "bc", "a"]).tolist() == [[1, 0], [2, 0], [1, 0]]
        assert stored.embed(["a"], asks=True).tolist() == [[1, 1]]
    assert asked == ["a", "bc", "a"]
