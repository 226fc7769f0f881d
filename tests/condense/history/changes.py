"""Changes of a history, one by one: messages, condensations, truncations, clearings and rewinds.

Each checks that what takes it back restores exactly what was visible.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from condense.errors import UndoRefused, UnknownMessage
from condense.history.boundaries import safe_cuts, unread_tail
from condense.history.effective_history import effective_history
from condense.history.tags import hide_behind, rewind, truncate, undo, undo_rewind
from condense.messages import Content, Message, Tags, TextBlock, ToolResultBlock, ToolUseBlock

Seen = list[tuple[str, Content]]


@dataclass
class Conversation:
    """A history that operations are applied to, with what a check needs to remember."""

    history: tuple[Message, ...] = ()
    seen_before: dict[str, Seen] = field(default_factory=dict)
    undone_at: int = 0
    rewinds: list[str] = field(default_factory=list)
    number: int = 0

    def seen(self) -> Seen:
        """Return what the model sees, by id and content."""
        return [(item.id, item.content) for item in effective_history(self.history)]

    def append(self, role: str, content: Content) -> None:
        """Write a message, remembering what was visible before."""
        self.number = self.next_seq()
        made = Message(role, content, id=f"m{self.number}", seq=self.number)  # type: ignore[arg-type]
        self.seen_before[made.id] = self.seen()
        self.history = (*self.history, made)

    def next_seq(self) -> int:
        """Return the next message's sequence number."""
        return max((item.seq for item in self.history), default=0) + 1

    def pending(self) -> list[str]:
        """Return the calls of the last visible message that have no result yet."""
        seen = effective_history(self.history)
        return [use.id for use in seen[-1].tool_uses] if seen else []


def user(talk: Conversation, pick: int) -> None:
    """Write a user message; blank ones and lists happen too."""
    texts: list[Content] = ["hello", " ", (TextBlock("a"), TextBlock("")), "<command>x</command>"]
    talk.append("user", texts[pick % len(texts)])


def reply(talk: Conversation, pick: int) -> None:
    """Write a reply, sometimes an empty one."""
    talk.append("assistant", ["fine", "trailing space ", ()][pick % 3])


def call(talk: Conversation, pick: int) -> None:
    """Write a reply with tool calls; some providers use the same ids in every turn."""
    uses = tuple(
        ToolUseBlock(f"call_{n}" if pick % 2 else f"call_{talk.next_seq()}_{n}", "read", {"n": n})
        for n in range(1 + pick % 3)
    )
    talk.append("assistant", (TextBlock("let me look"), *uses))


def answer(talk: Conversation, pick: int) -> None:
    """Write results for the pending calls: all, some, or one of no call."""
    ids = talk.pending()[: None if pick % 3 else 1] or ["nobody"]
    talk.append("user", tuple(ToolResultBlock(id_, "done", is_error=pick % 5 == 0) for id_ in ids))


def condense(talk: Conversation, pick: int) -> None:
    """Hide all that has been read, or part of it, behind a summary; undo and do it again."""
    seen = effective_history(talk.history)
    cuts = [cut for cut in safe_cuts(seen) if 0 < cut <= unread_tail(seen)]
    if not cuts:
        return
    hidden = {item.id for item in seen[: cuts[-1] if pick % 2 else cuts[pick % len(cuts)]]}
    name = f"s{talk.next_seq()}"
    summary = Message("user", (TextBlock("so far"),), id=name, tags=Tags(condense_id=name))
    check_undo(talk, lambda history: hide_behind(history, hidden, summary), name)


def cut(talk: Conversation, pick: int) -> None:
    """Truncate by a quarter, half or three quarters; undo and do it again."""
    before = talk.seen()
    result = truncate(talk.history, (0.25, 0.5, 0.75)[pick % 3])
    if result.marker is None:
        assert result.messages is talk.history
        return
    assert set(result.hidden) <= {name for name, _ in before}
    assert before[0][0] not in result.hidden
    name = result.marker.tags.truncation_id
    assert name is not None
    check_undo(talk, lambda _: tuple(result.messages), name)


def clear(talk: Conversation, pick: int) -> None:
    """Put a line in place of some message's results; undo and do it again."""
    carrying = [item for item in effective_history(talk.history) if item.tool_results]
    if not carrying:
        return
    target, name = carrying[pick % len(carrying)], f"c{talk.next_seq()}"
    lines = {result.tool_use_id: "cleared" for result in target.tool_results}
    tags = Tags(clear_id=name, cleared={target.id: lines})
    marker = Message("user", "some were cleared", id=name, tags=tags)
    before = talk.seen()
    check_undo(talk, lambda history: hide_behind(history, {target.id}, marker), name)
    assert [item_id for item_id, _ in talk.seen() if item_id != name] == [i for i, _ in before]


def check_undo(
    talk: Conversation, make: Callable[[tuple[Message, ...]], tuple[Message, ...]], name: str
) -> None:
    """Apply a condensation or truncation; taking it back restores exactly what was visible."""
    before = talk.seen()
    made = make(talk.history)
    assert made == tuple(sorted(made, key=lambda item: item.order))
    talk.history = undo(made, name)
    assert talk.seen() == before
    talk.history = made
    assert len(talk.seen()) <= len(before) + 1


def take_back(talk: Conversation, pick: int) -> None:
    """Undo some condensation or truncation, where that is allowed."""
    made = [m for m in talk.history if m.is_summary or m.is_marker]
    if made:
        tags = made[pick % len(made)].tags
        talk.undone_at = talk.next_seq()
        with suppress(UndoRefused):
            made_id = tags.condense_id or tags.truncation_id or tags.clear_id
            talk.history = undo(talk.history, made_id or "")


def go_back(talk: Conversation, pick: int) -> None:
    """Rewind to a message; that restores what was visible before it was written."""
    live = [m for m in talk.history if m.tags.rewind_parent is None and m.id in talk.seen_before]
    if not live:
        return
    target = live[pick % len(live)]
    before, name = talk.seen(), f"r{len(talk.rewinds)}"
    rewound = rewind(talk.history, target.id, rewind_id=name)
    talk.history = undo_rewind(rewound, name)
    assert talk.seen() == before
    talk.history = rewound
    talk.rewinds.append(name)
    if target.seq >= talk.undone_at:
        assert talk.seen() == talk.seen_before[target.id]


def go_forward(talk: Conversation, pick: int) -> None:
    """Undo some rewind, where that is allowed."""
    if talk.rewinds:
        talk.undone_at = talk.next_seq()
        with suppress(UndoRefused, UnknownMessage):
            talk.history = undo_rewind(talk.history, talk.rewinds[pick % len(talk.rewinds)])


CHANGES = [condense, cut, clear, take_back, go_back, go_forward]
OPERATIONS = [user, reply, call, answer, *CHANGES]
