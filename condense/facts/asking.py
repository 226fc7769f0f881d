"""What the user said, without what clients put into the user's mouth."""

import re
from collections import Counter

from condense.facts.plain import one_line
from condense.messages import Message, TextBlock, beside_of

NAME = 100  # characters; a longer URL is cut
SHORTEST = 3  # characters; less names nothing

# Blocks that agents' clients add to the user's messages.
_INJECTED = re.compile(r"<(system-reminder|environment_details|local-command-caveat)>")
# Texts that clients write in the user's name: summaries, results without their call, what a shell
# command printed, that somebody pressed a key, and commands about the client itself.
_NOT_SAID = re.compile(
    r"This session is being continued from a previous conversation|## Conversation Summary\n"
    r"|Tool result:\n|\[Tool Result|\[Request interrupted by user"
    r"|<local-command-std(?:out|err)>|<bash-std(?:out|err)>"
    r"|<command-name>/(?:exit|quit|clear|compact|resume|login|logout|model|config|help|status|cost)"
    r"</command-name>"
)
# Hostile texts are as long as others: each part is looked at once, from where it can begin.
_NAMES = re.compile(
    r"https?://[^\s<>\"'`)\]]+"
    r"|(?<=`)[^`\s][^`\n]{0,58}[^`\s](?=`)"
    r"|\b[A-Z][A-Z0-9]+-\d+\b"
    r"|(?<![\w/])#\d+\b"
    r"|(?:(?<![\w.-])|(?<!\w)(?=~))[~.]{0,2}/?[\w.-]++(?:/[\w.-]++)++"
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"
    r"|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+\.[a-z]{1,4}\b"
)


def said(message: Message) -> str:
    """Return the user's own words, character for character, or nothing."""
    if message.role != "user" or message.is_summary or message.is_marker:
        return ""
    texts = [block for block in message.blocks if isinstance(block, TextBlock)]
    if not texts:
        return ""
    own = [block.text for block in texts if not beside_of(block)]
    text = "\n".join([text for text in own if not _NOT_SAID.match(text)])
    if "<" in text:
        text = _without_injected(text)
    return text if text.strip() else ""


def _without_injected(text: str) -> str:
    """Return the text without injected blocks and the space after them; one may lack its end."""
    parts: list[str] = []
    end = 0
    unclosed: set[str] = set()
    for opening in _INJECTED.finditer(text):
        if opening.start() < end or opening[1] in unclosed:
            continue
        closing = f"</{opening[1]}>"
        closed = text.find(closing, opening.end())
        if closed < 0:
            unclosed.add(opening[1])
            continue
        parts.append(text[end : opening.start()])
        end = closed + len(closing)
    first, *others = (*parts, text[end:])
    return "".join((first, *map(str.lstrip, others)))


def names_in(text: str) -> tuple[str, ...]:
    """Return URLs, paths and identifiers, each once, the one named most often first."""
    found = Counter(
        match.group().rstrip(".,:;!?()")
        for line in text.split("\n")
        for match in _NAMES.finditer(_worth_searching(line))
    )
    return tuple(one_line(name, NAME) for name, _ in found.most_common() if len(name) >= SHORTEST)


def _worth_searching(line: str) -> str:
    """Leave out plain words, most of any text: no name but a quoted one spans a space."""
    if "`" in line:
        return line
    words = line.split()
    plain = frozenset(filter(_is_plain, frozenset(words)))
    return " ".join(word for word in words if word not in plain)


def _is_plain(word: str) -> bool:
    return word.isalpha() and (word.islower() or word.istitle())
