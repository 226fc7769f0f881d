"""Clearing: one line in place of tool output that is superseded or old; no model is called."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from condense.budget.situation import Gauge, Kind, Reduction, Situation
from condense.errors import NothingToCondense
from condense.facts.texts import one_line
from condense.folded_files.files_read import paths_read
from condense.history.boundaries import AnsweredCall, pair_calls, unread_tail
from condense.messages import Message, Tags, ToolResultBlock, content_to_api
from condense.reduction.strategy import ByRule, make_reduction
from condense.sentences import noop
from condense.summaries.summarizer import Kit

# Recorded sessions needed no file, and one command in a hundred, from further back.
KEEP = 10
CLEARED_TEXT = "[Tool output cleared: {count} results hidden to reduce context]"
CLEARED_LINE = "[Output of {name} cleared, {size:,} characters: {reason}]"
SUPERSEDED = "the same was read again later"
OLD = "run the tool again if you need it"
TOOL_NAME_CHARS = 60  # characters of a tool's name
# A result that is hardly longer than its line is left as it is.
WORTH = 2
_NUMBERED_LINE = re.compile(r"^ *(\d{1,9}) ?[\t|:→]", re.MULTILINE)
END_CHARS = 10_000  # characters of a result, in which its last line begins


class Clear(ByRule):
    """Clears reads that a later read repeats, and all but the last ``keep`` results.

    Messages that the model has not read yet stay, and so does everything but tool results.
    """

    name = "clear"
    label = noop("shorten tool results")
    description = noop("outdated or old tool results become one line each")
    kind: Kind = "cleared"

    def __init__(self, keep: int = KEEP) -> None:
        self.keep = keep

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a clearing; raise NothingToCondense if no output is worth it."""
        effective = situation.effective
        cleared = await asyncio.to_thread(self._lines, effective)
        if not cleared:
            raise NothingToCondense(noop("No tool output is old enough to be cleared"))
        content = CLEARED_TEXT.format(count=sum(map(len, cleared.values())))
        changed = [message for message in effective if message.id in cleared]
        tags = Tags(clear_id=kit.new_id(), cleared=cleared)
        gauge = Gauge(situation, kit.counter)
        return make_reduction(self, changed, content, tags, gauge=gauge, kit=kit)

    def _lines(self, effective: Sequence[Message]) -> dict[str, dict[str, str]]:
        """Return the line for each result that may go, by its message and its call."""
        lines: dict[str, dict[str, str]] = defaultdict(dict)
        given = pair_calls(effective).answered
        again = superseded(given)
        unread = unread_tail(effective)
        for index, answer in enumerate(given):
            is_old = index < len(given) - self.keep
            is_kept = answer.answered_at >= unread or effective[answer.answered_at].tags.pinned
            if is_kept or not (is_old or index in again):
                continue
            # Images count by their data.
            size = len(str(content_to_api(answer.result.content or "")))
            name, reason = (
                one_line(answer.call.name, TOOL_NAME_CHARS),
                SUPERSEDED if index in again else OLD,
            )
            line = CLEARED_LINE.format(name=name, size=size, reason=reason)
            if size > WORTH * len(line):
                lines[effective[answer.answered_at].id][answer.call.id] = line
        return dict(lines)


def superseded(given: Sequence[AnsweredCall]) -> frozenset[int]:
    """Return the places of reads that later reads of the same files repeat in full."""
    found: set[int] = set()
    later: dict[str, list[tuple[Mapping[str, Any], int]]] = defaultdict(list)
    for index in reversed(range(len(given))):
        answer = given[index]
        paths, asked = paths_read(answer.call), answer.call.input
        if not paths or not isinstance(asked, Mapping):
            continue
        last = _last_line(answer.result)
        # A later read covers this one that asked for the same with no further limits, such as a
        # range of lines. A tool may end a long file sooner, though.
        news = [
            path
            for path in paths
            if not any(
                again.items() <= asked.items() and (len(again) == len(asked) or last <= reached)
                for again, reached in later[path]
            )
        ]
        if not news:
            found.add(index)
        if not answer.result.is_error:
            for path in news:
                later[path].append((asked, last))
    return frozenset(found)


def _last_line(result: ToolResultBlock) -> int:
    """Return the number of the last line that a result shows, 0 if it numbers none."""
    numbers = _NUMBERED_LINE.findall(Message("user", result.content or "").text[-END_CHARS:])
    return int(numbers[-1]) if numbers else 0
