"""Transcript files: what is read, and what is said about the rest."""

import gzip
import json
import tracemalloc
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest

import condense
from chatapp.records.importers import recognise
from chatapp.records.importers.messages import read_transcript
from chatapp.records.transfer import Beside, Problem, transcript_files

HELLO = {"role": "user", "content": "Hello"}
REPLY = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a", "n": 1.5}},
    ],
}
RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True}],
}


def write(tmp_path: Path, data: bytes | str) -> Path:
    """Write a file and return its path."""
    path = tmp_path / "transcript.json"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def read(tmp_path: Path, value: Any) -> list[Any]:
    """Return what is read from a file that holds the value as JSON."""
    return list(read_transcript(write(tmp_path, json.dumps(value))))


def in_utf_16(text: bytes) -> bytes:
    """Return text in UTF-16, as shells of Windows write it."""
    return text.decode().encode("utf-16")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([HELLO, REPLY, RESULT]),
        json.dumps({"messages": [HELLO, REPLY, RESULT]}),
        json.dumps(
            {"session": "s", "messages": [HELLO, REPLY, RESULT], "compactions": [{"messages": [1]}]}
        ),
        "\n".join(map(json.dumps, [HELLO, REPLY, RESULT])),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, BOM_UTF8.__add__, in_utf_16])
def test_messages_are_read_in_order(tmp_path: Path, text: str, pack: Any) -> None:
    """As a list, in an object or a line each; packed, in UTF-16 or with an editor's mark."""
    path = write(tmp_path, pack(text.encode()))
    assert recognise(path) == "messages"
    assert list(read_transcript(path)) == [HELLO, REPLY, RESULT]


SAID = {"type": "text", "text": "Obey."}
THOUGHT = {"role": "assistant", "content": [{"type": "thinking", "thinking": "…"}]}


@pytest.mark.parametrize(
    ("message", "read_as"),
    [
        ({**HELLO, "ts": 1, "id": "x"}, HELLO),
        (THOUGHT, THOUGHT),
        (
            {"role": "user", "content": [{**SAID, "beside": {"kind": "rule"}, "user_words": "b"}]},
            {"role": "user", "content": [SAID]},
        ),
    ],
)
def test_a_message_is_what_the_engine_takes(tmp_path: Path, message: Any, read_as: Any) -> None:
    """Only what was written here knows rules, commands and surroundings from what was said."""
    assert read(tmp_path, [message]) == [read_as]
    assert condense.Message.from_api(read_as).to_api() == read_as


@pytest.mark.parametrize("system", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
@pytest.mark.parametrize("first", ["system", "messages"])
def test_a_request_s_system_prompt_is_the_conversation_s(
    tmp_path: Path, system: Any, first: str
) -> None:
    """Wherever it stands in the file."""
    message = {"role": "user", "content": "Hello."}
    told = {"tools": [{"system": 1}], "system": system, "messages": [message]}
    ordered = dict(sorted(told.items(), key=lambda one: one[0] != first))
    prompt = Beside("conversation", {"system_prompt": "Be brief."})
    assert read(tmp_path, ordered) == [message, prompt]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        *((one, "role") for one in ({"role": "system"}, {"content": "x"}, "text", [HELLO])),
        *(
            ({"role": "user", **one}, "no content")
            for one in ({}, {"content": " "}, {"content": 7})
        ),
    ],
)
def test_an_unusable_item_is_reported_and_the_rest_is_read(
    tmp_path: Path, item: Any, words: str
) -> None:
    """One bad item costs nothing but itself."""
    first, problem, *_loss, last = read(tmp_path, [HELLO, item, RESULT])
    assert (first, last) == (HELLO, RESULT)
    assert problem.index == 2
    assert words in problem.reason


@pytest.mark.parametrize(
    "block",
    [
        "text",
        {"text": "no type"},
        {"type": 1},
        {"type": "text"},
        {"type": "image", "source": "x"},
        {"type": "tool_use", "id": "1", "name": "x"},
        {"type": "tool_use", "name": "x", "input": {}},
        {"type": "tool_result", "tool_use_id": "1", "content": 5},
        {"type": "tool_result", "content": "x"},
    ],
)
def test_an_unusable_block_is_reported_and_the_others_are_kept(tmp_path: Path, block: Any) -> None:
    """The message keeps what a provider would accept."""
    good = [
        {"type": "text", "text": "good"},
        {"type": "tool_result", "tool_use_id": "1", "content": []},
    ]
    problem, *_loss, message = read(tmp_path, [{"role": "user", "content": [block, *good]}])
    assert isinstance(problem, Problem)
    assert message == {"role": "user", "content": good}


@pytest.mark.parametrize(
    "tail",
    [
        b', {"role": "user", "con',
        b', {"role": "user", "content": NaN}]',
        b', {"role": "user", "content": "\xff secret"}]',
        b"} secret",
        b"",
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_comes_before_a_break_is_kept(tmp_path: Path, tail: bytes, pack: Any) -> None:
    """A broken file is read up to where it breaks, and its text is not quoted."""
    path = write(tmp_path, pack(b"[" + json.dumps(HELLO).encode() + tail))
    first, problem = read_transcript(path)
    assert first == HELLO
    assert problem.index == 2
    assert problem.reason.startswith("The file is not JSON from here on")
    assert "secret" not in problem.reason


def test_a_cut_off_gzip_file_is_read_up_to_the_cut(tmp_path: Path) -> None:
    """A download that broke off loses only its end; other damage is found by the checksum."""
    messages = [{"role": "user", "content": f"{i} " + str(i**50) * 20} for i in range(500)]
    packed = gzip.compress(json.dumps(messages).encode())
    *read_ones, problem = read_transcript(write(tmp_path, packed[: len(packed) // 2]))
    assert 50 < len(read_ones) < 450
    assert read_ones == messages[: len(read_ones)]
    assert "cut off" in problem.reason
    *_read, problem = read_transcript(write(tmp_path, packed[:-6] + b"\0" + packed[-5:]))
    assert "damaged" in problem.reason


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b'"text"', "neither"),
        (b"[]", "no messages"),
        (b'{"messages": {}}', "no messages"),
        (b"\x1f\x8bnot gzip at all", "damaged"),
    ],
)
def test_a_file_without_messages_gives_one_problem(tmp_path: Path, data: bytes, words: str) -> None:
    """Whatever the file is, the answer is a sentence."""
    (problem,) = read_transcript(write(tmp_path, data))
    assert isinstance(problem, Problem)
    assert problem.index == 1
    assert words in problem.reason


def test_a_file_that_is_nested_without_end_is_given_up(tmp_path: Path) -> None:
    """What was read before is kept."""
    deep = '{"role": "user", "content": [{"type": "x", "a": ' + "[" * 90_000 + "]" * 90_000 + "}]}"
    first, problem = read_transcript(write(tmp_path, f"[{json.dumps(HELLO)}, {deep}]"))
    assert first == HELLO
    assert problem == Problem(2, "The file is nested more than 20000 levels deep.")


def test_a_file_that_unpacks_without_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file can hold gigabytes of nothing."""
    monkeypatch.setattr(transcript_files, "MAX_GAP", 1 << 20)
    bomb = b"[" + json.dumps(HELLO).encode() + b"," + b" " * (8 << 20) + b"1]"
    first, problem = read_transcript(write(tmp_path, gzip.compress(bomb)))
    assert first == HELLO
    assert problem.reason == "The file goes on for 1 MB without another message."


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Only one message is held at a time."""
    message = json.dumps({"role": "user", "content": "x" * 10_000})
    path = write(tmp_path, gzip.compress(f"[{','.join([message] * 1_000)}]".encode()))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_transcript(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 1_000
    assert peak < 6_000_000
