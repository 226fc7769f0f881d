"""Rules: sentences that set one, by the words of their language."""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

from condense.budget.language import language_in, language_of
from condense.facts.texts import sentences
from condense.messages import Message

LONGEST_CHARS = 300  # a longer sentence is no rule but a text
CLAUSE_CHARS = 160  # of a long sentence or a question, from the clause that has the rule
CLAUSES_CHARS = 2_000  # of a sentence whose clauses are looked at
STATEMENT_CHARS = 80  # of a short sentence: one may be a rule in odd words
RULE_CHARS_READ = 50_000  # of a text; nobody writes so many rules
QUESTION_MARKS = ("?", "؟", "\uff1f")
_NO_STATEMENT = re.compile(r"[?؟\uff1f:\uff1a]\Z|\A(?:[-*+•\u2013]|\d{1,3}[.)])\s")
_LAST_QUESTION = re.compile(r"[^\n.!?…।。！？]*[?？؟吗嗎]\W*\Z")
_STOPS = " ,;:\u060c\u2013\u2014\u3001\uff0c\uff1b\uff1a"
_CLAUSE = re.compile(r"[,;:\u060c\u2013\u2014]\s+|[\u3001\uff0c\uff1b\uff1a]")


def language_spoken(messages: Sequence[Message]) -> str:
    """Return the language of the user's words; unknown ASCII text counts as English."""
    users = [one.words for one in messages if one.role == "user" and not one.in_force]
    return language_in(messages) or ("en" if users and all(map(str.isascii, users)) else "")


@lru_cache(2_000)  # the same messages are read in each round
def rules_in(text: str, language: str) -> tuple[str, ...]:
    """Return the sentences that are rules by the words of the text's language.

    ``language`` is assumed of short texts. A clause of a question may be a rule, too.
    """
    found, rules = [*own_sentences(text)], list[str]()
    language = language and (language_of("\n".join([one for one, _ in found])) or language)
    for said, one in found:
        own = language_of(one) if language and not one.isascii() else ""
        if is_rule(one, language) or is_rule(one, own):
            rules.append(said)
        elif part := _part_with_rule(one, language):
            at = one.index(part)
            rules.append(said[at : at + len(part)])
    return tuple(rules)


def _is_own(sentence: str) -> bool:
    """Return False for a sentence that is only supposed, or has another's words."""
    return not _pattern("others", "spoken").search(sentence)


def own_sentences(
    text: str, is_wanted: Callable[[str], object] = _is_own
) -> Iterator[tuple[str, str]]:
    """Yield a user's wanted sentences, each as it is and with its quotations masked.

    Pasted text is left out.
    """
    text = _without_shown(_pattern("others", "pasted").sub("\n", text[:RULE_CHARS_READ]))
    masked = _pattern("others", "quoted").sub(lambda one: "\u00b7" * len(one[0]), text)
    end = 0
    for one in sentences(masked):
        start = masked.index(one, end)
        end = start + len(one)
        if is_wanted(one):
            yield text[start:end], one


def _without_shown(text: str) -> str:
    """Return a text without words behind a colon, if its last sentence asks about them."""
    asked = _LAST_QUESTION.search(text, max(0, len(text) - LONGEST_CHARS))
    if not asked or _pattern("others", "asks").search(asked[0]):
        return text
    return _pattern("others", "shown").sub("\n", text[: asked.start()]) + asked[0]


@lru_cache(2_000)
def statements_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return a user's own short sentences as ``own_sentences`` does: no questions, titles or lists.

    A list of wishes may be anybody's.
    """
    short = [one for one in own_sentences(text) if len(one[0]) <= STATEMENT_CHARS]
    return tuple([one for one in short if not _NO_STATEMENT.search(one[0])])


@lru_cache(4_000)  # the same sentences are read in each round
def is_rule(sentence: str, language: str) -> bool:
    """Return True if a sentence sets a rule by the words of its language."""
    if len(sentence) > LONGEST_CHARS or sentence.endswith(QUESTION_MARKS) or not language:
        return False
    rule, talk = _pattern(language, "rule"), _pattern(language, "talk")
    return bool(rule.search(sentence) and rule.search(talk.sub("…", sentence)))


def _part_with_rule(sentence: str, language: str) -> str:
    """Return a long sentence or a question from its first clause on that is a rule, shortened."""
    ends = [0, *[one.end() for one in _CLAUSE.finditer(sentence[:CLAUSES_CHARS])]]
    if not sentence.endswith(QUESTION_MARKS):
        ends.append(len(sentence))
    for start, end in pairwise(ends):
        clause = sentence[start:end].rstrip(_STOPS)
        # Only a whole sentence is a rule by the word that it begins with.
        told = f"x {clause}" if start else clause
        if not _pattern("any", "condition").match(clause) and is_rule(told, language):
            near = [one for one in ends if end <= one <= start + CLAUSE_CHARS]
            return sentence[start : max([end, *near])].rstrip(_STOPS)
    return ""


@cache
def _pattern(language: str, kind: str) -> re.Pattern[str]:
    """Return a language's pattern of rules, or of talk that only looks like one."""
    return re.compile("|".join(_words()[language][kind]), re.IGNORECASE | re.MULTILINE | re.DOTALL)


@cache
def _words() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(resources.files(__package__).joinpath("rules.toml").read_text("utf-8"))


def may_back_rule(sentence: str, language: str) -> bool:
    """Return True if a sentence may be the source of a rule: a demand, and no question."""
    kinds = _pattern(language, "rule"), _pattern("any", "demand")
    return not sentence.endswith(QUESTION_MARKS) and any(one.search(sentence) for one in kinds)
