"""Files that the agent read or the user mentioned, as a conversation shows them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from condense.history.boundaries import pair_calls
from condense.messages import Message, TextBlock, ToolUseBlock, beside_of

# Tools that read files, by the names they have here and in sessions recorded by other agents.
READING = frozenset(
    {"fs_read", "notebookread", "open_file", "read", "read_file", "read_files", "read_many_files",
     "readfile", "view", "view_file"}
)  # fmt: skip
# Tools that read or write, depending on their argument "command".
READING_OR_WRITING = frozenset({"str_replace_based_edit_tool", "str_replace_editor"})
PATHS = ("path", "file_path", "filepath", "filePath", "notebook_path", "files", "paths")
# A file that the user mentions, and one whose content was put into the message for a mention.
_MENTION = re.compile(r"(?<!\S)@/((?:\\ |[^\s\\])+)")
_CONTENT = re.compile(r'<file_content path="([^"\n]+)"')
# A file that an earlier condensation folded: its summary is all that is left of the read.
_FOLDED = re.compile(r"<system-reminder>\n## File Context: (.+)\n")
_PUNCTUATION = ".,:;!?)]}\"'`"


def files_read(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the paths the agent read or the user mentioned, newest first, each once.

    Files that were only edited do not count, and neither does a call that failed. Files that a
    summary shows folded were read before it.
    """
    # A call is identified by its block: other messages may use its id again.
    failed = {id(pair.call) for pair in pair_calls(messages).answered if pair.result.is_error}
    found: list[str] = []
    for message in reversed(messages):
        for block in message.blocks:
            match block:
                case ToolUseBlock() if id(block) not in failed:
                    found += paths_read(block)
                case TextBlock() if message.is_summary and (folded := _FOLDED.match(block.text)):
                    found.append(folded[1])
                case TextBlock() if beside := beside_of(block):
                    # A file that was added to somebody's words because they mention it.
                    found += [str(beside["name"])] if beside.get("mention") == "file" else []
                case TextBlock(text) if message.role == "user":
                    found += _CONTENT.findall(text)
                    # If there is none, this finds out many times faster than the expression.
                    for path in _MENTION.findall(text) if "@/" in text else ():
                        found.append(path.replace("\\ ", " ").rstrip(_PUNCTUATION))
    return tuple(dict.fromkeys(found))


def paths_read(call: ToolUseBlock) -> tuple[str, ...]:
    """Return the paths that a call reads, none for any other call."""
    name, argument = call.name.lower(), call.input
    views = isinstance(argument, Mapping) and argument.get("command") == "view"
    reads = name in READING or (name in READING_OR_WRITING and views)
    return tuple(_paths_in(argument)) if reads else ()


def _paths_in(argument: Any) -> Iterable[str]:
    """Find the paths in a call's input, however deep in lists they stand."""
    match argument:
        case str():
            return (argument,) if argument else ()
        case Mapping():
            return chain.from_iterable(_paths_in(argument[key]) for key in PATHS if key in argument)
        case Sequence():
            return chain.from_iterable(map(_paths_in, argument))
        case _:
            return ()
