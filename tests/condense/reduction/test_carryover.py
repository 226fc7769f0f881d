"""Pinned messages are carried word for word, whichever rung makes the context smaller."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

import condense
from condense.reduction.carryover import carried_pins, newest_request
from condense.reduction.strategy import ByRule
from condense.testing import RecordingLog, ScriptedSummarizer
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import IMAGE, call, chat, numbered, result, situation, texts, user

RUNGS = [one.name for one in condense.built_in_strategies()]
RULE = "Port 8080 must never change, and nothing is deployed on Fridays."


def pin(message: condense.Message) -> condense.Message:
    """Return the message with a pin on it."""
    return message.with_tags(pinned=True)


def work(count: int) -> list[condense.Message]:
    """Return a chat in which the model also calls tools, each result 1,500 words long."""
    made: list[condense.Message] = []
    for number in range(count):
        name = f"t{number}"
        made += [*talk(1), call(name), result(name, f"result{name} " + "word " * 1_500)]
        made += talk(2)[1:]
    return made


async def fit_stored(
    bench: Bench, stored: Sequence[condense.Message], *, whole: bool = False
) -> condense.Reduction | None:
    """Return what the bench makes of a history with ids of its own, None where it can't."""
    effective, history = condense.effective_history(stored), tuple(stored) if whole else ()
    made = situation(effective, trigger=condense.Trigger.FORCED, window=30_000)
    try:
        return await bench.condenser.fit(replace(made, effective=effective, history=history))
    except condense.CannotFit:
        return None


@pytest.mark.parametrize("rung", [name for name in RUNGS if name != "clear"])
async def test_every_rung_that_hides_messages_carries_pins_once(rung: str) -> None:
    """With whose words they are, their tool results and their images."""
    messages = [*talk(9), call(), result(text="the file's only line"), *chat(20, 1), *talk(2)]
    messages[2] = pin(messages[2])
    messages[0] = pin(condense.Message("user", (condense.TextBlock(RULE), IMAGE)))
    messages[10] = pin(messages[10])
    answer = (
        condense.TextChunk("S"),
        condense.CompactionChunk({"type": "compaction", "content": "S"}),
    )
    model = ScriptedSummarizer(answer, compacts=True)
    bench = Bench(summarizer=model, strategies=(rung,))
    # What was refused as too long is not sent once more to be compacted.
    trigger = condense.Trigger.MANUAL if rung == "provider" else condense.Trigger.FORCED
    made = await bench.fit(messages, trigger=trigger)
    carried = [text for text in texts(made.message) if text.startswith("## Pinned")]
    hidden = {"m1", "m3", "m11"} & {*made.hidden}
    assert len(carried) == len(hidden) > 0
    if "m1" in made.hidden:
        assert carried[0] == f"## Pinned Message, Verbatim (user, m1)\n{RULE}"
        assert IMAGE in made.message.blocks
    if "m11" in made.hidden:
        assert carried[-1].endswith("[Tool Result]\nthe file's only line")


async def test_a_marker_of_one_line_carries_a_pin_beside_it() -> None:
    """Where there was no room for a ledger."""
    rest = chat(4, words=400)
    messages = [rest[0], pin(condense.Message("assistant", RULE)), *rest[2:], user("word " * 780)]
    bench = Bench(strategies=("sliding_window",))
    made = await bench.fit(messages, trigger=condense.Trigger.FORCED, window=1_050)
    _marker, pinned = texts(made.message)
    assert pinned == f"## Pinned Message, Verbatim (assistant, m2)\n{RULE}"


async def test_a_pinned_result_is_not_cleared() -> None:
    """Others are."""
    messages = work(40)
    messages[2] = pin(messages[2])
    bench = Bench(strategies=("clear",))
    made = await bench.fit(messages, trigger=condense.Trigger.FORCED, window=230_000)
    assert "m3" not in made.hidden
    assert "m7" in made.hidden


async def test_a_pin_may_be_taken_off_and_put_on_later_where_the_history_is_known() -> None:
    """What an earlier summary carries goes, what it hides comes; nothing is carried twice."""
    history = numbered([pin(user(RULE)), user("Mind the gap."), *talk(11)])
    made = await fit_stored(Bench("S", strategies=("fresh_start",)), history)
    history = condense.hide_behind(history, made.hidden, made.message)
    others = [one.with_tags(pinned=one.id == "m2") for one in history]
    history = (*others, *numbered([*history, *talk(11)])[len(history) :])
    bench = Bench("S", strategies=("fresh_start",))
    made = await fit_stored(bench, history, whole=True)
    carried = [text for text in texts(made.message) if text.startswith("## Pinned")]
    assert carried == ["## Pinned Message, Verbatim (user, m2)\nMind the gap."]
    history = numbered([pin(user(RULE)), *talk(11)])
    made = await fit_stored(Bench("S", strategies=("fresh_start",)), history)
    history = (*condense.hide_behind(history, made.hidden, made.message), *numbered(talk(24))[13:])
    effective = condense.effective_history(history)
    whole = replace(situation(effective), effective=effective, history=history)
    assert carried_pins(whole, effective[1:]) == ()
    assert len(carried_pins(whole, effective)) == 1


async def test_what_is_pinned_counts_in_the_floor() -> None:
    """And whoever pinned too much is told so."""
    messages = [pin(one) for one in talk(11)] + [user("Go on.")]
    with pytest.raises(condense.CannotFit) as caught:
        await Bench("S").fit(messages, trigger=condense.Trigger.FORCED, window=10_000)
    floor = caught.value.floor
    assert 22_000 < floor.pinned < 22_100
    assert floor.newest == 2
    assert "Unpin" in floor.advice


class HidesAll(ByRule):
    """Somebody's strategy that knows nothing of pins."""

    name, kind = "hides_all", "condensed"

    async def reduce(self, situation: condense.Situation, kit: condense.Kit) -> condense.Reduction:
        hidden = situation.effective
        message = condense.Message(
            "user", "S", id="s", position=len(hidden), tags=condense.Tags(condense_id="c")
        )
        return condense.Reduction(
            kind="condensed",
            strategy=self.name,
            message=message,
            hidden=tuple(one.id for one in hidden),
            tokens_before=situation.tokens,
            tokens_after=situation.tokens,
        )


async def test_a_strategy_that_would_lose_a_pinned_message_fails() -> None:
    """Whoever wrote it; the next rung is tried."""
    messages = [pin(one) if index == 2 else one for index, one in enumerate(talk(12))]
    bench = Bench(strategies=(HidesAll(), "ledger"))
    made = await bench.fit(messages, trigger=condense.Trigger.FORCED)
    assert made.strategy == "ledger"
    (error, _) = bench.log.of("failed")[0]
    assert str(error) == "The strategy hides_all would lose what is pinned"


class Refusing(RecordingLog):
    """A log that does not apply what a rung made."""

    async def succeeded(self, attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        if reduction.strategy == "ledger":
            raise condense.CondenseError("A pin would not hold")
        await super().succeeded(attempt, reduction)


async def test_what_the_log_refuses_to_apply_is_a_failure_of_its_rung() -> None:
    """It goes on record as one, and the next rung is tried."""
    log, bench = Refusing(), Bench(strategies=("ledger", "sliding_window"))
    bench.condenser.log = log
    made = await bench.fit(talk(12), trigger=condense.Trigger.FORCED)
    assert made.strategy == "sliding_window"
    ((error, following),) = log.of("failed")
    assert (str(error), following) == ("A pin would not hold", "sliding_window")


@pytest.mark.parametrize("text", [RULE, f"{RULE} ", "Port 80 may change."])
def test_a_pin_is_shown_where_it_is_read_word_for_word(text: str) -> None:
    """By itself, or by a summary; another text under its name does not count."""
    pinned, other = numbered([pin(user(RULE)), user("Go on.")])
    assert condense.shows_pin([pinned, other], pinned)
    assert not condense.shows_pin([other], pinned)
    carried = condense.TextBlock(f"## Pinned Message, Verbatim (user, {pinned.id})\n{text}")
    summary = condense.Message(
        "user", (condense.TextBlock("S"), carried), tags=condense.Tags(condense_id="c")
    )
    assert condense.shows_pin([summary, other], pinned) == (text == RULE)
    assert condense.carried_pin_ids([summary, other]) == {pinned.id}
    assert condense.carried_pin_ids([other]) == frozenset()


def test_what_held_only_at_a_message_s_moment_is_not_carried() -> None:
    """Of a request and of a pin, the words go on, and what was told beside them is told anew."""
    then = condense.TextBlock(
        "It is five o'clock.", {condense.BESIDE: {"kind": condense.ENVIRONMENT}}
    )
    (message,) = numbered([pin(user("x")).with_content((then, condense.TextBlock(RULE)))])
    assert newest_request([message]) == (message, (condense.TextBlock(RULE),))
    whole = replace(situation([message]), effective=(message,))
    (carried,) = carried_pins(whole, [message])
    assert carried == condense.TextBlock(
        f"## Pinned Message, Verbatim (user, {message.id})\n{RULE}"
    )
