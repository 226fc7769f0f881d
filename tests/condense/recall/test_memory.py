# ruff: noqa: RUF001 - words of many scripts
"""Searches of hidden messages by words: the ranking, and the index in memory."""

import random

import pytest

from condense import (
    BESIDE,
    RECALLED,
    CharacterCounter,
    MemoryRecall,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    recalled_block,
)
from tests.condense.dialogues import numbered
from tests.condense.sessions import summary
from tests.growth import LINEAR, assert_cheap

OTHERS = "The weather is fine.", "Wir sehen uns.", "Все хорошо.", "天气很好。", "كل شيء بخير."


def recall(*said: str | Message) -> MemoryRecall:
    """Return a search of messages in turn of the user and the agent, after some others."""
    made = [one if isinstance(one, Message) else Message("user", one) for one in (*OTHERS, *said)]
    return MemoryRecall(numbered(made))


def found(search: MemoryRecall, words: str) -> list[str]:
    """Return what the search finds first to last."""
    return [one.text for one in search(words, 9)]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("The migrations were planned.", "Which migration?"),
        ("Both fees are paid.", "What is the fee?"),
        ("Der Lieferantenvertrag endet bald.", "Welcher Lieferant war das?"),
        ("Die Häuser sind gemietet.", "Welche Hauser?"),
        ("Договор подписан.", "Где договора?"),
        ("Цены известны.", "Какая цена?"),
        ("والميزانية معروفة", "ما هي ميزانية المشروع؟"),
        ("ميزانية معروفة", "أين الميزانية؟"),
        ("无线网的密码在墙上", "密码是什么？"),
        ("ワイファイの鍵は机の上です", "鍵はどこですか？"),
        ("The ticket is LJ-5QX7.", "lj-5qx7?"),
        ("What a NAÏVE idea.", "naive?"),
        ("The size is max_retry_count.", "What is maxRetryCount?"),
        ("The size is maxRetryCount.", "What is max_retry_count?"),
        ("It is painted in RAL 7016.", "ral7016?"),
        ("Der Kredit ist 250.000 hoch.", "Was ist 250000?"),
        ("The loan is 1250000.", "What is 1,250,000?"),
    ],
)
def test_a_question_is_asked_in_other_forms_than_its_answer(said: str, words: str) -> None:
    """Endings, accents, capitals, articles, signs without spaces, and names and numbers in code."""
    assert found(recall(said), words)[0] == said


@pytest.mark.parametrize("size", [10, 200, 9_000])
@pytest.mark.parametrize(
    "words", ["How is the vault opened? {}", "{} How is the vault opened?\nOK"]
)
def test_of_a_long_message_the_question_is_looked_for(words: str, size: int) -> None:
    """Wherever it stands, not the longer words beside it; "Right?" alone asks for too little."""
    said = "Ada opens the vault in Lisbon."
    talk = " ".join([f"Colleague{number} discusses arrangements." for number in range(size)])
    assert found(recall(said), words.format(talk))[0] == said
    assert found(recall(said), f"Open the vault in Lisbon. {'So. ' * size} Right?")[0] == said


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("The stall at the bridge fries Nasi Goreng.",
         ("We planned a holiday: beaches, trains, hotels, tents and Nasi Goreng near the harbour."
          " Which recommendation was interesting then?")),
        ("7. Translate for a museum.",
         ("I asked about museum work, garden work, hotels, trains, beaches, tents and boats."
          " Can you list recommended occupations again?")),
        ("他在清迈的寺庙旁边租了房子。",
         "上次讨论旅行计划的时候提到过很多城市和朋友的安排，现在想确认一下他在清迈的寺庙旁边租的是什么？"),
    ],
)  # fmt: skip
def test_all_words_of_a_message_are_looked_for(said: str, words: str) -> None:
    """The rarest, not the longest, and not those of a question alone."""
    talk = [f"{words[at : at + 9]} and so on." for at in range(12)] if "，" in words else []
    talk += [f"{one} and so on." for one in words.split() if 8 < len(one) < 20]
    assert said in found(recall(*talk * 12, "Hm.", said, "Hm.", *talk * 12), words)[:3]


@pytest.mark.parametrize("words", ["", "?!", "zebra", "som", "x" * 9_000, "\ud800"])
def test_what_nobody_said_is_not_found(words: str) -> None:
    """Nothing is an error."""
    assert found(recall("Something else."), words) == []


@pytest.mark.parametrize(
    ("best", "worse", "words"),
    [
        ("The harbour has a crane.", "The harbour is calm. " * 9, "the crane in the harbour"),
        ("The crane lifts nine tons.", "A crane. It is late. " + "No. " * 30 + "Tons of it.",
         "How many tons does the crane lift?"),
        ("The rent is 24 now.", "The rent is 26 now.", "What is the rent?"),
    ],
)  # fmt: skip
def test_the_best_comes_first(best: str, worse: str, words: str) -> None:
    """Rare words, words near each other, the later of two."""
    assert found(recall(worse, "And so on.", best), words)[0] == best


def test_two_words_outweigh_one_that_many_say_later() -> None:
    """More messages have one of them than a search reads."""
    both, many = "The harbour has a crane.", [f"The harbour has berth {n}." for n in range(60)]
    cranes = [f"Crane number {n} is broken." for n in range(60)]
    assert found(recall(both, *many, *cranes), "the crane in the harbour")[0] == both


def test_what_is_said_again_is_told_once() -> None:
    """Of the same words the best is enough; common ones are found where one searches."""
    search = recall("The crane lifts nine tons.", "The crane lifts nine tons!", "A crane sleeps.")
    assert found(search, "What does the crane lift?")[:2] == [
        "The crane lifts nine tons!",
        "A crane sleeps.",
    ]
    search = recall("You and I, then.")
    assert found(search, "then and you")[0] == "You and I, then."
    assert {one.fit for one in search("then and you", 5)} == {0}


def test_a_reply_is_found_by_what_it_answers() -> None:
    """It need not have a word of it."""
    reply = Message("assistant", "The Slonček.")
    search = recall("A hotel burned.", "So.", "Which hotel has a lift, Anna asks?", reply, "So!")
    assert "The Slonček." in found(search, "What did Anna ask of the hotel and the lift?")[:2]


def test_of_a_long_message_the_passage_that_fits_is_told() -> None:
    """Cut where a sentence ends, however long the message is, in any script."""
    for filler, fact in (
        ("The sea is calm. ", "The crane lifts nine tons."),
        ("海很平静。", "起重机能吊九吨。"),
    ):
        for times in (200, 4_000):
            search = recall(filler * times + fact + " " + filler * times)
            (passage,) = search("crane tons 起重机 吊", 1)
            assert fact in passage.text
            assert len(passage.text.encode()) <= 1_800
            assert passage.text.strip().endswith((".", "。"))


def test_what_others_put_beside_a_message_and_summaries_are_not_found() -> None:
    """What was recalled stands where it was said; calls and results are found."""
    beside = TextBlock("an old zebra", {BESIDE: {"kind": RECALLED}})
    search = recall(
        Message("user", (beside, TextBlock("Go on."))),
        summary(TextBlock("a zebra"), id_="s"),
        Message("assistant", (ToolUseBlock("t", "run", {"command": ["ls", {"in": "/giraffe"}]}),)),
        Message("user", (ToolResultBlock("t", (TextBlock("an okapi"),)),)),
        Message("user", (ToolResultBlock("t", "a tapir"),)),
    )
    assert found(search, "zebra") == []
    assert "/giraffe" in found(search, "giraffe")[0]
    assert search("giraffe", 1)[0].seq == len(OTHERS) + 3
    assert [found(search, word)[0] for word in ("okapi", "tapir")] == ["an okapi", "a tapir"]


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ("thanks, go on", False),
        ("Perfect, continue please", False),
        ("danke, mach weiter", False),
        ("好的，谢谢，继续", False),
        ("The harbour.", False),
        ("the harbour crane", True),
        ("Which harbour?", True),
    ],
)
def test_small_talk_brings_nothing_back(words: str, fits: bool) -> None:
    """Nor does one word of what is no question."""
    search = recall("The harbour has a crane, thanks. Go on, perfect, 继续.")
    block = recalled_block(search(words, 5), counter=CharacterCounter(), limit=1_500)
    assert (block is not None) == fits


def test_a_search_costs_what_it_finds() -> None:
    """Not what is stored."""
    dice = random.Random(1)  # noqa: S311 - the same each time
    words = ["".join(dice.choices("abcdefgh", k=6)) for _ in range(5_000)]

    def make(count: int) -> MemoryRecall:
        return recall(*(" ".join(dice.choices(words, k=20)) for _ in range(count)))

    few, many = make(400), make(3_200)
    asked = [" ".join(dice.choices(words, k=5)) for _ in range(20)]
    assert_cheap(
        lambda: [many(one, 5) for one in asked], lambda: [few(one, 5) for one in asked], LINEAR
    )
