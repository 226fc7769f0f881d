"""Reviews: a person sees a reduction before it is applied, and decides on it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, Protocol, Self

from condense.budget.situation import Reduction, Verdict
from condense.condenser.log import Attempt
from condense.folded_files.results import Folded
from condense.history.signed_blocks import is_compaction
from condense.messages import Message, Tags, TextBlock, content_from_api, content_to_api
from condense.prices import Usage
from condense.sentences import noop
from condense.tokens.counters import TokenCount, TokenCounter

EDITED = noop("A person changed the summary before it was applied.")
UNSIGNED = noop("The provider's signed summary is not sent: what the person wrote stands for it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A reduction that is ready, and not applied yet."""

    reduction: Reduction
    by_model: bool  # may be written again, and mostly changed by hand
    scale: float = 1.0  # from estimates to the unit of the reduction's sizes
    refused: Reduction | None = None  # a model's rejected summary; a person may still use it

    @property
    def written(self) -> Reduction:
        """The reduction that a person can change: the refused one, if any, or the proposed one."""
        return self.refused or self.reduction

    @property
    def can_be_written_again(self) -> bool:
        """True if a model can write it again."""
        return self.by_model or self.refused is not None

    @property
    def can_be_edited(self) -> bool:
        """True if a person may edit its summary."""
        placed = self._place is not None or self._line is not None
        return self.can_be_written_again and placed

    def edited(self, summary: str, counter: TokenCounter) -> Reduction:
        """Return the reduction with a person's own summary; a signed one is not sent then."""
        made = self.written
        signed = not self._line and any(map(is_compaction, made.message.blocks))
        message = self._with_line(summary) if self._line else self._with_block(summary, counter)
        more = _size(message, counter) - _size(made.message, counter)
        return replace(
            made,
            message=message,
            summary=summary,
            tokens_after=TokenCount(made.tokens_after.value + round(more * self.scale)),
            notes=(*made.notes, EDITED, UNSIGNED) if signed else (*made.notes, EDITED),
            # The verdicts were on other words.
            verdicts=(),
        )

    def _with_block(self, summary: str, counter: TokenCounter) -> Message:
        made = self.written
        blocks = [block for block in made.message.blocks if not is_compaction(block)]
        signed, at = len(blocks) < len(made.message.blocks), self._place or 0
        before = blocks[at]
        if isinstance(before, TextBlock):
            head = f"{before.text}\n\n" if signed else before.text.removesuffix(made.summary)
            blocks[at] = replace(before, text=head + summary)
        return replace(made.message, content=tuple(blocks), tokens=counter.count(tuple(blocks)))

    def _with_line(self, summary: str) -> Message:
        """Return the clearing with a person's own summary in the place of one tool's output."""
        made, tags = self.written, self.written.message.tags
        message_id, call = self._line or ("", "")
        lines = tags.cleared[message_id]
        lines = {**lines, call: lines[call].removesuffix(made.summary) + summary}
        cleared = {**tags.cleared, message_id: lines}
        return replace(made.message, tags=replace(tags, cleared=cleared))

    @property
    def _line(self) -> tuple[str, str] | None:
        """The message and the call whose output the summary replaces, None for none."""
        made = self.written
        found = (
            (message_id, call)
            for message_id, lines in made.message.tags.cleared.items()
            for call, line in lines.items()
            if line.endswith(made.summary)
        )
        return next(found, None) if made.summary else None

    @property
    def _place(self) -> int | None:
        """The index of the summary among the unsigned blocks, None if it is not among them."""
        made = self.written
        blocks = [block for block in made.message.blocks if not is_compaction(block)]
        if len(blocks) < len(made.message.blocks):
            return 0
        texts = [block.text if isinstance(block, TextBlock) else "" for block in blocks]
        ends = (index for index, text in enumerate(texts) if text.endswith(made.summary))
        return next(ends, None) if made.summary else None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, so that a review outlives the process."""
        more: dict[str, Any] = {"by_model": self.by_model, "scale": self.scale}
        more["refused"] = self.refused and _to_json(self.refused)
        return _to_json(self.reduction) | more

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the proposal of a result of :meth:`to_json`."""
        made = dict(data)
        more = {name: made.pop(name) for name in ("by_model", "scale")}
        refused = made.pop("refused", None)
        return cls(reduction=_from_json(made), refused=refused and _from_json(refused), **more)


def _to_json(made: Reduction) -> dict[str, Any]:
    # Blocks and folded files have a form of their own.
    data = asdict(replace(made, message=replace(made.message, content=()), folded=None))
    data["message"]["content"] = content_to_api(made.message.content)
    data["usage"] = made.usage.counts
    return data | {"folded": made.folded and made.folded.to_json(), "cost": str(made.cost)}


def _from_json(data: Mapping[str, Any]) -> Reduction:
    made, said = dict(data), dict(data["message"])
    tags = Tags(**said["tags"] | {"hides": tuple(said["tags"]["hides"])})
    said |= {"role": "user", "content": content_from_api(said["content"]), "tags": tags}
    verdicts = [{**one, "issues": tuple(one["issues"])} for one in made["verdicts"]]
    made |= {
        "message": Message(**said),
        "hidden": tuple(made["hidden"]),
        "tokens_before": TokenCount(**made["tokens_before"]),
        "tokens_after": TokenCount(**made["tokens_after"]),
        "usage": Usage(**made.get("usage", {})),
        "cost": Decimal(made["cost"]),
        "notes": tuple(made["notes"]),
        "verdicts": tuple([Verdict(**one) for one in verdicts]),
        "folded": Folded.from_json(made["folded"]) if made["folded"] else None,
    }
    return Reduction(**made)


def _size(message: Message, counter: TokenCounter) -> int:
    """Return the tokens of a message, and of the lines that it has in place of results."""
    lines = [line for lines in message.tags.cleared.values() for line in lines.values()]
    return counter.count((*message.blocks, *map(TextBlock, lines)))


@dataclass(frozen=True, slots=True)
class Accept:
    """Apply the draft, with the person's own ``summary``, or the model's refused one."""

    summary: str | None = None
    uses_refused: bool = False


@dataclass(frozen=True, slots=True)
class WriteAgain:
    """Have the summary written again; ``focus`` is to be kept above all."""

    focus: str = ""


class Reviewer(Protocol):
    """Shows each proposal to a person, and returns the decision."""

    async def heard(self, attempt: Attempt, read: Callable[[], str]) -> None:
        """A piece was written; ``read`` returns the summary so far."""

    async def review(self, attempt: Attempt, proposal: Proposal) -> Accept | WriteAgain:
        """Return the decision on a proposal; raise Discarded to drop it."""


class NoReview:
    """Applies every proposal unchanged."""

    async def heard(self, attempt: Attempt, read: Callable[[], str]) -> None:
        """Do nothing."""

    async def review(self, attempt: Attempt, proposal: Proposal) -> Accept | WriteAgain:  # noqa: ARG002
        """Accept it."""
        return Accept()
