"""Rules: sentences that set one, by the words of their language."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

from condense.budget.language import language_in
from condense.facts.texts import sentences
from condense.messages import Message

LONGEST_CHARS = 300  # a longer sentence is no rule but a text
READ_CHARS = 50_000  # of a text; nobody writes so many rules
QUESTION_MARKS = ("?", "؟", "\uff1f")


def language_spoken(messages: Sequence[Message]) -> str:
    """Return the language of the user's words; unknown ASCII text counts as English."""
    users = [one.words for one in messages if one.role == "user" and not one.in_force]
    return language_in(messages) or ("en" if users and all(map(str.isascii, users)) else "")


def rules_in(text: str, language: str) -> Iterator[str]:
    """Yield the sentences that are rules by the words of one language; a question is none."""
    yield from (one for one in sentences(text[:READ_CHARS]) if is_rule(one, language))


def is_rule(sentence: str, language: str) -> bool:
    """Return whether a sentence sets a rule by the words of its language."""
    if len(sentence) > LONGEST_CHARS or sentence.endswith(QUESTION_MARKS) or not language:
        return False
    rule, talk = _expressions(language)
    return bool(rule.search(sentence) and rule.search(talk.sub("…", sentence)))


@cache
def _expressions(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a language's patterns of rules, and of sentences that only look like one."""
    found = tomllib.loads(resources.files(__package__).joinpath("rules.toml").read_text("utf-8"))
    rule, talk = found[language]["rule"], found[language]["talk"]
    return re.compile("|".join(rule), re.IGNORECASE), re.compile("|".join(talk), re.IGNORECASE)


# Demands without a word of command: "no downtime", "I want tests to pass first".
_DEMANDS = re.compile(
    r"\b(?:no|not|never|without|only|just|want|need\w*|require\w*|should|has to|have to|must"
    r"|please|make sure|keep|avoid|nothing|none)\b|n['’]t\b",
    re.IGNORECASE,
)


def may_back_rule(sentence: str, language: str) -> bool:
    """Return whether a sentence may be the source of a rule: a demand, and no question."""
    if sentence.endswith(QUESTION_MARKS):
        return False
    rule, _ = _expressions(language)
    return bool(rule.search(sentence) or _DEMANDS.search(sentence))
