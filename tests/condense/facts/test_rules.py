"""Sentences that are standing rules, in the conversation's own language."""

import tomllib
from pathlib import Path

import pytest

from condense import Message
from condense.facts.notebook import Notebook, gather
from condense.facts.receipt import receipt
from condense.facts.rules import LONGEST_CHARS, is_rule, rules_in
from condense.facts.texts import sentences
from tests.condense.sessions import Session

RULES = {
    "en": ["Never touch the port 8080.", "Please don't use emojis", "No footnotes",
           "You should use tabs", "Use British spelling in all texts.", "Keep answers short",
           "Commas are fine again from here on.", "For this chapter only, write in prose."],
    "de": ["Beträge niemals in Prozent", "Bitte nicht vor 19 Uhr anrufen.",
           "Emojis sind ab jetzt wieder erlaubt.", "Nur für dieses Kapitel: schreib in Reimen."],
    "fr": ["Ne jamais pousser sur main", "Tu n'es plus obligé de répondre en une phrase."],
    "es": ["Siempre escribe en español.", "Ya puedes usar emojis otra vez."],
    "pt": ["Nunca altere o arquivo."], "it": ["Scrivi sempre in italiano."],
    "ru": ["Никогда не меняй порт."], "tr": ["Asla portu değiştirme."],
    "zh": ["端口8080不能改"],
    "ja": ["昼間は電話を使わないでください", "もう敬語でなくていいです。"],
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


# Sentences that report another's rule, and sentences that only look so.
REPORTED = {
    "en": ("My boss always says never to use tabs.", "As I said, never use tabs."),
    "en, kept saying": ("He kept telling us to never use tabs.", "We keep calm, never use tabs."),
    "en, read": ("The sign reads: never use tabs.\n", "Never read the script aloud."),
    "en, a text": ("The tweet said I must never lie.", "My doctor said I must never smoke."),
    "en, convinced": ("Ada is convinced that tabs must never be used.", "Never be convinced."),
    "de, warned": ("Oma warnte immer, man dürfe nie lügen.", "Warne mich immer vor Fristen."),
    "de, opinion": (
        "Er ist der Meinung, man dürfe nie lügen.", "Ich bin der Meinung, dass man nie lügen darf.",
    ),
    "fr, swore": (
        "Il jure qu'il ne faut jamais mentir.", "Je suis d'avis qu'on ne doit jamais mentir.",
    ),
    "es, repeated": ("Mi abuela repetía que nunca hay que mentir.", "Nunca repitas la pregunta."),
    "ru, warned": ("Врач предупредила, что никогда нельзя курить.", "Никогда не повторяй вопрос."),
    "ja, repeated": ("上司はタブを絶対に使うなと繰り返していた。", "質問は絶対に繰り返さないで。"),
    "de": ("Laut dem Artikel soll man nie Tabs nutzen.", "Schreib immer dazu, wo das steht."),
    "fr": ("Mon chef dit de ne jamais mentir.", "Dis-moi toujours ce que dit le journal."),
    "es": ("Mi jefe dice que nunca hay que mentir.", "Dime siempre lo que dice el registro."),
    "pt": ("O artigo recomenda nunca usar tabs.", "Como eu disse, nunca use tabs."),
    "it": ("Il capo dice di non usare mai i tab.", "Ti ho detto di non usare mai le emoji."),
    "ru": ("Врач говорит, что никогда нельзя курить.", "Как я сказал, никогда не используй табы."),
    "tr": ("Patronum hep asla sekme kullanmayın der.", "Asla sekme kullanma."),
    "zh": ("我老板总说绝对不要用制表符。", "必须告诉我日志里说了什么。"),
    "ja": ("上司はタブを絶対に使うなと言っています。", "前に言ったが、タブは使わないで。"),
    "ko": ("상사는 탭을 절대 쓰지 말라고 말해요.", "죄송하다고 말하지 마세요."),
    "ar": ("مديري يقول لا تستخدم الرموز أبدا.", "كما قلت، لا تستخدم الرموز أبدا."),
    "hi": ("मेरे बॉस कहते हैं कि टैब कभी इस्तेमाल न करें।", "जैसा मैंने कहा, टैब कभी इस्तेमाल न करें।"),
}  # fmt: skip


@pytest.mark.parametrize("language", REPORTED)
def test_a_rule_that_is_only_reported_is_none(language: str) -> None:
    """A person may agree with it or not."""
    reported, own = REPORTED[language]
    assert [*rules_in(f"{reported} {own}", language[:2])] == [own]


@pytest.mark.parametrize(
    "text",
    [
        "The weather is fine again.",
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
        ("Dr. J. Roe is in. So am I. Bye", ["Dr. J. Roe is in.", "So am I.", "Bye"]),
        ("", []),
    ],
)
def test_sentences_end_as_their_script_has_it(text: str, found: list[str]) -> None:
    """A number or a name with a full stop ends none."""
    assert [*sentences(text)] == found


def test_most_sentences_are_told_apart_in_eleven_languages() -> None:
    """Also those that the words were not chosen by."""
    labelled = tomllib.loads(Path(__file__).with_name("rule_sentences.toml").read_text("utf-8"))
    assert len(labelled) == 11
    for half, least in ((0, 1), (1, 0.9)):
        found = {
            kind: [
                is_rule(one, code) for code, both in labelled.items() for one in both[kind][half::2]
            ]
            for kind in ("rule", "talk")
        }
        hits, alarms = sum(found["rule"]), sum(found["talk"])
        assert hits / len(found["rule"]) >= least
        assert hits / (hits + alarms) >= least


def test_rules_without_a_word_of_command_are_told_from_talk() -> None:
    """Needs, tastes, customs and limits, in eleven languages."""
    told = Path(__file__).with_name("informal_sentences.toml").read_text("utf-8")
    sentences_of = tomllib.loads(told)
    assert len(sentences_of) == 11
    for code, both in sentences_of.items():
        found = {kind: [is_rule(one, code) for one in both[kind]] for kind in ("rule", "talk")}
        assert sum(found["rule"]) >= 0.84 * len(found["rule"])
        assert sum(found["talk"]) <= 0.07 * len(found["talk"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I'm vegan, can you plan a dinner for us?", ["I'm vegan"]),
        (
            f"I'm making an app, so I prefer few, small parts, and it {'has to go on ' * 30}.",
            ["so I prefer few, small parts"],
        ),
        ("If we don't deploy on Fridays, is that bad?", []),
        ("Can you look at it, keep the rest short, and go on?", []),
        ("Can you explain it, and never mind the rest?", []),
        ("So:\n```\n# Never do this\n```\nFine.", []),
        ("// Use the old one\nraise Error('it must be there');", []),
        (
            "It is what you and I want. \u6211\u4eec\u5bb6\u4e0d\u5403\u732a\u8089\u3002",
            ["\u6211\u4eec\u5bb6\u4e0d\u5403\u732a\u8089\u3002"],
        ),
    ],
)
def test_a_rule_is_found_in_what_is_asked_and_not_in_code(text: str, found: list[str]) -> None:
    """Its clause is, and a sentence in another script than the rest."""
    assert [*rules_in(text, "en")] == found


OTHERS = {
    "a letter": "Sum it up:\n\nFrom: B <b@x.example>\nSubject: y\n\n{}\n\nKind regards\nB",
    "a reply": "Look:\nOn Tue, 4 Nov 2025, Lena <l@x.example> wrote:\n{}",
    "a forwarded letter": "Hm?\n---------- Forwarded message ---------\nFrom: HR\n\n{}",
    "quoted lines": "Is it legal?\n> {}",
    "a log of a chat": "Who is right?\n[12:01] Nina: {}\n[12:02] Tom: ok",
    "names in turns": "Who is right?\nNina: {}\nTom: No.\nNina: Yes.",
    "a name above": "Who is right?\nNina K.  12:01 PM\n{}",
    "found lines": "Why is it there?\nsrc/a.py:12: {}",
    "between lines": "What do you make of it?\n---\n{}\n---",
    "a tag": "<page>\n{}\n</page>\nIs it fair?",
    "a page": "What do you think of this page?\n\nCats sleep.\n\n{}",
    "output": "the log says:\n{}",
    "quoted": "The sign reads \u201cStop. {} Go.\u201d",
    "said": "The coach told me: {}",
    "said at length": "My story: The captain shouted: Halt! {}",
    "said in German": "Der Hauptmann rief: Halt! {}",
    "said in Chinese": "\u5c0f\u8bf4\u91cc\u5c06\u519b\u8bf4\uff1a\u7ad9\u4f4f\u3002{}",
    "said in Arabic": "\u0642\u0627\u0644 \u0627\u0644\u0645\u0644\u0643: \u0642\u0641. {}",
    "shown": "Voici le mot de ma tante : Bonjour. {}",
    "supposed": "Suppose I said it: {}",
    "in French": "Que penses-tu de ce message ?\n\n{}",
    "in Russian": "\u0421\u043e\u0441\u0435\u0434 \u043d\u0430\u043f\u0438\u0441\u0430\u043b:\n{}",
    "in Chinese": "\u623f\u4e1c\u8bf4\uff1a\n{}",
    "to translate": "Can you translate this into German: {}",
    "to proofread": "Proofread it, please.\n\n{}",
    "above the request": "Bring a coat.\n{}\n\nTranslate this into Spanish, please.",
    "above one in German": "{}\nFass das bitte zusammen.",
    "above one in Japanese": "{}\n\u3053\u308c\u3092\u82f1\u8a33\u3057\u3066\u3002",
    "a document": "Here's our README, can you tidy it up?\n\n# fastcsv\n{}\n\nthanks!",
    "below a line": "The linter prints this\n{}\nIs that configurable?",
    "a sentence": "My homework is to find the verb in this sentence: {}",
    "a recipe": "How long does the recipe take?\n{}",
    "an answer": "Write an answer, please.\n\nHi Tom, {}\nBest wishes, Ann",
    "asked about": "Notice in the hall: Shut the door. {} Is that legal?",
    "asked about below": "Aushang im Flur:\n{}\nIst das erlaubt?",
    "a dialogue": "My story:\n\u2014 {} \u2014 said the captain.",
    "in Italian": "Traduci: {}",
    "in Japanese": "\u6b21\u306e\u6587\u3092\u8a33\u3057\u3066\u304f\u3060\u3055\u3044:\n{}",
    "in Arabic": "\u0643\u062a\u0628 \u0644\u064a \u0627\u0644\u0645\u0627\u0644\u0643:\n{}",
}
OWN = (
    "As I said: {}",
    "For the posts: {} Could you write the first?",
    "A note: I am tired. {} Which one do you like?",
    "Ada said: Hi. Bye.\n{}",
    "For all that you write: {}",
    "Here are my guidelines:\n{}",
    "From: Berlin\nTo: Rome\n{}",
    "My day:\n8:00 gym\n9:00 work\n{}",
    "Please translate all that I send.\n{}",
    "{} Can you translate this into French: hello?",
    "{} Never leave English words.\n\nNow summarise chapter 2.",
    "{}\nFix the parser.",
    "Hi!\n{}",
    "Dear assistant,\n\n{}\n\nKind regards, Bob",
    "From: B <b@x.example>\n\nPay now.\n\nKind regards\nB\n\n{}",
    "I get this error:\nKeyError: x\n\n{}",
)


@pytest.mark.parametrize("others", OTHERS)
def test_what_others_wrote_sets_no_rule_and_leaves_no_statement(others: str) -> None:
    """Wherever in a person's message it is pasted, quoted or supposed."""
    said = OTHERS[others].format("Never call before noon.")
    assert [*rules_in(said, "en")] == []
    cut = gather([Message("user", f"{said}\n{'It went on. ' * 900}")], budget_tokens=60)
    assert "Never call" not in "".join([one.text.partition("[\u2026]")[2] for one in cut.requests])


@pytest.mark.parametrize("own", OWN)
def test_what_only_looks_like_others_words_sets_rules(own: str) -> None:
    """A quotation in a rule belongs to it."""
    rule = 'Never write "in a world" before noon.'
    assert any(rule in one for one in rules_in(own.format(rule), "en"))
