"""Carry pinned messages over a condensation, word for word and as often as there is one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from condense.messages import Block, ImageBlock, Message, TextBlock
from condense.shaping import tools_to_text
from condense.situation import Reduction, Situation

HEADING = "## Pinned Message, Verbatim ("


def carried_pins(situation: Situation, hidden: Sequence[Message]) -> tuple[Block, ...]:
    """Return what is pinned among ``hidden``, and what earlier summaries there carry of it.

    With the whole history at hand, so is what was pinned after it was hidden; and what was
    unpinned since is carried no more. What another message still shows needs nobody to carry it.
    """
    ids = {message.id for message in hidden}
    gone = {message.id for message in situation.history if not _is_pinned(message)}
    shown = dict(_pins(message for message in situation.effective if message.id not in ids))
    pinned = (message for message in situation.history if _is_pinned(message))
    found = dict((*_pins(hidden), *_pins(pinned)))
    return tuple(
        block
        for heading, blocks in found.items()
        if heading not in shown and _id_in(heading) not in gone
        for block in blocks
    )


def loses_pins(situation: Situation, reduction: Reduction) -> bool:
    """Whether something pinned is hidden and not carried, or has a result cleared."""
    hidden = reduction.hidden_among(situation.effective)
    if reduction.kind == "cleared":
        return any(map(_is_pinned, hidden))
    carried = reduction.message.blocks
    return not all(pin in carried for pin in carried_pins(situation, hidden))


def shows_pin(effective: Sequence[Message], message: Message) -> bool:
    """Whether the model reads a pinned message word for word: itself, or in what carries it."""
    heading, blocks = _pin(message)
    shown = (_pin(one)[1] for one in effective if one.id == message.id)
    carried = (found[1] for found in _carried_by(effective) if found[0] == heading)
    return any(one == blocks for one in (*shown, *carried))


def carried_pin_ids(effective: Sequence[Message]) -> frozenset[str]:
    """Return the ids of the messages that summaries and markers carry word for word."""
    return frozenset(_id_in(heading) for heading, _blocks in _carried_by(effective))


def readdress_pins(message: Message, ids: Mapping[str, str]) -> Message:
    """Return a summary or marker whose pins are those of copies, by the ids of the originals."""
    blocks = tuple(_readdressed(block, ids) for block in message.blocks)
    return message if blocks == message.blocks else message.with_content(blocks)


def _readdressed(block: Block, ids: Mapping[str, str]) -> Block:
    if not (isinstance(block, TextBlock) and block.text.startswith(HEADING)):
        return block
    heading, end, rest = block.text.partition("\n")
    before, comma, _ = heading.rpartition(", ")
    id_ = _id_in(heading)
    return replace(block, text=f"{before}{comma}{ids.get(id_, id_)}){end}{rest}")


def _is_pinned(message: Message) -> bool:
    return message.tags.pinned and not message.taken_back


def _pins(messages: Iterable[Message]) -> Iterator[tuple[str, list[Block]]]:
    """Yield each pin of some messages: its first line, and all that it says."""
    for message in messages:
        if message.is_summary or message.is_marker:
            yield from _carried(message.blocks)
        elif _is_pinned(message):
            yield _pin(message)


def _carried_by(messages: Iterable[Message]) -> Iterator[tuple[str, list[Block]]]:
    for message in messages:
        if message.is_summary or message.is_marker:
            yield from _carried(message.blocks)


def _pin(message: Message) -> tuple[str, list[Block]]:
    heading = f"{HEADING}{message.role}, {message.id})"
    flat = tools_to_text(message.lasting)
    images = [block for block in flat.blocks if isinstance(block, ImageBlock)]
    return heading, [TextBlock(f"{heading}\n{flat.text}"), *images]


def _carried(blocks: Iterable[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Yield the pins in a summary's blocks: a text with the heading, and the images after it."""
    pin: tuple[str, list[Block]] | None = None
    for block in blocks:
        if isinstance(block, ImageBlock) and pin:
            pin[1].append(block)
            continue
        if pin:
            yield pin
        text = block.text if isinstance(block, TextBlock) else ""
        pin = (text.partition("\n")[0], [block]) if text.startswith(HEADING) else None
    if pin:
        yield pin


def _id_in(heading: str) -> str:
    return heading.rpartition(", ")[2].removesuffix(")")
