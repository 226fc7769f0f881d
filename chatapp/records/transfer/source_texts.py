"""Source texts: words of people and models in any program's JSON, and those an import lacks."""

import html
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from django.conf import settings

from chatapp.agent.tool_arguments import UNPARSED, read_arguments
from chatapp.models.database import go_on
from condense import noop, well_formed

# Keys of names, places, times and settings, of a page's own fields, and of copies.
_NO_TEXT = re.compile(
    r"(?:.*_)?(?:id|ids|uuid|url|urls|at|time|timestamp|type|slug|metadata)"
    r"|.*(?:Id|Uuid|URL|At|Type)"
    r"|account|annotations|author|chunks|citations|cwd|display_content|encrypted_content|endpoint"
    r"|file_?name|followUps|gitBranch|kind|models?|name|modelName|options|params|permissionMode|recipient"
    r"|role|sender|settings|signature|snippet|sources|status|statusHistory|structured_content|summaries"
    r"|tags|toolUseResult|usage|version"
)
# All but these in a call or a result: a page has words of its own for a tool's work.
_OF_PAGE = re.compile("(?!(?:args|arguments|content|input|output|tool_call)$).*", re.DOTALL)
# Under these keys, one word is text as well.
_TEXT = {
    "", "content", "error", "message", "output", "parts", "prompt", "refusal", "result", "summary",
    "text", "think", "thinking", "thoughts", "title", "transcript", "user_profile", "value",
    UNPARSED,
}  # fmt: skip
# Marks that are drawn as something else, or that stand for something that can't be drawn.
_MARKUP = re.compile(
    r"\ue200[^\ue201]*\ue201|[\ue200-\ue2ff]|<details[^>]*>|</details>|<summary>[^<]*</summary>"
    r"|```\s*This block is not supported on your current device yet\.\s*```"
)
_WORD, _ESCAPE = re.compile(r"\w+"), re.compile(r'\\(?:[nrtbf"\\/]|u[0-9a-f]{4})')
LOST = noop("{lost:,} of {total:,} characters were not imported, such as “{text}”.")
LONGEST_EXCERPT = 200
# A line and the pairs of words in it; one word alone is a pair of itself.
_Line = tuple[str, list[tuple[str, str]]]


def listed(value: Any) -> list[Any]:
    """Return a list, an empty one for any other value."""
    return value if isinstance(value, list) else []


def fields(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value in order, those in arguments of calls as well."""
    for key, text in leaves(value, in_source=True):
        if key in _TEXT or text.split(None, 1)[1:] or not text.isascii():
            yield text


def joined(value: Any) -> str:
    """Return the texts of a JSON value with empty lines between them."""
    return "\n\n".join(texts_in(value))


def describe_loss(texts: Iterable[str], imported: Any) -> str:
    """Return the number of characters that were not imported in a sentence, empty for none."""
    most, total, lines = settings.LONGEST_MESSAGE, 0, list[_Line]()
    kept = {text for _key, text in leaves(imported)}
    for text in texts:
        total += len(text)
        parts = (text[at : at + most] for at in range(0, len(text), most))
        lines += [line for part in parts if not kept & {text, part} for line in _lines(part)]
    # A line is there as it was, or its words stand together as they did.
    missing = {pair for _line, pairs in lines for pair in pairs}
    for text in kept if lines else ():
        for at in range(0, len(text), most):
            go_on()
            for _line, pairs in _lines(text[at : at + most]):
                missing.difference_update(pairs)
    lost, excerpt = 0, ""
    for line, pairs in lines:
        gone = [pair for pair in pairs if pair in missing]
        lost += len(line) if gone == pairs else sum(len(word) for _before, word in gone)
        excerpt = excerpt or (line if gone else "")
    told = LOST.format(lost=lost, total=total, text=excerpt[:LONGEST_EXCERPT])
    return well_formed(told) if lost else ""


def leaves(value: Any, *, in_source: bool = False) -> Iterator[tuple[str, str]]:
    """Yield strings with their keys; a list's are under its own. Depth has no bound."""
    waiting = [("", value)]
    while waiting:
        key, one = waiting.pop()
        if in_source and isinstance(one, str) and key not in _TEXT and one.lstrip()[:1] == "{":
            one = read_arguments(one)
        if isinstance(one, dict):
            skipped = _OF_PAGE if str(one.get("type")).startswith("tool_") else _NO_TEXT
            waiting += [
                (name, inner) for name, inner in reversed(one.items())
                if not (in_source and skipped.fullmatch(name))
            ]  # fmt: skip
        elif isinstance(one, list | tuple):
            waiting += [(key, inner) for inner in reversed(one)]
        elif isinstance(one, str) and one.strip():
            yield key, one


def _lines(text: str) -> Iterator[_Line]:
    plain = _MARKUP.sub(lambda found: "\n" if found[0][0] == "<" else "\ue200", text)
    for line in _ESCAPE.sub(" ", html.unescape(plain)).splitlines():
        parts = line.split("\ue200")
        for part in parts:
            words = _WORD.findall(part)
            # A word alone between two marks has no neighbour that it could be found with.
            if words[1:] or (words and not parts[1:]):
                yield part.strip(), [*pairwise(words)] or [(words[0], words[0])]
