"""Carry what the user asked for over a condensation, word for word."""

from collections.abc import Sequence
from itertools import takewhile

from condense.messages import Block, ImageBlock, Message, TextBlock
from condense.situation import Addition
from condense.tokens import TokenCounter

HEADING = "## Newest Request, Verbatim"
FIRST = "## First Message, Verbatim"
NAMES = {HEADING: "newest request", FIRST: "first message"}
LEFT_OUT = "\n[… {count} characters left out here; search the history for the whole request …]\n"


def carry_newest(
    effective: Sequence[Message],
    hidden: Sequence[Message],
    known: Sequence[Block],
    room: float,
    counter: TokenCounter,
) -> Addition:
    """Carry the newest request where it is hidden, unless all of it is ``known`` already.

    A summary or marker may carry an earlier one.
    """
    message, request = newest_request(effective)
    is_carried = message is not None and (message.tags.pinned or _holds(known, request))
    if message not in hidden or is_carried:
        return Addition()
    return carry(request, room, counter)


def carry_first(effective: Sequence[Message], room: float, counter: TokenCounter) -> Addition:
    """Carry the conversation's first message, which an earlier summary may carry already."""
    first = effective[0]
    made = first.is_summary or first.is_marker
    return carry(_carried(first, FIRST) if made else _said_in(first), room, counter, FIRST)


def newest_request(effective: Sequence[Message]) -> tuple[Message | None, Sequence[Block]]:
    """Return the newest request and the message it stands in, None where there is none.

    A request is what a user message has of text, or images, beside tool results.
    """
    requests = ((one, _request_in(one)) for one in reversed(effective) if one.role == "user")
    return next((found for found in requests if found[1]), (None, ()))


def _request_in(message: Message) -> tuple[Block, ...]:
    if message.is_summary or message.is_marker:
        return _carried(message, HEADING) or _carried(message, FIRST)
    return _said_in(message)


def _said_in(message: Message) -> tuple[Block, ...]:
    images = tuple(block for block in message.blocks if isinstance(block, ImageBlock))
    return (*((TextBlock(message.text),) if message.text.strip() else ()), *images)


def _carried(made: Message, heading: str) -> tuple[Block, ...]:
    """Return what a summary or marker carries under a heading, the images behind it too."""
    start = f"{heading}\n"
    for index, block in enumerate(made.blocks):
        if isinstance(block, TextBlock) and block.text.startswith(start):
            images = takewhile(lambda one: isinstance(one, ImageBlock), made.blocks[index + 1 :])
            return (TextBlock(block.text.removeprefix(start)), *images)
    return ()


def _holds(known: Sequence[Block], request: Sequence[Block]) -> bool:
    """Whether all of the request stands in what is known already, such as the ledger."""
    said = "\n".join([block.text for block in known if isinstance(block, TextBlock)])
    return all(
        f"\n{block.text}\n" in f"{said}\n" if isinstance(block, TextBlock) else block in known
        for block in request
    )


def carry(
    request: Sequence[Block], room: float, counter: TokenCounter, heading: str = HEADING
) -> Addition:
    """Return the request under its heading, cut to ``room`` tokens where it takes more."""
    text = "\n".join(block.text for block in request if isinstance(block, TextBlock))
    images = tuple(block for block in request if isinstance(block, ImageBlock))
    notes: list[str] = []
    name = NAMES[heading]
    if images and counter.count((_headed(text, heading), *images)) > room:
        notes.append(f"The {name}'s images ({len(images)}) did not fit and are hidden.")
        text, images = f"{text}\n[images left out: {len(images)}]".strip(), ()
    shortened = _shortened(text, heading, room, counter)
    if shortened != text:
        notes.append(f"The {name} did not fit whole; its middle is hidden.")
    if not text and not images:
        return Addition()
    return Addition(blocks=(_headed(shortened, heading), *images), notes=tuple(notes))


def _headed(text: str, heading: str) -> TextBlock:
    return TextBlock(f"{heading}\n{text}")


def _shortened(text: str, heading: str, room: float, counter: TokenCounter) -> str:
    """Return beginning and end of the text, as much as fits; at least the words that say so."""
    kept, shortened = len(text), text
    while kept and (tokens := counter.count((_headed(shortened, heading),))) > room:
        # A tenth less than the proportion: text is not equally dense everywhere.
        kept = min(kept - 1, int(kept * 0.9 * max(room, 0) / tokens))
        end = kept // 2
        gap = LEFT_OUT.format(count=len(text) - kept)
        shortened = text[: kept - end] + gap + text[len(text) - end :]
    return shortened
