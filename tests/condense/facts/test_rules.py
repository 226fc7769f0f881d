"""Sentences that are standing rules, in the conversation's own language."""

import pytest

from condense.facts.notebook import Notebook
from condense.facts.receipt import receipt
from condense.facts.rules import LONGEST_CHARS, rules_in
from condense.facts.texts import sentences
from tests.condense.sessions import Session

RULES = {
    "en": ["Never touch the port 8080.", "Please don't use emojis", "No footnotes",
           "You should use tabs", "Use British spelling in all texts.", "Keep answers short"],
    "de": ["Beträge niemals in Prozent", "Bitte nicht vor 19 Uhr anrufen."],
    "fr": ["Ne jamais pousser sur main"], "es": ["Siempre escribe en español."],
    "pt": ["Nunca altere o arquivo."], "it": ["Scrivi sempre in italiano."],
    "ru": ["Никогда не меняй порт."], "tr": ["Asla portu değiştirme."],
    "zh": ["端口8080不能改"], "ja": ["昼間は電話を使わないでください"],
    "ko": ["포트를 절대 바꾸지 마세요"],
    "ar": ["لا يجوز تغيير المنفذ"], "hi": ["पोर्ट कभी नहीं बदलना"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "rule"), [(code, rule) for code, rules in RULES.items() for rule in rules]
)
def test_a_rule_is_told_by_the_words_of_its_language(language: str, rule: str) -> None:
    """And of no other; nor where nobody knows which it is."""
    assert [*rules_in(f"OK. {rule}", language)] == [rule]
    assert [*rules_in(rule, "")] == []


@pytest.mark.parametrize(
    "text",
    [
        "I don't like it", "Should we always do that?", "It never works", "They always meet there.",
        "My sister says we don't need that", "Use Math.sin(x)?", "Sin City", "Open Sans", "3. Mai",
        "word " * 60 + "never", "Well. " * 9_000 + "You must never go.",
    ],
)  # fmt: skip
def test_a_question_an_opinion_or_a_name_is_no_rule(text: str) -> None:
    """It asks for nothing to be kept to; a long sentence is a text, what ends a long one unread."""
    assert len(text) <= LONGEST_CHARS or "never" in text
    assert [*rules_in(text, "en")] == []


def test_words_of_other_languages_make_no_rule() -> None:
    """In ledger and receipt alike: the language is that of the conversation."""
    session = Session().says("Open Sans and Math.sin are what we use for this, mai and sin too.")
    session.says("Nie wieder. That is the name of the song.")
    notebook = Notebook()
    notebook.read(session.messages)
    assert not notebook.rules
    assert "constraints" not in receipt(session.messages, "").tallies
    german = Session().says("Das ist die Farbe, die wir nehmen. Bitte nicht vor 19 Uhr anrufen.")
    notebook = Notebook()
    notebook.read(german.messages)
    assert [*notebook.rules] == ["Bitte nicht vor 19 Uhr anrufen."]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? 四。五", ["One.", "Two!", "Three?", "四。", "五"]),
        ("1. Version 1.2 of a.py. 2) Go", ["1. Version 1.2 of a.py.", "2) Go"]),
        (" a\n\n b ", ["a", "b"]),
        ("", []),
    ],
)
def test_sentences_end_as_their_script_has_it(text: str, found: list[str]) -> None:
    """A number or a name with a full stop ends none."""
    assert [*sentences(text)] == found
