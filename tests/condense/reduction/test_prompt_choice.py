"""Which prompt asks for a summary: the user's, a chosen one, or the default that fits."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import condense
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import call, result, user

SUPPORT = "Note bookings, promised dates and amounts."


@pytest.fixture(autouse=True)
def support() -> Iterator[None]:
    """A prompt for talks in which no tool was called."""
    condense.register_prompt("support", SUPPORT)
    yield
    condense.unregister_prompt("support")


def by_kind(situation: condense.Situation) -> str:
    """Choose by kind of conversation, language and model."""
    works = any(message.tool_uses for message in situation.effective)
    return "" if works or situation.language == "de" or situation.model == "tiny" else "support"


async def test_a_prompt_is_chosen_by_kind_of_conversation_model_and_language() -> None:
    """Whoever knows them says so in the situation; a hook may choose another."""
    bench = Bench(*["S"] * 5, choose_prompt=by_kind)
    german = [user("Das ist nicht der Weg, bitte lies die Liste und die Namen."), *talk(4)[1:]]
    work = [user("Go."), call(), result(), *talk(4)[1:]]
    prompts = [(await bench.condense(talk_)).prompt for talk_ in (talk(4), german, work)]
    prompts.append((await bench.condense(talk(4), model="tiny")).prompt)
    assert prompts[0].startswith(SUPPORT)
    assert all(one.startswith(condense.condense_instruction()) for one in prompts[1:])
    assert [one.prompt_key for one in bench.log.of("started")] == ["support"] + ["condense"] * 3
    assert (await bench.condense(talk(4), prompt="Mine.")).prompt == "Mine."

    async def other(plan: condense.Plan) -> condense.Plan:
        return replace(plan, prompt_key="support")

    bench = Bench("S", hooks=condense.Hooks(before=(other,)))
    assert (await bench.condense(talk(4))).prompt.startswith(SUPPORT)


async def test_a_choice_that_fails_is_noted_and_the_default_is_used() -> None:
    """A typo is no reason to lose the summary."""

    def broken(_situation: condense.Situation) -> str:
        raise RuntimeError("no idea")

    for choose, said in ((lambda _: "suport", "Did you mean"), (broken, "no idea")):
        made = await Bench("S", choose_prompt=choose).condense(talk(4))
        assert made.prompt.startswith(condense.condense_instruction())
        assert any(said in note for note in made.notes)


async def test_a_summary_is_asked_for_its_share_of_what_is_there() -> None:
    """A twenty-fifth, at most half of an answer; nothing that a ledger beside it holds."""
    made = await Bench("S", choose_prompt=lambda _: "condense").condense(talk(10))
    assert "about 150 words" in made.prompt
    bench = Bench("S")
    long = [replace(message, tokens=20_000) for message in talk(10)]
    assert "about 150 words" in (await bench.condense(long, window=400_000)).prompt
    bench = Bench("S", hooks=condense.Hooks(after=(condense.attach_ledger,)))
    made = await bench.condense(talk(8))
    assert made.prompt.startswith(condense.condense_instruction(key=condense.BESIDE_LEDGER))
