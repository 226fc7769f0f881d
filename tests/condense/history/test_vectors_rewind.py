"""Recorded rewinds: what Roo deletes is hidden here, and the model sees the same.

Roo rewinds its interface's list to a timestamp and derives from that which stored messages go;
the adapter below has its rule, and the engine only learns which message to go back to.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from condense.history.effective_history import effective_history
from condense.history.tags import rewind
from condense.messages import Message
from tests.condense.roo import Case, each, messages

Row = dict[str, Any]


class Rewinder:
    """Replays rewinds of one case on the engine's history, beside Roo's own lists."""

    def __init__(self, case: Case) -> None:
        """Number the messages in the order they were written in, not the one they stand in."""
        given = case["input"]
        self.now, self.rows = given["now"], list(given["clineMessages"])
        self.stored = {str(i): data for i, data in enumerate(given["apiConversationHistory"])}
        history = messages(given["apiConversationHistory"])
        written = sorted(history, key=lambda item: (self.written_at(item), item.seq))
        numbers = {item.id: seq for seq, item in enumerate(written, 1)}
        self.history = tuple(
            replace(item, seq=numbers[item.id], position=item.seq) for item in history
        )

    def written_at(self, item: Message) -> int:
        """Return when a message was stored; a summary when its row says it was made."""
        rows = {name: row["ts"] for row in self.rows for name in row_ids(row)}
        name = item.tags.condense_id or item.tags.truncation_id
        return rows.get(name) or self.stored[item.id].get("ts") or 0

    def ts(self, item: Message) -> int:
        """Return the stored timestamp, 0 where there is none."""
        return self.stored[item.id].get("ts") or 0

    def live(self) -> list[Message]:
        """Return the messages that are not rewound: all that Roo would still have."""
        return [item for item in self.history if item.tags.rewind_parent is None]

    def removes(self, op: Row) -> set[str]:
        """Return which messages Roo's rule removes, and cut Roo's interface list."""
        index, cut = self.place(op)
        gone = {name for row in self.rows[index:] for name in row_ids(row)}
        self.rows = self.rows[:index]
        cut = self.adjusted(cut)
        later = {item.id for item in self.live() if self.ts(item) and self.ts(item) >= cut}
        made = (
            item.id
            for item in self.live()
            if {item.tags.condense_id, item.tags.truncation_id} & gone
        )
        return later | set(made)

    def place(self, op: Row) -> tuple[int, int]:
        """Return where an operation cuts the interface's list, and the timestamp it cuts at."""
        if op["op"] == "rewindToIndex":
            index = op["index"]
            return index, (self.rows[index]["ts"] if index < len(self.rows) else self.now)
        index = next(i for i, row in enumerate(self.rows) if row["ts"] == op["ts"])
        return index + bool((op.get("options") or {}).get("includeTargetMessage")), op["ts"]

    def adjusted(self, cut: int) -> int:
        """Move the cut to the next user message where no message has exactly its timestamp."""
        stamps = [self.ts(item) for item in self.live()]
        if cut in stamps or not any(stamp and stamp < cut for stamp in stamps):
            return cut
        users = [self.ts(item) for item in self.live() if item.role == "user"]
        return next((stamp for stamp in users if stamp >= cut), cut)

    def rewind(self, removed: set[str]) -> set[str]:
        """Go back to before the first of them, and return what that hides."""
        targets = [item for item in self.history if item.id in removed]
        if not targets:
            return set()
        before = {item.id for item in self.live()}
        first = min(targets, key=lambda item: item.seq)
        self.history = rewind(self.history, first.id)
        return before - {item.id for item in self.live()}


def row_ids(row: Row) -> list[str]:
    """Return the ids of the condensation or truncation an interface row reports."""
    found = [
        row.get("contextCondense", {}).get("condenseId"),
        row.get("contextTruncation", {}).get("truncationId"),
    ]
    return [name for name in found if name]


def all_that_came_later(live: list[Message], removed: set[str]) -> set[str]:
    """Return what a rewind to the oldest of those messages hides: it, and what was written since.

    Roo keeps something it wrote after what it removes: a reply on the strength of a summary.
    """
    first = min((item.seq for item in live if item.id in removed), default=None)
    return set() if first is None else {item.id for item in live if item.seq >= first}


def named(items: list[Any], names: list[str], stored: dict[str, Row]) -> Iterator[str]:
    """Yield the ids of a recorded list; a rewritten message is found by what it says."""
    rest = iter(names)
    for item in items:
        if isinstance(item, int):
            name = names[item]
            while next(rest) != name:
                pass
            yield name
        else:
            yield next(name for name in rest if says(stored[name]) == says(item))


def says(data: Row) -> tuple[Any, ...]:
    """Return what stays the same when Roo rewrites a message's tags."""
    return data["role"], data["content"], data.get("ts")


@each("rewind")
def test_the_model_sees_what_it_sees_in_roo_wherever_roo_removes_all_that_came_later(
    case: Case,
) -> None:
    """A rewind hides a suffix in the order of writing; the summaries it hides lose their force."""
    rewinder, same = Rewinder(case), True
    names = list(rewinder.stored)
    for op, step in zip(case["input"]["ops"], case["output"]["steps"], strict=True):
        removed = set() if "threw" in step else rewinder.removes(op)
        later = all_that_came_later(rewinder.live(), removed)
        assert rewinder.rewind(removed) == later
        names = list(named(step["apiConversationHistory"], names, rewinder.stored))
        same = same and removed == later
        # Else it is as if what was rewound had never been written.
        roos = [names[index] for index in step["effective"]]
        expected = roos if same else ids(effective_history(rewinder.live()))
        assert ids(effective_history(rewinder.history)) == expected


def ids(messages: Iterable[Message]) -> list[str]:
    """Return the ids, in order."""
    return [message.id for message in messages]
