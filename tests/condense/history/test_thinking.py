"""Newer models bind each thinking block to what stood before it: behind a change none is sent."""

import random
from typing import Any

import pytest

import condense
from condense import undo
from condense.errors import CondenseError
from tests.condense.bench import Bench
from tests.condense.dialogues import call, chat, numbered, result, user
from tests.standin import thinking

TOOLS = [{"name": "read_file", "input_schema": {"type": "object"}}]


class Talk:
    """A conversation with a server that refuses thinking whose prefix has changed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - tests need no secrets
        self.history: tuple[condense.Message, ...] = ()
        self.rewinds: list[str] = []
        self.sent = 0

    def append(self, message: condense.Message) -> None:
        """Store a message."""
        seq = max((one.seq for one in self.history), default=0) + 1
        blocks = condense.Message(message.role, message.content, id=f"m{seq}", seq=seq)
        self.history += (blocks,)

    def turn(self) -> None:
        """Ask, and have the model think and work."""
        self.append(user(f"Question {len(self.history)}"))
        for step in range(self.chance.randint(0, 2)):
            name = f"t{len(self.history)}_{step}"
            self.reply(call(name))
            self.append(result(name, "text " * 50))
        self.reply(condense.Message("assistant", (condense.TextBlock("Done."),)))

    def reply(self, said: condense.Message) -> None:
        """Make a call, which the server must not refuse, and store its thinking and its answer."""
        shown = condense.shape_request(condense.effective_history(self.history))
        body: dict[str, Any] = {
            "system": "Be brief.",
            "tools": TOOLS,
            "messages": [one.to_api() for one in shown],
        }
        assert list(thinking.mismatches(body)) == []
        self.sent += body_thinking(body)
        signed = {"type": "thinking", "thinking": "Hm.", "signature": thinking.sign(body)}
        self.append(condense.Message("assistant", (condense.OpaqueBlock(signed), *said.blocks)))

    def change(self) -> None:
        """Condense, truncate, clear, undo, rewind, or come back."""
        self.chance.choice((self.hide, self.hide, self.clear, self.undo, self.back, self.forth))()

    def hide(self) -> None:
        """Hide some part of what was read, behind a summary or a marker."""
        seen = condense.effective_history(self.history)
        cuts = [cut for cut in condense.safe_cuts(seen) if cut <= condense.unread_tail(seen)]
        start, end = sorted(self.chance.choices(cuts, k=2))
        name = f"h{len(self.history)}"
        is_summary = start == 0 and self.chance.random() < 0.5
        tags = condense.Tags(condense_id=name) if is_summary else condense.Tags(truncation_id=name)
        if hidden := {one.id for one in seen[start:end]}:
            self.history = condense.hide_behind(
                self.history, hidden, condense.Message("user", name, name, tags=tags)
            )

    def clear(self) -> None:
        """Put a line in place of one result."""
        carrying = [one for one in condense.effective_history(self.history) if one.tool_results]
        if carrying:
            target, name = self.chance.choice(carrying), f"c{len(self.history)}"
            lines = {one.tool_use_id: "cleared" for one in target.tool_results}
            tags = condense.Tags(clear_id=name, cleared={target.id: lines})
            made = condense.Message("user", "Cleared.", name, tags=tags)
            self.history = condense.hide_behind(self.history, {target.id}, made)

    def undo(self) -> None:
        """Take back some summary or marker, where that is allowed."""
        made = [one for one in self.history if one.in_force]
        if made:
            tags = self.chance.choice(made).tags
            name = tags.condense_id or tags.truncation_id or tags.clear_id or ""
            self.try_to(lambda: undo(self.history, name))

    def back(self) -> None:
        """Rewind to some message of the user's."""
        asked = [one for one in self.history if one.role == "user" and not one.taken_back]
        if asked:
            self.rewinds.append(f"r{len(self.rewinds)}")
            target = self.chance.choice(asked).id
            self.history = condense.rewind(self.history, target, rewind_id=self.rewinds[-1])

    def forth(self) -> None:
        """Undo a rewind, where that is allowed."""
        if self.rewinds:
            name = self.chance.choice(self.rewinds)
            self.try_to(lambda: condense.undo_rewind(self.history, name))

    def try_to(self, change: Any) -> None:
        """Make a change unless it is refused."""
        try:
            self.history = change()
        except CondenseError:
            return


def body_thinking(body: dict[str, Any]) -> int:
    """Return how many thinking blocks a request carries."""
    said = (one["content"] for one in body["messages"] if one["role"] == "assistant")
    return sum(block["type"] == "thinking" for blocks in said for block in blocks)


@pytest.mark.parametrize("seed", range(100))
def test_a_server_that_binds_thinking_refuses_no_request(seed: int) -> None:
    """Whatever was hidden, cleared, undone, rewound and brought back between two calls."""
    talk = Talk(seed)
    for _ in range(12):
        talk.turn()
        for _ in range(talk.chance.randint(0, 2)):
            talk.change()
    assert talk.sent


def test_thinking_before_a_change_is_still_sent_and_nothing_is_lost() -> None:
    """What is not sent stays in its message."""
    talk = Talk(0)
    for _ in range(3):
        talk.append(user("Question"))
        talk.reply(condense.Message("assistant", (condense.TextBlock("Done."),)))
    marker = condense.Message("user", "[1 hidden]", "t", tags=condense.Tags(truncation_id="t"))
    made = condense.hide_behind(talk.history, {"m3"}, marker)
    assert [one.tags.unbound for one in made] == [False, False, False, False, True, False, True]
    sent = condense.shape_request(condense.effective_history(made))
    assert body_thinking({"messages": [one.to_api() for one in sent]}) == 1
    assert {one.id: one.content for one in talk.history}.items() <= {
        one.id: one.content for one in made
    }.items()


async def test_the_record_counts_the_thinking_that_is_dropped() -> None:
    """Not what is hidden: that is not sent anyway; nor other blocks of a provider's own."""
    block = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm.", "signature": "s"})
    other = condense.OpaqueBlock({"type": "web_search_result", "url": "https://example.org"})
    talk = [
        condense.Message(one.role, (block, other, *one.blocks)) if one.role == "assistant" else one
        for one in chat(11)
    ]
    bench = Bench(strategies=("sliding_window",))
    made = await bench.fit(numbered(talk), trigger=condense.Trigger.MANUAL)
    kept = 5 - sum(int(name[1:]) % 2 == 0 for name in made.hidden)
    assert f"what stood before it changed: {kept} blocks." in made.notes[-1]
