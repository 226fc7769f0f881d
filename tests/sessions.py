"""Sessions of any length as another program has recorded them, in the form of Claude Code."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from tests.chatapp.pictures import make_png

# Each so many turns somebody shows a picture, and the model thinks before it calls its tool.
PICTURES, THOUGHTS = 5, 3

_PICTURE = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(make_png()).decode(),
    },
}


def session(turns: int, compactions: int) -> bytes:
    """Return a session of so many turns, each with a call of a tool, compacted so many times."""
    lines: list[dict[str, Any]] = []
    for turn in range(1, turns + 1):
        lines += _turn(turn)
        if turn % (turns // compactions) == 0:
            said = {"role": "user", "content": f"Summary {turn}"}
            lines.append({"type": "user", "message": said, "isCompactSummary": True})
    return b"\n".join(json.dumps(line | {"sessionId": "s", "uuid": "u"}).encode() for line in lines)


def _turn(turn: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of a question, a call, its result and an answer."""
    usage = {"input_tokens": turn, "output_tokens": 5}
    asked: list[Any] = [{"type": "text", "text": f"Question {turn}"}]
    asked += [_PICTURE] * (turn % PICTURES == 0)
    thought = {"type": "thinking", "thinking": f"Thought {turn}", "signature": f"Signed {turn}"}
    use = {"type": "tool_use", "id": f"t{turn}", "name": "read_file", "input": {"path": "a"}}
    result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "x " * 50}
    called = [*[thought] * (turn % THOUGHTS == 0), use]
    for role, message in (
        ("user", {"content": asked}),
        ("assistant", {"id": f"a{turn}", "content": called, "usage": usage}),
        ("user", {"content": [result]}),
        ("assistant", {"id": f"b{turn}", "content": f"Answer {turn}", "usage": usage}),
    ):
        yield {"type": role, "message": {"role": role, **message}}
