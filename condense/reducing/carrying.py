"""Carry what the user asked for over a condensation, word for word."""

from collections.abc import Sequence
from itertools import takewhile

from condense.messages import Block, ImageBlock, Message, TextBlock
from condense.situation import Addition, Reduction
from condense.tokens import TokenCounter

HEADING = "## Newest Request, Verbatim"
FIRST = "## First Message, Verbatim"
ANSWERED = "## Newest Request, Answered Already"
NAMES = {HEADING: "newest request", FIRST: "first message", ANSWERED: "newest request"}
# Of a request that was answered, no more is needed than to know what it was about.
ANSWERED_TOKENS = 200
BEGINNING = 60  # characters that tell one request from another
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


def carry_answered(
    effective: Sequence[Message],
    made: Reduction,
    left_out: Sequence[Block],
    counter: TokenCounter,
) -> Sequence[Block]:
    """Carry the newest request where only what is ``left_out`` would have told of it.

    That is one which was answered; whatever is worked on is carried already.
    """
    message, request = newest_request(effective, (HEADING, FIRST, ANSWERED))
    text = " ".join(block.text for block in request if isinstance(block, TextBlock)).strip()
    told = "\n".join(block.text for block in left_out if isinstance(block, TextBlock))
    beginning = text[:BEGINNING]
    is_hidden = message is not None and message.id in made.hidden
    if not is_hidden or beginning in made.message.text or beginning not in told:
        return ()
    return carry((TextBlock(text),), ANSWERED_TOKENS, counter, ANSWERED).blocks


def carry_first(effective: Sequence[Message], room: float, counter: TokenCounter) -> Addition:
    """Carry the conversation's first message, which an earlier summary may carry already."""
    first = effective[0]
    made = first.is_summary or first.is_marker
    return carry(_carried(first, FIRST) if made else _said_in(first), room, counter, FIRST)


def newest_request(
    effective: Sequence[Message], headings: Sequence[str] = (HEADING, FIRST)
) -> tuple[Message | None, Sequence[Block]]:
    """Return the newest request and the message it stands in, None where there is none.

    A request is what a user message has of text, or images, beside tool results, or what a summary
    or marker carries under one of the ``headings``.
    """
    users = (one for one in reversed(effective) if one.role == "user")
    requests = ((one, _request_in(one, headings)) for one in users)
    return next((found for found in requests if found[1]), (None, ()))


def _request_in(message: Message, headings: Sequence[str]) -> tuple[Block, ...]:
    if not (message.is_summary or message.is_marker):
        return _said_in(message)
    carried = (_carried(message, heading) for heading in headings)
    return next(filter(None, carried), ())


def _said_in(message: Message) -> tuple[Block, ...]:
    text = message.lasting.text
    images = tuple(block for block in message.blocks if isinstance(block, ImageBlock))
    return (*((TextBlock(text),) if text.strip() else ()), *images)


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
    """Return beginning and end of the text, as much as fits; at least what tells it from others."""
    kept, shortened = len(text), text
    while kept > BEGINNING and (tokens := counter.count((_headed(shortened, heading),))) > room:
        # A tenth less than the proportion: text is not equally dense everywhere.
        kept = max(BEGINNING, min(kept - 1, int(kept * 0.9 * max(room, 0) / tokens)))
        end = kept // 2
        gap = LEFT_OUT.format(count=len(text) - kept)
        shortened = text[: kept - end] + gap + text[len(text) - end :]
    return min(text, shortened, key=len)
