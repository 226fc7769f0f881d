"""``<command>`` blocks: directives that survive every condensation."""

import re
from collections.abc import Iterable, Iterator

from condense.messages import Message, TextBlock, beside_of, user_words

_OPEN, _CLOSE = "<command", "</command>"
# What stands beside somebody's words is a directive only where it says so.
_MEANT = (None, "command")
# How the block begins in which a summary or marker repeats what it hides. Whatever else it quotes,
# such as a request with its files, is no directive.
REMINDER = "<system-reminder>\n## Active Workflows\n"
_NAME = re.compile(r"""\bname\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def extract_command_blocks(message: Message) -> str:
    """Return the message's ``<command …>…</command>`` blocks, joined by newlines."""
    return "\n".join(_blocks(message))


def command_blocks(messages: Iterable[Message]) -> tuple[str, ...]:
    """Return the blocks of all user messages, the newest of each name, oldest name first.

    A summary repeats in a reminder the blocks it hides, so they outlive repeated condensation.
    The name is the opening tag's ``name`` attribute, or the whole tag where it has none.
    """
    newest: dict[str, str] = {}
    for message in messages:
        for block in _blocks(message) if message.role == "user" else ():
            tag = block[: block.index(">") + 1]
            named = _NAME.search(tag)
            newest[(named[1] or named[2] or tag) if named else tag] = block
    return tuple(newest.values())


def _blocks(message: Message) -> Iterator[str]:
    """Yield the blocks in what may hold directives: what a file says is none."""
    if message.is_summary or message.is_marker:
        # The first is its own words, or all of another program's summary.
        told = [block.text for block in message.blocks[1:] if isinstance(block, TextBlock)]
        meant = [text for text in told if text.startswith(REMINDER)]
    else:
        texts = [block for block in message.blocks if isinstance(block, TextBlock)]
        named = [block for block in texts if beside_of(block).get("kind") in _MEANT]
        meant = [block.text if beside_of(block) else user_words(block) for block in named]
    text, end = "\n".join(meant), 0
    while (start := text.find(_OPEN, end)) >= 0:
        opened = text.find(">", start + len(_OPEN))
        closed = text.find(_CLOSE, opened + 1)
        if opened < 0 or closed < 0:
            return
        end = closed + len(_CLOSE)
        yield text[start:end]
