"""Read a request as a list of what happened: who said what, which tools answered what."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import condense
from chatapp.agent.prompts import CONTINUE

Kind = Literal["user", "assistant", "call", "result", "error", "summary", "ledger", "go on"]

_TOOL_USE = re.compile(r"^\[Tool Use: (?P<name>[^\]]+)\]\n?(?P<input>.*)$", re.DOTALL)
_TOOL_RESULT = re.compile(r"^\[Tool Result(?P<error> \(Error\))?\]\n?(?P<text>.*)$", re.DOTALL)
_SUMMARY = re.compile(r"^\s*(?:#+ *Conversation Summary|<summary>|1\. Primary Request and Intent:)")
_HEADING = re.compile(r"^\s*#+ *Conversation Summary\s*\n")
_CARRIED = re.compile(r"^\s*## Newest Request, Verbatim\n")
_BRACKETED = re.compile(r"^\[[^\[\]]*\]$")
_TAGGED = re.compile(r"^\s*<(?P<tag>[\w-]+)>.*</(?P=tag)>\s*$", re.DOTALL)
_GO_ON = re.compile(
    rf"{re.escape(CONTINUE)}|(?:please )?(?:continue|go on|carry on|keep going)[.!]?", re.I
)
_ARGUMENT = re.compile(r"^(?P<key>\w+): (?P<value>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened; ``text`` is what was said, answered, or the main argument.

    To "go on" asks for the rest of an answer that was cut, and is no question of its own. A
    request that a condensation repeated after its summary is ``carried``.
    """

    kind: Kind
    text: str
    tool: str = ""
    id: str = ""
    carried: bool = False


def read(messages: Sequence[condense.Message]) -> list[Happening]:
    """Return what happened, in order; flattened tool blocks read like the real ones."""
    return [
        happening
        for message in messages
        for block in message.blocks
        for happening in _of_block(block, message.role)
    ]


def split_question(happenings: Sequence[Happening]) -> tuple[str, int]:
    """Return the newest thing a user said and its index; ("", 0) when nobody said anything."""
    for index in range(len(happenings) - 1, -1, -1):
        if happenings[index].kind == "user":
            return happenings[index].text, index
    return "", 0


def _of_block(block: condense.Block, role: condense.Role) -> Iterator[Happening]:
    match block:
        case condense.TextBlock(text) if text.strip() and not condense.beside_of(block):
            yield from _of_text(text.strip(), role)
        case condense.ToolUseBlock(id_, name, input_):
            yield Happening("call", main_argument(input_), name, id_)
        case condense.ToolResultBlock():
            kind: Kind = "error" if block.is_error else "result"
            yield Happening(kind, _result_text(block.content), id=block.tool_use_id)


def _of_text(text: str, role: condense.Role) -> Iterator[Happening]:
    if call := _TOOL_USE.match(text):
        yield Happening("call", main_argument(dict(_ARGUMENT.findall(call["input"]))), call["name"])
    elif result := _TOOL_RESULT.match(text):
        yield Happening("error" if result["error"] else "result", result["text"].strip("\n"))
    elif role == "assistant":
        yield Happening(role, text)
    elif carried := _CARRIED.match(text):
        yield _request(text[carried.end() :], carried=True)
    elif condense.parse_ledger(text):
        yield Happening("ledger", text)
    elif is_summary(text):
        yield Happening("summary", _body(text))
    elif not _TAGGED.match(text) and not _BRACKETED.match(text):
        yield _request(text)


def _request(text: str, *, carried: bool = False) -> Happening:
    return Happening("go on" if _GO_ON.fullmatch(text) else "user", text, carried=carried)


def is_summary(text: str) -> bool:
    """Whether a user message's text is an earlier summary that the engine put there."""
    preface = " ".join(condense.summary_preface().split())[:40]
    return bool(_SUMMARY.match(text)) or " ".join(text[:80].split()).startswith(preface)


def _body(summary: str) -> str:
    """Return a summary without the words that the engine puts before it."""
    text = _HEADING.sub("", summary).replace(condense.summary_preface(), "")
    return re.sub(r"</?summary>", "", text).strip()


def main_argument(input_: Any) -> str:
    """Return the argument that says most about a call: a path, a pattern, or the first one."""
    if not isinstance(input_, dict) or not input_:
        return ""
    for key in ("path", "pattern", "query"):
        if key in input_:
            return str(input_[key])
    return str(next(iter(input_.values())))


def _result_text(content: condense.Content | None) -> str:
    if content is None or isinstance(content, str):
        return (content or "").strip("\n")
    texts = (block.text for block in content if isinstance(block, condense.TextBlock))
    return "\n".join(texts).strip("\n")
