"""Contents of messages: actions, people's words and texts, read for the figures alone.

Nothing here is taken from :mod:`condense.facts`: what the ledger cannot see would otherwise be
missing from the figures too.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from condense.history.boundaries import pair_calls
from condense.messages import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock, user_words

HEAD = 60  # characters of a command's first line, by which the field compares commands

_PATH_KEYS = {"path", "filepath", "filename", "file", "notebookpath", "targetfile", "absolutepath"}
_COMMAND_KEYS = {"command", "cmd", "commands", "script", "code", "sql", "query"}
_CONTENT_KEYS = {
    "content", "newstring", "newstr", "newsource", "newtext", "filetext", "inserttext", "diff",
    "patch", "edits", "replacement", "replacements", "codeedit",
}  # fmt: skip
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (\S.*)$", re.MULTILINE)
# A path in running text has a folder, and its last part a suffix.
_PATHS = re.compile(r"(?<![\w/:.])(?:~|\.{1,2})?/?(?:[\w.@+-]++/)++[\w.@+-]*\.[A-Za-z]\w{0,9}\b")
_SUFFIX = re.compile(r"[^/\\]\.[A-Za-z]\w{0,11}\Z")
# A word that nobody writes but as the name of something: a_b, aB, ABc with two humps; a hash or a
# long id, a ticket, and a flag.
_IDENTIFIERS = re.compile(
    r"(?<![\w-])--[a-z][\w-]{2,40}"
    r"|\b(?:(?=[0-9a-f-]*\d)(?=[0-9a-f-]*[a-f])[0-9a-f]{7,40}(?:-[0-9a-f]{4,12}){0,4}"
    r"|[A-Z][A-Z0-9]+-\d+"
    r"|(?=\w*[^\W_]_[^\W_]|[a-z]\w*[A-Z]|[A-Z]\w*[a-z]\w*[A-Z])[^\W\d]\w{3,79})\b"
)
# As they are looked up: with what joins the parts of an id or a flag.
_WORDS = re.compile(r"--[a-z][\w-]*|\w+(?:-\w+)*")
_PARTS = re.compile(r"\w+")
_WORD = re.compile(r"[\w-]{1,40}")
AGAIN = 3  # times that each value of an argument comes up where there is a choice of few


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call: which message makes it, whether it went well, and all that it names.

    ``files`` are those that its arguments are about, ``paths`` they and any in its texts.
    """

    at: int
    files: frozenset[str]
    command: str
    paths: frozenset[str]
    identifiers: frozenset[str]
    edits: bool


def actions_in(messages: Sequence[Message]) -> Iterator[Action]:
    """Yield the calls in the order in which they were made; one that failed edits nothing."""
    failed = {id(pair.call) for pair in pair_calls(messages).answered if pair.result.is_error}
    for at, message in enumerate(messages):
        for call in message.tool_uses:
            yield _action(at, call, went_well=id(call) not in failed)


def _action(at: int, call: ToolUseBlock, *, went_well: bool) -> Action:
    named = call.input if isinstance(call.input, Mapping) else {}
    named = {_plain(key): value for key, value in named.items()}
    text = "\n".join(value for _, value in leaves(call.input))
    files = frozenset(_files(named)) | frozenset(_PATCHED.findall(text))
    edits = went_well and bool(named.keys() & _CONTENT_KEYS) and bool(files)
    command = "" if files else _command(named)
    return Action(at, files, command, files | paths_in(text), identifiers_in(text), edits)


def choices_in(messages: Iterable[Message]) -> frozenset[str]:
    """Return the words that arguments only choose among, which a tool's specification lists.

    Each value of such an argument is one word, and they come up again and again.
    """
    values: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for message in messages:
        for call in message.tool_uses:
            for key, value in leaves(call.input):
                values[call.name, key].append(value)
    chosen = (
        found for found in map(Counter, values.values()) if found.total() >= AGAIN * len(found)
    )
    return frozenset(word for found in chosen if all(map(_WORD.fullmatch, found)) for word in found)


def _plain(key: object) -> str:
    return str(key).replace("_", "").replace("-", "").lower()


def _files(named: Mapping[str, Any]) -> Iterator[str]:
    for key, value in named.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                yield from _files({_plain(inner): one for inner, one in item.items()})
            elif key.removesuffix("s") in _PATH_KEYS and _is_file(item, key):
                yield item


def _is_file(item: object, key: str) -> bool:
    """Whether it is no folder to search in: what has a suffix, or is called a file."""
    return isinstance(item, str) and (bool(_SUFFIX.search(item)) or "file" in key)


def _command(named: Mapping[str, Any]) -> str:
    for key, value in named.items():
        line = " ".join(map(str, value)) if isinstance(value, list) else value
        if key in _COMMAND_KEYS and isinstance(line, str) and line.strip():
            return " ".join(line.strip().partition("\n")[0].split())[:HEAD]
    return ""


def paths_in(text: str) -> frozenset[str]:
    """Return the paths of files that stand in a text."""
    return frozenset(_PATHS.findall(text))


def identifiers_in(text: str) -> frozenset[str]:
    """Return the names of code that stand in a text outside of paths."""
    return frozenset(_IDENTIFIERS.findall(_PATHS.sub(" ", text)))


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text, with their letters as they are, whole and in their parts."""
    return frozenset(_WORDS.findall(text)) | frozenset(_PARTS.findall(text))


def said_in(message: Message) -> str:
    """Return what the user wrote in a message, by the marks of whoever read the recording."""
    is_theirs = message.role == "user" and not (message.is_summary or message.is_marker)
    return message.words.strip() if is_theirs else ""


def said_in_results(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the user's words that tool results quote: reasons, answers, and approved plans."""
    for message in messages:
        yield from (words for result in message.tool_results if (words := user_words(result)))


def result_text(result: ToolResultBlock) -> str:
    """Return the text of what a tool answered."""
    if isinstance(result.content, tuple):
        return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    return result.content or ""


def text_of(messages: Iterable[Message]) -> str:
    """Return all that messages say: texts, what tools were called with, and what they answered."""
    return "\n".join(
        text for message in messages for block in message.blocks for text in _block(block)
    )


def _block(block: Block) -> Iterator[str]:
    match block:
        case TextBlock(text):
            yield text
        case ToolUseBlock(_, name, input_):
            yield name
            yield from (text for _, text in leaves(input_))
        case ToolResultBlock():
            yield result_text(block)


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers within plain data, each with the key that it stands under."""
    match value:
        case Mapping():
            for inner, item in value.items():
                yield from leaves(item, str(inner))
        case list() | tuple():
            for item in value:
                yield from leaves(item, key)
        case None:
            return
        case _:
            yield key, str(value)
