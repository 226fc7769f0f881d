"""Round after round, by any rung: what was kept stays kept, and nothing falls between two records.

Conversations, each condensed several times by strategies that chance picks.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

import condense
from condense.facts.texts import plain_text
from condense.history.effective_history import InForce
from condense.testing import WordCounter
from tests.condense.api_rules import assert_valid_request
from tests.condense.dialogues import call, result, user
from tests.condense.fakes import RepeatingSummarizer

# Without the one that this model's provider has not, so that it is not chosen for nothing.
RUNGS = [one.name for one in condense.built_in_strategies() if one.name != "provider"]
SEEDS = [range(20), pytest.param(range(20, 1_000), marks=pytest.mark.soak)]


@dataclass
class Talk:
    """A stored conversation that goes on and is condensed, and what its records say they hid."""

    chance: random.Random
    history: tuple[condense.Message, ...] = ()
    inputs: dict[str, frozenset[str]] = field(default_factory=dict)
    pinned: list[str] = field(default_factory=list)
    requests: int = 0
    could_be_sent: bool = True

    @property
    def effective(self) -> tuple[condense.Message, ...]:
        """What the model sees."""
        return condense.effective_history(self.history)

    def append(self, message: condense.Message) -> None:
        """Store a message, one of many with a pin."""
        seq = max((one.seq for one in self.history), default=0) + 1
        stored = replace(message, id=f"m{seq}", seq=seq, tokens=None)
        if not message.tool_results and self.chance.random() < 0.1:
            self.pinned.append(f"pinned-{seq} must stay")
            blocks = (*stored.blocks, condense.TextBlock(self.pinned[-1]))
            stored = replace(stored, content=blocks, tags=condense.Tags(pinned=True))
        self.history += (stored,)

    def go_on(self) -> None:
        """Have the user ask and the agent work, with or without an answer at the end."""
        for _ in range(self.chance.randint(1, 3)):
            self.requests += 1
            padding = "word " * self.chance.choice((3, 40, 200))
            self.append(user(f"request-{self.requests} {padding}"))
            for step in range(self.chance.randint(0, 3)):
                name = f"t{self.requests}_{step}"
                self.append(call(name, f"src/{name}.py"))
                self.append(result(name, f"output of {name} " * self.chance.choice((2, 60))))
            if self.chance.random() < 0.7:
                self.append(condense.Message("assistant", "said " * self.chance.choice((2, 50))))

    async def try_rung(self, rung: str) -> condense.Reduction | None:
        """Condense by a rung, as it is asked for by chance; None where that is not possible."""
        size = condense.count_messages(self.effective, WordCounter())
        condenser = condense.Condenser(
            RepeatingSummarizer("<summary>They went on.</summary>"),
            WordCounter(),
            (rung,),
            hooks=condense.Hooks(after=(condense.attach_ledger,)),
        )
        situation = condense.Situation(
            effective=self.effective,
            history=self.history if self.chance.random() < 0.5 else (),
            tokens=condense.TokenCount(size),
            budget=condense.Budget(window=100_000, max_output=100),
            trigger=self.chance.choice((condense.Trigger.MANUAL, condense.Trigger.FORCED)),
        )
        self.could_be_sent = situation.fits
        try:
            made = await condenser.fit(situation)
        except (condense.CannotFit, condense.CondenseError):
            return None
        if made:
            self.apply(made)
        return made

    def apply(self, made: condense.Reduction) -> None:
        """Store a reduction, and remember what its record contained."""
        tags = made.message.tags
        name = tags.condense_id or tags.truncation_id
        if name:
            self.inputs[name] = frozenset(made.hidden)
        self.history = condense.hide_behind(self.history, made.hidden, made.message)


def assert_nothing_fell_between(talk: Talk) -> None:
    """Fail unless each message is seen, or hidden by one record in force that contained it."""
    in_force = InForce.of(talk.history)
    seen = {message.id for message in talk.effective}
    for message in talk.history:
        parents = {message.tags.condense_parent, message.tags.truncation_parent}
        hiding = parents & (in_force.summaries | in_force.markers)
        if message.id in seen:
            assert not hiding
            continue
        assert len(hiding) == 1
        assert message.id in talk.inputs[hiding.pop() or ""]


def assert_request_is_read(talk: Talk) -> None:
    """Fail unless the model reads the user's newest request."""
    assert f"request-{talk.requests} " in plain_text(talk.effective)


def files_known(messages: Sequence[condense.Message]) -> set[str]:
    """Return the files that the ledgers in some messages name."""
    texts = [block.text for one in messages for block in one.blocks if hasattr(block, "text")]
    ledgers = filter(None, map(condense.parse_ledger, texts))
    return {file.path for ledger in ledgers for file in ledger.files}


async def live(seed: int) -> int:
    """Have one conversation go on through several condensations; return how many there were."""
    talk, count = Talk(random.Random(seed)), 0  # noqa: S311 - tests need no secrets
    for _ in range(talk.chance.randint(2, 5)):
        talk.go_on()
        known = files_known(talk.effective)
        made = await talk.try_rung(talk.chance.choice(RUNGS))
        count += made is not None
        assert_nothing_fell_between(talk)
        assert_request_is_read(talk)
        if talk.could_be_sent:
            assert known <= files_known(talk.effective)
        shaped = condense.shape_request((*talk.effective, user("Go on.")))
        request = [one.to_api() for one in shaped]
        assert_valid_request(request)
        assert all(text in str(request) for text in talk.pinned)
    return count


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
async def test_no_sequence_of_condensations_loses_a_message_or_the_newest_request(
    seeds: Sequence[int],
) -> None:
    """Nor a pin, nor a file of a ledger unless a refused request had to be made to fit."""
    assert sum([await live(seed) for seed in seeds]) > len(seeds)
