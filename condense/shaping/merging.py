"""Merge messages of one role that follow each other, as strictly alternating APIs need."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from condense.messages import Message, Role

USER_ONLY: tuple[Role, ...] = ("user",)


def merge_consecutive(
    messages: Sequence[Message], roles: Collection[Role] = USER_ONLY, *, markers: bool = False
) -> tuple[Message, ...]:
    """Return the messages with runs of one of ``roles`` joined into the first of each run.

    A summary starts a run of its own and a truncation marker stands alone, unless ``markers``
    says that they are merged too.
    """
    return tuple(map(_merged, _runs(messages, roles, markers=markers)))


def _runs(
    messages: Sequence[Message], roles: Collection[Role], *, markers: bool
) -> Iterator[list[Message]]:
    """Yield runs of messages to join, one at a time."""
    run: list[Message] = []
    for message in messages:
        if run and not (message.role in roles and _joins(run[-1], message, markers=markers)):
            yield run
            run = []
        run.append(message)
    if run:
        yield run


def _joins(previous: Message, message: Message, *, markers: bool) -> bool:
    if previous.role != message.role:
        return False
    apart = message.is_summary or message.is_marker or previous.is_marker
    return markers or not apart


def _merged(run: list[Message]) -> Message:
    if len(run) == 1:
        return run[0]
    known = [message.tokens for message in run if message.tokens is not None]
    content = tuple(block for message in run for block in message.blocks)
    tokens = sum(known) if len(known) == len(run) else None
    return replace(run[0], content=content, tokens=tokens)
