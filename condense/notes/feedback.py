"""Feedback: words of people in the results of tools, as a refusal, an answer or a plan.

Clients put these words into a result in a few shapes, whatever the tool is called: in a tag, as a
field of JSON, below a line about the user that ends in a colon, as ``"question"="answer"``, or as
all there is where the call itself asked the question. An approved plan is as good as said.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from condense.notes.paths import is_edit, touched_paths
from condense.notes.sentences import leaves, one_line
from condense.notes.tool_calls import Call, command_of

SUBJECT = 120  # characters of what the words are about
_SEARCHED = 100_000  # characters of an answer that are looked at
_TAG = re.compile(
    r"<((?:user_?)?(?:feedback|answers?|message|response|reply|comment|reason))>", re.IGNORECASE
)
# The user, as clients of several languages name who sits there: words, beginnings of words, and
# words of scripts that set none apart or join them to others.
_WORDS = ("user", "human", "operator", "reviewer", "usuario", "usuaria", "utente")
_STEMS = ("benutzer", "nutzer", "anwender", "utilisat", "пользовател")
_SIGNS = ("用户", "用戶", "使用者", "ユーザー", "사용자", "المستخدم", "उपयोगकर्ता")
_PERSON = rf"(?:\b(?:{'|'.join(_WORDS)}|(?:{'|'.join(_STEMS)})\w*)\b|{'|'.join(_SIGNS)})"
# A line about the person, its colon, and the words: below it, or after it in a refusal.
_INTRODUCED = re.compile(
    rf"[^\n:：]{{0,400}}?{_PERSON}[^\n:：]{{0,400}}[:：]([^\S\n]*\n)?(.+)\Z",
    re.DOTALL | re.IGNORECASE,
)
_ABOUT_PERSON = re.compile(rf"\s{{0,9}}[^\n]{{0,60}}{_PERSON}", re.IGNORECASE)
_BEGINNING = 100  # characters; what the former can match
_NAMED = re.compile("|".join((*_WORDS, *_STEMS, *_SIGNS)))
_PAIR = re.compile(r'"([^"\n]{1,600})"\s{0,2}[=:]\s{0,2}"([^"]{1,20000})"')
_HEADING = re.compile(r"^#{1,6} [^\n]{0,200}\n", re.MULTILINE)
# Names of fields and arguments, in small letters and without underscores.
_SAID = {"feedback", "userfeedback", "usermessage", "useranswer"}
_SAID_TOO = {"reason", "comment", "response", "reply", "answer", "answers", "text", "selected"}
_QUESTION = {"question", "questions"}
_ASKING = _QUESTION | {
    "options", "choices", "followup", "suggestions", "header", "type", "default", "title",
    "multiselect", "multiple", "placeholder",
}  # fmt: skip
_DENIED = {"denied", "rejected", "declined", "refused", "cancelled", "canceled"}
_LOOKING = {"url", "pattern", "prompt", "regex", "glob", "query"}


def words_in(call: Call) -> Iterator[tuple[str, str]]:
    """Yield what a person says in the call's result, and what it is about.

    What a file, a page or a command printed is no person's, whatever it claims to be.
    """
    keys = {key.replace("_", "").lower() for key in call.arguments}
    asks = bool(keys & _QUESTION) and keys <= _ASKING
    is_told = asks or call.outcome == "refused"
    # Most results hold none of the words, and that is found out ten times as fast.
    if not is_told and _NAMED.search(call.answer[:_BEGINNING].casefold()):
        is_told = bool(_ABOUT_PERSON.match(call.answer))
    # The result may be what the call looked at.
    looks = bool(keys & _LOOKING or touched_paths(call) or command_of(call))
    if is_told and not (looks and call.outcome == "ok" and not is_edit(call)):
        answer = call.answer[:_SEARCHED].strip()
        for about, words in _said(call, answer, asks=asks):
            if words.strip():
                yield words.strip(), one_line(about or _subject(call), SUBJECT)


def _said(call: Call, answer: str, *, asks: bool) -> list[tuple[str, str]]:
    said = [*_in_tags(answer)] or [*_in_fields(answer, asks=asks)]
    if said:
        return said
    if call.outcome != "ok":
        told = _INTRODUCED.match(answer) if call.outcome in {"failed", "refused"} else None
        return [("", told[2])] if told and (told[1] or call.outcome == "refused") else []
    if asks:
        question = call.arguments.get("question") or call.arguments.get("questions")
        return _PAIR.findall(answer) or [(next(iter(leaves(question)), ""), answer)]
    # A plan that the person agreed to, as the result or else the call has it.
    heading, plan = _HEADING.search(answer), call.arguments.get("plan")
    approved = answer[heading.end() :] if heading else plan
    return [(call.name, approved if isinstance(approved, str) else "")]


def _in_tags(answer: str) -> Iterator[tuple[str, str]]:
    end = 0
    for opening in _TAG.finditer(answer) if "</" in answer else ():
        if opening.start() >= end:
            closed = answer.find(f"</{opening[1]}>", opening.end())
            if closed < 0:
                return
            end = closed
            yield "", answer[opening.end() : closed]


def _in_fields(answer: str, *, asks: bool) -> Iterator[tuple[str, str]]:
    """Yield the person's words in JSON: feedback, and what else answers a question or denies."""
    if not answer.startswith(("{", "[")):
        return
    try:
        data = json.loads(answer)
    except (ValueError, RecursionError):
        return
    denies = isinstance(data, Mapping) and str(data.get("status")).lower() in _DENIED
    yield from _fields(data, _SAID | _SAID_TOO if asks or denies else _SAID, "")


def _fields(data: Any, wanted: set[str], question: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, list):
        for item in data:
            yield from _fields(item, wanted, question)
    elif isinstance(data, Mapping):
        asked = data.get("question")
        question = asked if isinstance(asked, str) else question
        for key, value in data.items():
            if key.replace("_", "").lower() in wanted:
                yield from _answers(value, wanted, question)
            elif isinstance(value, Mapping | list):
                yield from _fields(value, wanted, question)


def _answers(value: Any, wanted: set[str], question: str) -> Iterator[tuple[str, str]]:
    """Yield answers: a text, a list of choices, or an object by questions."""
    if isinstance(value, Mapping):
        yield from ((asked, ", ".join(leaves(told))) for asked, told in value.items())
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        yield from _fields(value, wanted, question)
    else:
        yield question, ", ".join(leaves(value))


def _subject(call: Call) -> str:
    """Return the call in a line: its name, and the first line of its first text."""
    first = next((text for text in leaves(call.arguments) if text.strip()), "")
    return f"{call.name} {first.strip().partition('\n')[0]}".strip()
