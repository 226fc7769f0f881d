"""Newer models bind each thinking block to what stood before it: behind a change none is sent."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import condense
from condense import Block, Message, OpaqueBlock, TextBlock
from tests.condense.bench import Bench
from tests.condense.dialogues import call, chat, numbered, result
from tests.condense.history import changes
from tests.standin import thinking

DONE = TextBlock("Done.")


@dataclass
class Talk(changes.Conversation):
    """A conversation with a server that refuses thinking whose prefix has changed."""

    chance: random.Random = field(default_factory=random.Random)
    sent: int = 0

    def turn(self) -> None:
        """Ask, and have the model think and work."""
        self.append("user", f"Question {len(self.history)}")
        for step in range(self.chance.randint(0, 2)):
            name = f"t{len(self.history)}_{step}"
            self.reply(*call(name).blocks)
            self.append("user", result(name, "text " * 50).blocks)
        self.reply(DONE)

    def reply(self, *said: Block) -> None:
        """Make a call, which the server must not refuse, and store its thinking and its answer."""
        shown = condense.shape_request(condense.effective_history(self.history))
        tools = [{"name": "read_file", "input_schema": {"type": "object"}}]
        body = {"system": "", "tools": tools, "messages": [one.to_api() for one in shown]}
        assert list(thinking.mismatches(body)) == []
        self.sent += count_thinking(shown)
        signed = {"type": "thinking", "thinking": "Hm.", "signature": thinking.sign(body)}
        self.append("assistant", (OpaqueBlock(signed), *said))


def count_thinking(messages: Any) -> int:
    """Return how many thinking blocks a request carries."""
    return sum(
        isinstance(block, OpaqueBlock) and block.data["type"] == "thinking"
        for one in messages
        for block in one.blocks
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_server_that_binds_thinking_refuses_no_request(seed: int) -> None:
    """Whatever was hidden, cleared, undone, rewound and brought back between two calls."""
    talk = Talk(chance=random.Random(seed))  # noqa: S311 - tests need no secrets
    for _ in range(12):
        talk.turn()
        for _ in range(talk.chance.randint(0, 2)):
            talk.chance.choice(changes.CHANGES)(talk, talk.chance.randint(0, 99))
    assert talk.sent


def test_thinking_before_a_change_is_still_sent_and_nothing_is_lost() -> None:
    """What is not sent stays in its message."""
    talk = Talk()
    for _ in range(3):
        talk.append("user", "Question")
        talk.reply(DONE)
    marker = Message("user", "[1 hidden]", "t", tags=condense.Tags(truncation_id="t"))
    made = condense.hide_behind(talk.history, {"m3"}, marker)
    assert [one.tags.unbound for one in made] == [False, False, False, False, True, False, True]
    assert count_thinking(condense.shape_request(condense.effective_history(made))) == 1
    contents = {one.id: one.content for one in made}
    assert {one.id: one.content for one in talk.history}.items() <= contents.items()


async def test_the_record_counts_the_thinking_that_is_dropped() -> None:
    """Not what is hidden: that is not sent anyway; nor other blocks of a provider's own."""
    block = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm.", "signature": "s"})
    other = condense.OpaqueBlock({"type": "web_search_result", "url": "https://example.org"})
    talk = [
        condense.Message(one.role, (block, other, *one.blocks)) if one.role == "assistant" else one
        for one in chat(11)
    ]
    bench = Bench(strategies=("sliding_window",))
    made = await bench.condense(numbered(talk))
    kept = 5 - sum(int(name[1:]) % 2 == 0 for name in made.hidden)
    assert f"what stood before it changed: {kept} blocks." in made.notes[-1]
