"""Carried words: text that survives a condensation word for word, and notes on unread messages.

That is the request that is worked on, the conversation's first message, the user's ``<command>``
blocks, and pins.
"""

import asyncio
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from condense.budget.situation import Addition, Gauge, Reduction, Situation
from condense.facts.ledger import parse_ledger
from condense.facts.notebook import budget_in, ledger
from condense.messages import Block, ImageBlock, Message, TextBlock, beside_of, user_words
from condense.requests.tools_as_text import tools_to_text
from condense.sentences import noop, say
from condense.tokens.counters import TokenCounter

Section = tuple[str, list[Block]]

REQUEST = "## Newest Request, Verbatim"
FIRST_MESSAGE_TITLE = "## First Message, Verbatim"
ANSWERED = "## Newest Request, Answered Already"
IMAGES_HIDDEN = noop("The {what}'s images ({count}) did not fit and are hidden.")
# Tokens for a request that was answered: only its subject is needed.
ANSWERED_TOKENS = 200
REQUEST_TELLING_CHARS = 60  # characters that tell one request from another
CHARACTERS_LEFT_OUT = (
    "\n[… {count} characters left out here; search the history for the whole request …]\n"
)
PIN = "## Pinned Message, Verbatim ("
_OPEN, _CLOSE = "<command", "</command>"
# A block that was added to somebody's words is a directive only if it says so.
_MEANT = "command"
# The beginning of the block in which a summary or marker repeats directives that it hides. Its
# other quotations, such as a request with its files, are no directives.
REMINDER = "<system-reminder>\n## Active Workflows\n"
_NAME = re.compile(r"""\bname\s*=\s*(?:"([^"]*)"|'([^']*)')""")
WORKFLOWS = (
    f"{REMINDER}"
    "The following directives must be maintained across all future condensings:\n"
    "{blocks}\n</system-reminder>"
)
UNREAD_REMINDER = (
    "The newest {messages} messages (about {tokens} tokens, {results} tool results among them) do "
    "not fit into the context and are hidden before they were read. Run a tool again in a way "
    "that answers less, or search the history."
)


def carry_newest(
    effective: Sequence[Message],
    hidden: Sequence[Message],
    known: Sequence[Block],
    room: float,
    counter: TokenCounter,
) -> Addition:
    """Carry the newest request if it is hidden, unless all of it is ``known`` already."""
    # A summary or marker may carry an earlier one.
    message, request = newest_request(effective)
    is_carried = message is not None and (message.tags.pinned or _holds(known, request))
    if message not in hidden or is_carried:
        return Addition()
    return carry(request, room, counter)


def carry_answered(
    effective: Sequence[Message], made: Reduction, left_out: Sequence[Block], counter: TokenCounter
) -> Sequence[Block]:
    """Carry the newest request if only the ``left_out`` blocks would have contained it."""
    # Such a request was answered; one that is worked on is carried already.
    message, request = newest_request(effective, (REQUEST, FIRST_MESSAGE_TITLE, ANSWERED))
    text = " ".join([block.text for block in request if isinstance(block, TextBlock)]).strip()
    told = "\n".join([block.text for block in left_out if isinstance(block, TextBlock)])
    beginning = text[:REQUEST_TELLING_CHARS]
    is_hidden = message is not None and message.id in made.hidden
    if not is_hidden or beginning in made.message.text or beginning not in told:
        return ()
    return carry((TextBlock(text),), ANSWERED_TOKENS, counter, ANSWERED).blocks


def carry_first(effective: Sequence[Message], room: float, counter: TokenCounter) -> Addition:
    """Carry the conversation's first message, which an earlier summary may carry already."""
    first = effective[0]
    made = first.is_summary or first.is_marker
    return carry(
        _found_under(first, FIRST_MESSAGE_TITLE) if made else _said_in(first),
        room,
        counter,
        FIRST_MESSAGE_TITLE,
    )


def newest_request(
    effective: Sequence[Message], headings: Sequence[str] = (REQUEST, FIRST_MESSAGE_TITLE)
) -> tuple[Message | None, Sequence[Block]]:
    """Return the newest request and its message, None if there is none.

    A request is the text and images of a user message apart from its tool results, or the carried
    text under one of the ``headings`` in a summary or marker.
    """
    for message in reversed([one for one in effective if one.role == "user"]):
        if message.is_summary or message.is_marker:
            carried = [_found_under(message, heading) for heading in headings]
            request = next(filter(None, carried), ())
        else:
            request = _said_in(message)
        if request:
            return message, request
    return None, ()


def _said_in(message: Message) -> tuple[Block, ...]:
    texts = [one for one in message.lasting.blocks if isinstance(one, TextBlock)]
    # A text that was only written in the user's name is no request.
    text = "\n".join([one.text for one in texts if user_words(one) or beside_of(one)])
    images = tuple([block for block in message.blocks if isinstance(block, ImageBlock)])
    return (*((TextBlock(text),) if text.strip() else ()), *images)


def _found_under(made: Message, heading: str) -> tuple[Block, ...]:
    """Return the blocks under a heading of a summary or marker, the images behind it too."""
    for line, (block, *images) in _sections(made):
        if line == heading and isinstance(block, TextBlock):
            return (TextBlock(block.text.partition("\n")[2]), *images)
    return ()


def _sections(made: Message) -> Sequence[Section]:
    """Return the sections after a summary's or marker's own words: first lines and blocks."""
    sections: list[Section] = []
    for block in made.blocks[1:]:
        if isinstance(block, ImageBlock) and sections:
            sections[-1][1].append(block)
        else:
            text = block.text if isinstance(block, TextBlock) else ""
            sections.append((text.partition("\n")[0], [block]))
    return sections


def _holds(known: Sequence[Block], request: Sequence[Block]) -> bool:
    """Return True if known blocks, such as the ledger, contain all of the request."""
    texts = [block.text for block in known if isinstance(block, TextBlock)]
    ledgers = filter(None, map(parse_ledger, texts))
    whole = {one.text for ledger in ledgers for one in ledger.requests}
    said = "\n".join(texts)
    return all(
        block.text.strip() in whole or f"\n{block.text}\n" in f"{said}\n"
        if isinstance(block, TextBlock)
        else block in known
        for block in request
    )


def carry(
    request: Sequence[Block], room: float, counter: TokenCounter, heading: str = REQUEST
) -> Addition:
    """Return the request under its heading, cut to ``room`` tokens if it takes more."""
    text = "\n".join([block.text for block in request if isinstance(block, TextBlock)])
    images = tuple([block for block in request if isinstance(block, ImageBlock)])
    notes: list[str] = []
    name = noop("first message") if heading == FIRST_MESSAGE_TITLE else noop("newest request")
    if images and counter.count((TextBlock(f"{heading}\n{text}"), *images)) > room:
        notes.append(IMAGES_HIDDEN.format(what=name, count=len(images)))
        text, images = f"{text}\n[images left out: {len(images)}]".strip(), ()
    shortened = _shortened(text, heading, room, counter)
    if shortened != text:
        notes.append(say("The {what} did not fit whole; its middle is hidden.", what=name))
    if not text and not images:
        return Addition()
    block = TextBlock(f"{heading}\n{shortened}")
    return Addition(blocks=(block, *images), notes=tuple(notes))


def _shortened(text: str, heading: str, room: float, counter: TokenCounter) -> str:
    """Return beginning and end of the text, as much as fits.

    They have ``REQUEST_TELLING_CHARS`` characters at least.
    """
    kept, shortened = len(text), text
    while (
        kept > REQUEST_TELLING_CHARS
        and (tokens := counter.count((TextBlock(f"{heading}\n{shortened}"),))) > room
    ):
        # A tenth less than the proportion: text is not equally dense everywhere.
        kept = max(REQUEST_TELLING_CHARS, min(kept - 1, int(kept * 0.9 * max(room, 0) / tokens)))
        end = kept // 2
        gap = CHARACTERS_LEFT_OUT.format(count=len(text) - kept)
        shortened = text[: kept - end] + gap + text[len(text) - end :]
    return min(text, shortened, key=len)


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
    """Yield the directives of a message; the text of a file has none."""
    if message.is_summary or message.is_marker:
        # The first is its own words, or all of another program's summary.
        told = [block.text for block in message.blocks[1:] if isinstance(block, TextBlock)]
        meant = [text for text in told if text.startswith(REMINDER)]
    else:
        texts = [block for block in message.blocks if isinstance(block, TextBlock)]
        meant = [b.text if beside_of(b).get("kind") == _MEANT else user_words(b) for b in texts]
    text, end = "\n".join(meant), 0
    while (start := text.find(_OPEN, end)) >= 0:
        opened = text.find(">", start + len(_OPEN))
        closed = text.find(_CLOSE, opened + 1)
        if opened < 0 or closed < 0:
            return
        end = closed + len(_CLOSE)
        yield text[start:end]


async def facts_of(
    hidden: Sequence[Message], situation: Situation, *, counter: TokenCounter | None = None
) -> tuple[TextBlock, ...]:
    """Return the ledger of hidden messages, as large as the window allows, copied in a thread."""
    return await asyncio.to_thread(
        ledger,
        hidden,
        budget_tokens=budget_in(situation.budget.window),
        counter=counter,
        rules_among=situation.rules_among,
    )


def repeated_directives(situation: Situation, kept: Container[str]) -> tuple[Block, ...]:
    """Return the directives of all messages but those ``kept`` by their ids, as a reminder.

    Directives that earlier condensations hid are included, undone and rewound ones are not.
    """
    gone = [one for one in situation.history or situation.effective if one.id not in kept]
    blocks = command_blocks([one for one in gone if not one.taken_back])
    return (TextBlock(WORKFLOWS.format(blocks="\n".join(blocks))),) if blocks else ()


def tell_unread(unread: Sequence[Message], gauge: Gauge) -> Addition:
    """Return a note to model and people on messages hidden unread; empty without any."""
    if not unread:
        return Addition()
    results = [result for message in unread for result in message.tool_results]
    tokens = gauge.size(unread)
    text = UNREAD_REMINDER.format(messages=len(unread), tokens=tokens, results=len(results))
    reminder = TextBlock(f"<system-reminder>\n{text}\n</system-reminder>")
    return Addition(blocks=(reminder,), notes=(text,))


def carried_pins(situation: Situation, hidden: Sequence[Message]) -> tuple[Block, ...]:
    """Return the pins among ``hidden``, and those that earlier summaries there carry.

    If the situation has the whole history, so are messages pinned after they were hidden, and
    messages unpinned since are left out. A pin that another message still shows is not carried.
    """
    ids = {message.id for message in hidden}
    gone = {message.id for message in situation.history if not _is_pinned(message)}
    shown = dict(_pins([message for message in situation.effective if message.id not in ids]))
    found = dict((*_pins(hidden), *_pins(filter(_is_pinned, situation.history))))
    headings = [one for one in found if one not in shown and _id_in(one) not in gone]
    return tuple([block for heading in headings for block in found[heading]])


def room_beside(
    gauge: Gauge, hidden: Sequence[Message], kept: Sequence[Message], written: Sequence[Block]
) -> float:
    """Return the tokens left after the kept messages, the pins and the written blocks."""
    taken = gauge.weigh((*written, *carried_pins(gauge.situation, hidden))) + gauge.size(kept)
    return gauge.limit - gauge.fixed - taken


def loses_pins(situation: Situation, reduction: Reduction) -> bool:
    """Return True if a pin is hidden and not carried, or has a result cleared."""
    hidden = reduction.hidden_among(situation.effective)
    if reduction.kind == "cleared":
        return any(map(_is_pinned, hidden))
    carried = reduction.message.blocks
    return bool([pin for pin in carried_pins(situation, hidden) if pin not in carried])


def shows_pin(effective: Sequence[Message], message: Message) -> bool:
    """Return True if the model reads a pinned message word for word, itself or carried."""
    heading, blocks = _pin(message)
    shown = [_pin(one)[1] for one in effective if one.id == message.id]
    made = [one for one in effective if one.is_summary or one.is_marker]
    carried = [found[1] for found in _pins(made) if found[0] == heading]
    return blocks in (*shown, *carried)


def carried_pin_ids(effective: Sequence[Message]) -> frozenset[str]:
    """Return the ids of the messages that summaries and markers carry word for word."""
    made = [one for one in effective if one.is_summary or one.is_marker]
    return frozenset([_id_in(heading) for heading, _blocks in _pins(made)])


def readdress_pins(message: Message, ids: Mapping[str, str]) -> Message:
    """Return a summary or marker whose pins are those of copies, by the ids of the originals."""
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, TextBlock) and block.text.startswith(PIN):
            heading, end, rest = block.text.partition("\n")
            before, comma, _ = heading.rpartition(", ")
            id_ = _id_in(heading)
            block = replace(block, text=f"{before}{comma}{ids.get(id_, id_)}){end}{rest}")  # noqa: PLW2901
        blocks.append(block)
    return message if tuple(blocks) == message.blocks else message.with_content(tuple(blocks))


def _is_pinned(message: Message) -> bool:
    return message.tags.pinned and not message.taken_back


def _pins(messages: Iterable[Message]) -> Iterator[Section]:
    """Yield each pin of some messages: its first line, and its blocks."""
    for message in messages:
        if message.is_summary or message.is_marker:
            yield from (one for one in _sections(message) if one[0].startswith(PIN))
        elif _is_pinned(message):
            yield _pin(message)


def _pin(message: Message) -> Section:
    heading = f"{PIN}{message.role}, {message.id})"
    flat = tools_to_text(message.lasting)
    images = [block for block in flat.blocks if isinstance(block, ImageBlock)]
    return heading, [TextBlock(f"{heading}\n{flat.text}"), *images]


def _id_in(heading: str) -> str:
    return heading.rpartition(", ")[2].removesuffix(")")
