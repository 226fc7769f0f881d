"""Claude.ai: its newer files name calls of tools, its older ones do not."""

from pathlib import Path

import pytest

from chatapp.records.importers.claude_ai import read_chat
from chatapp.records.transfer.archives import Archive


@pytest.mark.parametrize("named", [True, False])
def test_a_result_belongs_to_its_call(tmp_path: Path, named: bool) -> None:
    """By the name of the call; where calls have none, it belongs to the one before it."""
    parts = []
    for id_ in ("x", "y"):
        parts += [{"type": "tool_use", "name": "search"} | ({"id": id_} if named else {}),
                  {"type": "tool_result"} | ({"tool_use_id": id_} if named else {})]  # fmt: skip
    (tmp_path / "all.json").write_text("[]")
    said = {"uuid": "a", "sender": "assistant", "content": parts}
    with Archive(tmp_path / "all.json") as archive:
        chat = read_chat({"chat_messages": [said]}, archive)
        assert chat
        pieces = [one for one in chat.pieces() if isinstance(one, dict)]
    blocks = [block for one in pieces for block in one["content"]]
    assert [one["type"] for one in blocks] == ["tool_use", "tool_result"] * 2
    calls = [one["id"] for one in blocks[::2]]
    assert calls == [one["tool_use_id"] for one in blocks[1::2]]
    assert len({*calls}) == 2
    assert (calls == ["x", "y"]) is named
