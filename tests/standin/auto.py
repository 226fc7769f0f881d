"""What the stand-in answers where no script says otherwise: the same to the same request."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from chatapp.providers.offline.summary import SUMMARY_SECTIONS
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.rules import blocks_of

Body = Mapping[str, Any]

# What stands beside a message may be a text with it, where an API knows no blocks.
_CALL = re.compile(r"(?:^|\n)call (?P<name>[\w-]+)(?: (?P<input>\{.*\}))?$", re.DOTALL)
LONGEST_QUOTE = 80


def answer(body: Body) -> Reply:
    """Return a summary where one is asked for, a tool call where "call NAME {…}" asks for it."""
    # Programs have rules behind the user's message, and the gateway what it recalls.
    blocks = blocks_of([one for one in body["messages"] if one["role"] != "system"][-1])
    asked = _text(blocks[-1])
    if "<summary>" in asked:
        return Reply(summarise(body))
    if blocks[-1]["type"] == "tool_result":
        return Reply(f"The tool answered: {_quote(_result_text(blocks[-1]))}")
    calls = [_CALL.search(_text(one).strip()) for one in blocks]
    call = next(filter(None, reversed(calls)), None)
    offered = {tool["name"] for tool in body.get("tools", ())}
    if call and call["name"] in offered:
        return Reply(tools=(ToolCall(call["name"], json.loads(call["input"] or "{}")),))
    return Reply(f"You said: {_quote(asked)}")


def summarise(body: Body) -> str:
    """Return a short summary that quotes the user's messages."""
    said = [_quote(text) for text in _user_texts(body)]
    details = {"Primary Request and Intent": "\n".join(f"   - {text}" for text in said[-10:])}
    sections = "\n\n".join(
        f"{number}. {title}:\n{details.get(title, '   - None noted.')}"
        for number, title in enumerate(SUMMARY_SECTIONS, start=1)
    )
    analysis = f"The user wrote {len(said)} messages."
    return f"<analysis>\n{analysis}\n</analysis>\n\n<summary>\n{sections}\n</summary>"


def _user_texts(body: Body) -> Iterator[str]:
    """Yield what users wrote before the instruction, which is the last block."""
    *others, last = body["messages"]
    for message in (*others, {**last, "content": blocks_of(last)[:-1]}):
        if message["role"] == "user":
            yield from filter(None, map(_text, blocks_of(message)))


def _text(block: Mapping[str, Any]) -> str:
    return str(block["text"]) if block["type"] == "text" else ""


def _result_text(block: Mapping[str, Any]) -> str:
    content = block.get("content") or ""
    return content if isinstance(content, str) else " ".join(map(_text, content))


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTE else f"{line[:LONGEST_QUOTE]}…"
