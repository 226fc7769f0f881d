"""The window's arithmetic, where no recording covers it."""

import logging
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense import (
    Adaptive,
    Budget,
    Configuration,
    Fixed,
    InvalidBudget,
    Message,
    PerProfile,
    TokenCount,
    growth_per_turn,
    language_in,
    language_of,
    with_threshold,
)
from condense.testing import WordCounter
from tests.condense.dialogues import SUMMARY, call, chat, result, user
from tests.condense.sessions import summary


def test_a_configuration_asks_its_resolvers_for_the_models_profile() -> None:
    """Its share for wrong estimates is the budget's."""
    wanted = Configuration(thresholds=(PerProfile({"small": 60}), Fixed(80)), buffer=0.2)
    made = Budget(1_000, 100, threshold=60, threshold_source="profile", buffer=0.2)
    assert wanted.budget(1_000, 100, profile="small") == made
    assert wanted.budget(1_000, 100).threshold == 80


def test_the_reason_says_which_rule_fired() -> None:
    """The user's threshold, or the window itself."""
    budget = Budget(100_000, 10_000, threshold=50)
    assert budget.reason(49_999) is None
    assert budget.reason(50_000) == "threshold"
    assert budget.condenses_at == 50_000
    assert budget.reason(80_000, automatic=False) is None
    assert budget.reason(80_001, automatic=False) == "allowed"
    assert Budget(100_000, 10_000).reason(80_001) == "allowed"
    assert math.isnan(Budget(0).percent(0))
    assert (Budget(0).percent(1), Budget(0).reason(1)) == (math.inf, "threshold")


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_output": -1},
        {"window": -1},
        {"window": math.inf},
        {"threshold": math.nan},
        {"threshold": -1},
        {"buffer": 1.0},
        {"buffer": -0.1},
    ],
)
def test_a_budget_refuses_numbers_that_make_no_sense(wrong: dict[str, float]) -> None:
    """Naming them: a negative reply would let a request be larger than the window."""
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidBudget, match=f"^A budget's {name} can't be {value}"):
        Budget(**{"window": 100_000, **wrong})  # type: ignore[arg-type]


BUDGET = Budget(100_000, 10_000)


@pytest.mark.parametrize(
    ("own", "source"),
    [
        (None, "global"),
        (4, "global"),
        (101, "global"),
        (math.nan, "global"),
        (5, "profile"),
        (100, "profile"),
    ],
)
def test_a_profile_inherits_unless_its_threshold_is_a_usable_percentage(
    own: float | None, source: str
) -> None:
    """Minus one, nothing and nonsense all mean "as everywhere"."""
    resolvers = (PerProfile({"mine": own}), Fixed(50))
    budget = with_threshold(BUDGET, resolvers, profile="mine")
    expected = 50 if source == "global" else own
    assert (budget.threshold_source, budget.threshold) == (source, expected)


@pytest.mark.parametrize(("percent", "warned"), [(3.25, True), (104.5, True), (-1, False)])
def test_a_value_out_of_range_is_passed_over_with_a_warning(
    percent: float, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, however often it is met; to inherit is no mistake."""
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        made = with_threshold(BUDGET, (PerProfile({"p": percent}), Fixed(70)), profile="p")
        assert made.threshold == 70
    said = f"The profile threshold of {percent:g} % is not between 5 and 100: not used"
    assert caplog.messages == ([said] if warned else [])


def turns_of(tokens: float, count: int = 3) -> tuple[Message, ...]:
    """Return so many turns of that size, and the beginning of one more."""
    begun = [replace(user("Go on."), tokens=0), Message("assistant", "Yes.", tokens=int(tokens))]
    return (*begun * count, user("And now?"))


def test_an_adaptive_threshold_leaves_time_for_two_more_turns() -> None:
    """80,000 tokens are allowed; turns of 10,000 leave 60,000, small ones nearly all."""
    large = turns_of(10_000)
    assert with_threshold(BUDGET, [Adaptive()], history=large).threshold == 60
    small = with_threshold(BUDGET, [Adaptive()], history=turns_of(100))
    assert small.threshold == pytest.approx(79.8)
    assert with_threshold(BUDGET, [Adaptive(turns=3)], history=large).threshold == 50
    assert with_threshold(BUDGET, [Adaptive(), Fixed(70)]).threshold_source == "global"
    assert with_threshold(Budget(0), [Adaptive()], history=large).threshold_source == "global"


@given(st.integers(1, 2_000_000), st.floats(0, 1e7), st.floats(0, 10))
def test_an_adaptive_threshold_is_always_one_that_can_be_used(
    window: int, growth: float, turns: float
) -> None:
    """Whatever the growth; and never later than where a request would be too long anyway."""
    resolvers = [Adaptive(turns), Fixed(90)]
    made = with_threshold(Budget(window), resolvers, history=turns_of(growth))
    assert 5 <= made.threshold <= 100
    assert made.threshold_source == ("adaptive" if int(growth) > 0 else "global")


def test_the_growth_is_what_the_latest_turns_added_each() -> None:
    """From what the user says to what the user says next; summaries and tool results begin none."""
    counter = WordCounter()
    turns = [user("word " * 10), call(), result(text="word " * 50), *chat(1)[1:]]
    assert growth_per_turn(turns, counter) == 0
    again = [SUMMARY, *turns, *turns, user("Thanks.")]
    assert growth_per_turn(again, counter) == 10 + (3 + 10) + 50


SAID = {
    "en": "Why is the parser slow? Please fix it and tell me what it was.",
    "de": "Warum ist der Parser so langsam? Bitte nicht die API ändern.",
    "fr": "Pourquoi est-ce que le test échoue ? Il ne faut pas changer les données.",
    "es": "¿Por qué falla la prueba? No cambies los datos del cliente.",
    "pt": "Por que o teste falha? Não mude os dados do cliente, e diga o que é.",
    "it": "Perché il test non passa? Non cambiare i dati del cliente, che è importante.",
    "tr": "Bu test ne için çok yavaş? Veri ve şema değil, bir ayar olarak bak.",
    "ru": "Почему тест падает? Порт 8080 менять нельзя.",
    "zh": "端口8080不能改。请修复解析器。",
    "ja": "ポート8080は変更しないでください。設定を確認。",
    "ko": "포트 8080은 절대 바꾸지 마세요.",
    "ar": "لا تغير المنفذ 8080 من فضلك.",
    "hi": "कृपया पोर्ट 8080 मत बदलो।",
}


NEUTRAL = [("", text) for text in ("", "make test", "Berlin, Paris, 東京 and Rome!")]


@pytest.mark.parametrize(("code", "text"), [*SAID.items(), *NEUTRAL])
def test_a_sentence_tells_its_language(code: str, text: str) -> None:
    """By its script, or by words that any sentence has; names and commands are of any."""
    assert language_of(text) == code


def test_the_newest_words_count_from_which_it_can_be_told() -> None:
    """Results of tools and summaries are nobody's, and "1" tells nothing; a situation knows it."""
    talk = [user(SAID["fr"]), user(SAID["de"]), call(), result(text=SAID["en"]), user("1")]
    assert language_in(talk) == "de"
    assert language_in([summary(), *talk[2:]]) == ""
    wanted = Configuration()
    said = wanted.situation([user(SAID["ja"])], TokenCount(1), wanted.budget(1_000))
    assert said.language == "ja"
