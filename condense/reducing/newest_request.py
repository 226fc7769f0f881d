"""Carry the request that is being worked on over a condensation, word for word."""

from collections.abc import Sequence

from condense.messages import Block, ImageBlock, Message, TextBlock
from condense.situation import Addition
from condense.tokens import TokenCounter

HEADING = "## Newest Request, Verbatim"
LEFT_OUT = "\n[… {count} characters left out here; search the history for the whole request …]\n"


def carry_newest(
    effective: Sequence[Message],
    hidden: Sequence[Message],
    facts: Sequence[TextBlock],
    room: float,
    counter: TokenCounter,
) -> Addition:
    """Carry the newest request where it is hidden, unless the ledger has all of it.

    A request is a user message with text, or images, that is not just tool results; a summary or
    marker may carry an earlier one.
    """
    requests = ((one, _request_in(one)) for one in reversed(effective) if one.role == "user")
    message, request = next((found for found in requests if found[1]), (None, ()))
    is_carried = message is not None and (message.tags.pinned or _holds(facts, request))
    if message not in hidden or is_carried:
        return Addition()
    return carry(request, room, counter)


def _request_in(message: Message) -> tuple[Block, ...]:
    images = tuple(block for block in message.blocks if isinstance(block, ImageBlock))
    carries = message.is_summary or message.is_marker
    text = _carried_text(message) if carries else message.text
    return (*((TextBlock(text),) if text.strip() else ()), *images)


def _carried_text(made: Message) -> str:
    texts = (block.text for block in made.blocks if isinstance(block, TextBlock))
    start = f"{HEADING}\n"
    return next((text.removeprefix(start) for text in texts if text.startswith(start)), "")


def _holds(facts: Sequence[TextBlock], request: Sequence[Block]) -> bool:
    """Whether the ledger has the whole request already."""
    texts = [block.text for block in request if isinstance(block, TextBlock)]
    known = "\n".join(block.text for block in facts)
    return len(texts) == len(request) and all(f"\n{text}\n" in known for text in texts)


def carry(request: Sequence[Block], room: float, counter: TokenCounter) -> Addition:
    """Return the request under its heading, cut to ``room`` tokens where it takes more."""
    text = "\n".join(block.text for block in request if isinstance(block, TextBlock))
    images = tuple(block for block in request if isinstance(block, ImageBlock))
    notes: list[str] = []
    if images and counter.count((_headed(text), *images)) > room:
        notes.append(f"The newest request's images ({len(images)}) did not fit and are hidden.")
        text, images = f"{text}\n[images left out: {len(images)}]".strip(), ()
    shortened = _shortened(text, room, counter)
    if shortened != text:
        notes.append("The newest request did not fit whole; its middle is hidden.")
    if not text and not images:
        return Addition()
    return Addition(blocks=(_headed(shortened), *images), notes=tuple(notes))


def _headed(text: str) -> TextBlock:
    return TextBlock(f"{HEADING}\n{text}")


def _shortened(text: str, room: float, counter: TokenCounter) -> str:
    """Return beginning and end of the text, as much as fits; at least the words that say so."""
    kept, shortened = len(text), text
    while kept and (tokens := counter.count((_headed(shortened),))) > room:
        # A tenth less than the proportion: text is not equally dense everywhere.
        kept = min(kept - 1, int(kept * 0.9 * max(room, 0) / tokens))
        end = kept // 2
        gap = LEFT_OUT.format(count=len(text) - kept)
        shortened = text[: kept - end] + gap + text[len(text) - end :]
    return shortened
