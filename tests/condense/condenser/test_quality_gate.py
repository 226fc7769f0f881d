"""A summary that is unusable is not applied: it is written again, or the ledger stands for it."""

from decimal import Decimal
from typing import Any

import pytest

from condense import (
    DEFAULT_VALIDATORS,
    Hooks,
    Message,
    Reduction,
    Situation,
    SummaryRejected,
    Tags,
    TextChunk,
    Usage,
    UsageChunk,
    Verdict,
    attach_ledger,
    ladder_from,
)
from condense.condenser.hooks import has_sections, is_no_refusal, keeps_facts, repeats_nothing
from tests.condense.bench import Bench
from tests.condense.dialogues import call, chat, result, user

GATE = Hooks(after=(attach_ledger,), validators=DEFAULT_VALIDATORS)
# What a model of 135 million parameters answered to the condensing prompt, hundreds of times over.
FRAGMENT = '{"name": "read_file", "arguments": {"path": "src/main.py"}}\n'
WINDOW = 60_000

TITLES = (
    "Primary Request and Intent", "Constraints and Preferences", "Decisions and Refusals",
    "Failed Attempts and Errors", "Results", "Promises and Open Questions", "Pending Tasks",
    "Current Work", "Optional Next Step",
)  # fmt: skip


def summary(words: str = "the shop is built") -> str:
    """Return a summary in the form that the prompt asks for."""
    lines = (f"{number}. {title}:\n   {words} ({number})" for number, title in enumerate(TITLES, 1))
    return "<summary>" + "\n\n".join(lines) + "</summary>"


def work() -> list[Any]:
    """Return a conversation of some 30,000 words in which six files were edited."""
    talk = [user("Build the shop. Never touch the port 8080.")]
    for number in range(6):
        name = f"t{number}"
        talk += [call(name, f"src/part{number}.py"), result(name, f"line{number} " * 5_000)]
    return [*talk, *chat(2)[1:], user("Thanks. What next?")]


def gated(*replies: Any) -> Bench:
    """Return a bench with the validators that are there by default."""
    return Bench(*replies, strategies=ladder_from("fresh_start"), hooks=GATE)


async def judge(validator: Any, text: str) -> Verdict:
    """Return what a validator says of a summary of the work."""
    made: list[Verdict] = []

    async def keep(situation: Situation, reduction: Reduction) -> Verdict:
        made.append(await validator(situation, reduction))
        return made[-1]

    bench = Bench(text, text, strategies=("fresh_start",), hooks=Hooks(validators=(keep,)))
    try:
        await bench.condense(work(), window=WINDOW)
    except SummaryRejected:
        assert made[-1].rejects
    return made[-1]


async def test_a_repeated_fragment_is_never_applied() -> None:
    """As a very small model wrote it: it fails both times, and the ledger stands for it."""
    bench = gated(FRAGMENT * 200, FRAGMENT * 150)
    made = await bench.condense(work(), window=WINDOW)
    assert (made.strategy, bench.calls) == ("ledger", 2)
    assert "Build the shop." in made.message.text
    [(error, following)] = bench.log.of("failed")
    assert following == "ledger"
    assert str(error).startswith("The summary was refused: ")
    assert "It says the same over and over" in error.details
    assert FRAGMENT in error.details


async def test_what_is_missing_is_named_in_one_more_call() -> None:
    """And the record says that there was a first one."""
    bench = gated("<summary>They built a shop.</summary>", summary())
    made = await bench.condense(work(), window=WINDOW)
    assert (made.strategy, bench.calls) == ("fresh_start", 2)
    asked = bench.summarizer.requests[1].messages[-1].text
    assert "missing: Primary Request and Intent; Constraints and Preferences" in asked
    assert "written again: It has 0 of 9 sections" in made.notes[0]
    assert "It has 0 of 9 sections" in made.prompt
    assert [verdict.name for verdict in made.verdicts] == [
        "sections", "refusal", "repetition", "length", "facts",
    ]  # fmt: skip


async def test_a_repair_that_is_not_worth_it_is_not_made() -> None:
    """The first try used more than the next requests would spare, or there is no more to say."""
    used = UsageChunk(Usage(input=30_000, output=9_000), Decimal("0.5"))
    bench = gated([TextChunk("<summary>A shop.</summary>"), used])
    made = await bench.condense(work(), window=WINDOW)
    assert (made.strategy, bench.calls) == ("ledger", 1)
    [(error, _)] = bench.log.of("failed")
    assert (error.calls, error.cost) == (1, Decimal("0.5"))
    bench = gated("<summary>They said hello.</summary>")
    await bench.condense(chat(6, words=40))
    assert bench.calls == 1


@pytest.mark.parametrize(("more", "calls"), [(-1, 2), (0, 1)])
async def test_a_repair_costs_less_than_the_next_two_requests_are_spared(
    more: int, calls: int
) -> None:
    """So many messages come at least before another condensation may be due."""
    made: list[Reduction] = []

    async def reject(situation: Situation, reduction: Reduction) -> Verdict:
        made.append(reduction)
        return Verdict(rejects=True)

    settings = {"strategies": ("fresh_start",), "hooks": Hooks(validators=(reject,))}
    with pytest.raises(SummaryRejected):
        await Bench("Short.", "Short.", **settings).condense(chat(6))
    spared = made[0].tokens_before.value - made[0].tokens_after.value
    used = UsageChunk(Usage(input=2 * spared + more), Decimal(0))
    bench = Bench([TextChunk("Short."), used], "Short.", **settings)
    with pytest.raises(SummaryRejected):
        await bench.condense(chat(6))
    assert bench.calls == calls


async def test_a_validator_of_ones_own_rejects_with_its_reason() -> None:
    """Also one that names no issue; what asks no model is never rejected."""

    async def wants_a_date(situation: Situation, reduction: Reduction) -> Verdict:
        return Verdict(rejects="2026" not in reduction.summary)

    hooks = Hooks(validators=(wants_a_date,))
    bench = Bench("Soon.", "On 2026-12-01.", strategies=("fresh_start",), hooks=hooks)
    made = await bench.condense(chat(6))
    assert made.summary == "On 2026-12-01."
    assert "wants_a_date refuses it" in bench.summarizer.requests[1].messages[-1].text

    async def rejects_all(situation: Situation, reduction: Reduction) -> Verdict:
        return Verdict(issues=("No.",), rejects=True)

    hooks = Hooks(validators=(rejects_all,))
    bench = Bench("S", "S", strategies=ladder_from("fresh_start"), hooks=hooks)
    made = await bench.condense(chat(12))
    assert made.strategy == "ledger"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't summarise this conversation.",
        "Es tut mir leid, das kann ich nicht zusammenfassen.",
        "抱歉我无法总结这段对话。",
    ],
)
async def test_a_refusal_is_recognised(text: str) -> None:
    """In several languages; a summary that tells of one is none."""
    assert (await judge(is_no_refusal, text)).rejects
    told = summary(f"The agent said: {text} The user agreed to wait.")
    assert not (await judge(is_no_refusal, told)).rejects
    assert (await judge(is_no_refusal, text.ljust(400, "!"))).rejects
    assert not (await judge(is_no_refusal, text.ljust(401, "!"))).rejects


async def test_sections_are_counted_in_any_language_and_form() -> None:
    """A model may translate the headings, or mark them up."""
    german = "\n".join(f"## Abschnitt {letter}\nText" for letter in "ABCDEFGHI")
    verdict = await judge(has_sections, german)
    assert (verdict.score, verdict.rejects) == (1, False)
    on_one_line = "\n".join(f"{n}. {title}: {'text ' * 40}" for n, title in enumerate(TITLES, 1))
    assert not (await judge(has_sections, on_one_line)).rejects
    in_bold = "\n".join(f"{n}. **{title}**:\n   text" for n, title in enumerate(TITLES, 1))
    assert not (await judge(has_sections, in_bold)).rejects
    assert (await judge(has_sections, "1. Only this one:\n   text")).rejects


async def test_a_copy_is_no_summary_but_of_the_summary_before() -> None:
    """The next one is asked to keep its words."""
    assert (await judge(repeats_nothing, "line3 " * 2_000)).rejects
    copied = " ".join(one.text for one in chat(4, words=300)) + "and no more"
    assert (await judge(repeats_nothing, copied)).rejects
    assert not (await judge(repeats_nothing, summary())).rejects
    words = " ".join(f"port {number**5}" for number in range(99))
    earlier = Message("user", f"## Conversation Summary\n{words}", tags=Tags(condense_id="c"))
    bench = Bench(words, strategies=("fresh_start",), hooks=Hooks(validators=(repeats_nothing,)))
    made = await bench.condense([earlier, *chat(4)[1:]])
    assert (made.summary, bench.calls) == (words, 1)


async def test_a_summary_without_the_users_rules_names_them_to_the_model() -> None:
    """Where no ledger stands beside it that has them."""
    rules = [f"Never use library number {number} in this project." for number in range(4)]
    bench = Bench(
        summary(), summary(" ".join(rules)), strategies=("fresh_start",),
        hooks=Hooks(validators=(keeps_facts,)),
    )  # fmt: skip
    talk = [user(" ".join(rules)), *chat(6)[1:]]
    await bench.condense(talk)
    assert bench.calls == 2
    assert rules[2] in bench.summarizer.requests[1].messages[-1].text
