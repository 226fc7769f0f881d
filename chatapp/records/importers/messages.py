"""Messages as the Messages API has them: a list, or an object with ``messages``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.records.transfer import Beside, Piece, Problem
from chatapp.records.transfer.source_texts import describe_loss, joined, texts_in
from chatapp.records.transfer.transcript_files import LARGEST, Sample, read_messages
from chatapp.records.transfer.transcripts import IN_PARTS, check_message, in_parts
from condense import noop

LABEL = noop("Anthropic messages")
WHERE = gettext_lazy("A JSON file with a list of messages.")


def recognise(sample: Sample) -> bool:
    """Return True if an item has such a message's role; formats with marks are tried before."""
    return any(str(item.get("role")) in {"user", "assistant"} for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield the messages one by one, each as it is read, and at the end the system prompt."""
    beside: dict[str, Any] = {"system": None}
    for found in read_messages(path, beside, most=LARGEST):
        if isinstance(found, Problem):
            yield found
            continue
        message, reasons = check_message(found[1])
        yield from (Problem(found[0], reason) for reason in reasons)
        if not reasons and (loss := describe_loss(texts_in(found[1]), message)):
            yield Problem(found[0], loss)
        parts = in_parts(message) if message else ()
        if len(parts) > 1:
            yield Problem(found[0], IN_PARTS.format(count=len(parts)))
        yield from parts
    if text := joined(beside["system"]):
        yield Beside("conversation", {"system_prompt": text})
