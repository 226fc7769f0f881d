"""What a reply states as a result, a decision or a promise is kept, in any language."""

import pytest

from condense import Message, TextBlock, ToolUseBlock
from condense.notes.notebook import gather
from condense.notes.sentences import is_rule, replaces, sentences
from tests.condense.sessions import Session

CHATTER = "That is a good question, and there is a lot to be said about it. Let me explain. " * 8


def stated(*replies: str) -> tuple[str, ...]:
    """Return what the ledger keeps of replies to a user."""
    session = Session()
    for reply in replies:
        session.says("Go on.").replies(reply)
    return gather(session.messages).statements


@pytest.mark.parametrize(
    "sentence",
    [
        "Your booking number is LX-48213.",
        "The average comes to 42.7 ms.",
        "We will deliver the new part on Thursday.",
        "We decided to keep the second version.",
        "The deposit is €120.",
        "Ihre Buchung ist unter der Nummer 7741 bestätigt.",
        "Wir haben beschlossen, die zweite Fassung zu behalten.",
        "Nous allons vous rembourser avant vendredi.",
        "我们决定采用第二个方案。",
        "结果是每秒最多420个请求。",
        "予約番号はK-2291です。",
        "سنقوم بإرسال المبلغ يوم الخميس.",
        "Мы вернём 1 250 рублей до пятницы.",
    ],
)
def test_a_result_a_decision_or_a_promise_is_kept(sentence: str) -> None:
    """Word for word, among much that says little."""
    assert sentence in stated(f"{CHATTER}{sentence} {CHATTER}", CHATTER)


def test_statements_are_no_questions_code_or_words_before_a_call() -> None:
    """They take a small part of what replies say."""
    code = "```\ntotal = 1250\n```"
    assert stated(f"{CHATTER}\n{code}\nShall I book 12 seats?\n{CHATTER}") == ()
    figures = " ".join(f"There are {n} of them in drawer {n}." for n in range(60))
    kept = stated(*[figures] * 12, f"Your booking number is LX-48213. {CHATTER}")
    assert "Your booking number is LX-48213." in kept
    assert sum(map(len, kept)) < 0.1 * 12 * len(figures)
    said = TextBlock("In total that comes to 4,711 euros.")
    on_the_way = Message("assistant", (said, ToolUseBlock("t1", "look", {})))
    assert gather([on_the_way]).statements == ()
    assert gather([Message("assistant", (said,))]).statements == (said.text,)


def test_sentences_end_as_their_script_ends_them() -> None:
    """With a space after the mark or without; a label is no sentence."""
    text = "One. Two! 1. Three? Am 27. Oktober. 第一句。第二句!好。 هل هذا؟ نعم. एक। दो"
    assert [*sentences(text)] == [
        "One.", "Two!", "1. Three?", "Am 27. Oktober.", "第一句。", "第二句!好。",
        "هل هذا؟", "نعم.", "एक।", "दो",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        "Never touch the public API.", "端口8080不能改", "Das darf niemals ins Repository.",
        "本番には触らないでください", "لا يجوز تغيير المنفذ", "N'utilise jamais de tabulations.",
        "No uses punto y coma, nunca.", "Никогда не меняй порт.", "포트는 절대 바꾸지 마",
    ],
)  # fmt: skip
def test_rules_are_told_in_many_languages(rule: str) -> None:
    """And what is none is not."""
    assert is_rule(rule)
    assert not is_rule("The sky is blue today.")


@pytest.mark.parametrize(
    "words", ["Use B instead of A.", "Nimm B statt A.", "改用B", "Bの代わりにA", "B вместо A"]
)
def test_replacements_are_told_in_many_languages(words: str) -> None:
    """By the words that say so."""
    assert replaces(words)
