"""Rules: sentences that set one, by the words of their language."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

from condense.budget.language import language_in, language_of
from condense.facts.texts import sentences
from condense.messages import Message

LONGEST_CHARS = 300  # a longer sentence is no rule but a text
CLAUSE_CHARS = 160  # of a long sentence or a question, from the clause that has the rule
CLAUSES_CHARS = 2_000  # of a sentence whose clauses are looked at
READ_CHARS = 50_000  # of a text; nobody writes so many rules
QUESTION_MARKS = ("?", "؟", "\uff1f")
# Code sets no rules, nor do its comments.
CODE = re.compile(
    r"```(?:(?!```|\[…\]).)*+```|(?m:^[^\S\n]*(?:[#/<\"{}@$|]|[^\n]*(?:[)\]}\"'];|[{}(=\\])$)[^\n]*)",
    re.DOTALL,
)
_STOPS = " ,;:\u060c\u2013\u2014\u3001\uff0c\uff1b\uff1a"
_CLAUSE = re.compile(r"[,;:\u060c\u2013\u2014]\s+|[\u3001\uff0c\uff1b\uff1a]")


def language_spoken(messages: Sequence[Message]) -> str:
    """Return the language of the user's words; unknown ASCII text counts as English."""
    users = [one.words for one in messages if one.role == "user" and not one.in_force]
    return language_in(messages) or ("en" if users and all(map(str.isascii, users)) else "")


def rules_in(text: str, language: str) -> Iterator[str]:
    """Yield the sentences that are rules by the words of the text's language.

    ``language`` is that of short texts. A sentence may be in another; a question's clause a rule.
    """
    text = CODE.sub("\n", text[:READ_CHARS])
    language = language and (language_of(text) or language)
    for one in sentences(text):
        own = language_of(one) if language and not one.isascii() else ""
        if is_rule(one, language) or is_rule(one, own):
            yield one
        elif part := _part_with_rule(one, language):
            yield part


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
    found = tomllib.loads(resources.files(__package__).joinpath("rules.toml").read_text("utf-8"))
    return re.compile("|".join(found[language][kind]), re.IGNORECASE)


def may_back_rule(sentence: str, language: str) -> bool:
    """Return True if a sentence may be the source of a rule: a demand, and no question."""
    kinds = _pattern(language, "rule"), _pattern("any", "demand")
    return not sentence.endswith(QUESTION_MARKS) and any(one.search(sentence) for one in kinds)
