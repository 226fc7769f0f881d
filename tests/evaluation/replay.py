"""Replay: a recording condensed by one strategy at every cut, each going on from the one before."""

import re
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, override

from condense.budget.budget import Budget
from condense.budget.situation import Reduction, Situation, Trigger
from condense.condenser.condenser import Condenser
from condense.condenser.hooks import AttachFoldedFiles, Hooks, attach_ledger
from condense.condenser.ladder import Policy
from condense.errors import CondenseError
from condense.folded_files.results import Folded
from condense.folded_files.sections import fold_files
from condense.history.boundaries import pair_calls
from condense.history.effective_history import replace_hidden
from condense.messages import Message
from condense.reduction.strategy import Strategy
from condense.replay import ExcerptSummarizer
from condense.strategies import built_in_strategies, load_strategy
from condense.summaries.summarizer import Chunk, SummaryRequest, TextChunk
from condense.tokens.counters import TokenCount, TokenCounter
from tests.evaluation.contents import result_text
from tests.evaluation.recordings import Cut, Recording

DEFAULT = "default"
# "clear" is not enough alone, "provider" needs a provider, and recordings have none.
LEFT_OUT = ("clear", "provider")
# The session's recorded summary was written after all had been read. This reply says so, and lets
# a strategy hide the newest messages too.
READ = Message(role="assistant", content="Read.", id="read")
WINDOW = 200_000  # tokens, at least, unless one is given: that of Claude's models
# A line as clients number it: Claude Code with an arrow or a tab, others with a bar.
_NUMBERED = re.compile(r"^ *(\d{1,7})(?:\u2192|\t| \| )(.*)$", re.MULTILINE)
_PATHS = ("file_path", "path", "filePath", "notebook_path")


def contenders() -> tuple[str, ...]:
    """Return the default and every built-in strategy that needs no other and no provider."""
    names = (strategy.name for strategy in built_in_strategies() if strategy.name not in LEFT_OUT)
    return (DEFAULT, *names)


@dataclass(frozen=True, slots=True)
class Step:
    """What stood before and after one cut; no reduction where the strategy could make none."""

    cut: Cut
    before: tuple[Message, ...]
    after: tuple[Message, ...]
    reduction: Reduction | None


class RecordedSummarizer(ExcerptSummarizer):
    """A summarizer that answers with the recorded summary, or with an excerpt if there is none."""

    def __init__(self, summary: str) -> None:
        self.summary = summary

    @override
    async def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        if self.summary:
            yield TextChunk(self.summary)
            return
        async for chunk in super().stream(request):
            yield chunk


@dataclass(frozen=True, slots=True)
class AttachRecordedFiles(AttachFoldedFiles):
    """Adds the files as signatures, as far as ``messages`` show what is in them."""

    messages: Sequence[Message] = field(default=())

    @override
    def fold(self, paths: Sequence[str], limit: int) -> Folded:
        shown = _files_shown(self.messages)
        with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
            for path in paths:
                _write(Path(folder), path, shown.get(path))
            names = [path.lstrip("/") for path in paths if path in shown]
            return fold_files(names, folder, limit=limit)


def _files_shown(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return what was read of files, line by line, or written as a whole, by their paths."""
    lines: dict[str, dict[int, str]] = {}
    for pair in pair_calls(messages).answered:
        arguments: Any = pair.call.input
        path = next((arguments[key] for key in _PATHS if key in arguments), None)
        if not isinstance(path, str) or pair.result.is_error:
            continue
        if isinstance(content := arguments.get("content"), str):
            lines[path] = dict(enumerate(content.split("\n")))
        elif read := _NUMBERED.findall(result_text(pair.result)):
            lines.setdefault(path, {}).update((int(at), line) for at, line in read)
    return {
        path: "\n".join(line for _, line in sorted(known.items())) for path, known in lines.items()
    }


def _write(folder: Path, path: str, text: str | None) -> None:
    """Write a file that is known below the folder, unless its name leads elsewhere."""
    inside = PurePosixPath(path.lstrip("/"))
    if text is not None and ".." not in inside.parts:
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        (folder / inside).write_text(text, "utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Replay:
    """How sessions are condensed again: by which strategy, counted how, in which window if in any.

    ``default`` is a summary with what an application attaches: the ledger and the folded files.
    """

    name: str
    counter: TokenCounter
    window: int | None = None

    @property
    def strategy(self) -> Strategy:
        """The strategy of that name, or at that dotted path."""
        return load_strategy("fresh_start" if self.name == DEFAULT else self.name)

    async def run(self, recording: Recording, cuts: Sequence[Cut]) -> AsyncIterator[Step]:
        """Yield what becomes of the session at each cut."""
        seen: tuple[Message, ...] = ()
        start = 0
        for cut in cuts:
            before = (*seen, *recording.messages[start : cut.at])
            effective = (*before, replace(READ, seq=cut.at, tokens=0))
            reduction = await self._reduction(effective, cut, recording)
            seen = before
            if reduction:
                placed = replace(reduction.message, seq=cut.at)
                shown = replace_hidden(effective, reduction.hidden, placed)
                seen = tuple(message for message in shown if message.id != READ.id)
            yield Step(cut, before, seen, reduction)
            start = cut.at

    async def _reduction(
        self, effective: tuple[Message, ...], cut: Cut, recording: Recording
    ) -> Reduction | None:
        files = AttachRecordedFiles(".", messages=recording.messages[: cut.at])
        condenser = Condenser(
            RecordedSummarizer(cut.summary),
            self.counter,
            (self.strategy,),
            policy=Policy(small_window=0),
            hooks=Hooks(after=(attach_ledger, files)) if self.name == DEFAULT else None,
        )
        try:
            return await condenser.fit(self._situation(effective))
        except CondenseError:
            return None

    def _situation(self, effective: tuple[Message, ...]) -> Situation:
        """Return a situation in which the strategy has to act: by hand, or since it is too large.

        A truncation does so only in a window that the context fills to the last token.
        """
        tokens = sum(message.tokens or self.counter.count(message.content) for message in effective)
        truncates = self.strategy.kind == "truncated"
        window = self.window or (tokens if truncates else max(2 * tokens, WINDOW))
        return Situation(
            effective=effective,
            tokens=TokenCount(tokens),
            budget=Budget(window=min(window, tokens) if truncates else window, max_output=1),
            trigger=Trigger.AUTO if truncates else Trigger.MANUAL,
        )
