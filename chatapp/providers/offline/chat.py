"""Decide what the offline stand-in answers; it never pretends to be a language model."""

import re
from collections.abc import Collection, Sequence

from chatapp.providers.offline.essay import essay_wish, write_essay
from chatapp.providers.offline.reading import Happening, split_question
from chatapp.providers.offline.recall import (
    FOUND,
    LONGEST_QUOTE,
    NOT_FOUND,
    NOTED,
    clip,
    recall,
    subjects,
)
from chatapp.providers.offline.tools import Step, next_step

ABOUT = (
    "I am Palimpsest's offline stand-in: a small program without a language model. I can look "
    "things up in this conversation, use the read-only tools (“list files”, “read README.md”, "
    "“read all files”, “search TODO”), and write long texts to fill the context window with "
    "(“write 2,000 words”), so that you can watch it being condensed. For real answers, add a "
    "profile with an API key in Profiles."
)
SHORTLY = (
    "I am the offline stand-in and have no language model, so I cannot answer that. For real "
    "answers, add a profile with an API key in Profiles."
)
UNABLE = (
    "That takes a language model, and I am the offline stand-in, which has none: add a profile "
    "with an API key in Profiles. What I can do is look things up, in this conversation and in its "
    "files: “list files”, “read all files”, “search TODO”."
)
MOST_SUBJECTS = 6
WHOLE = "That was all of my last answer: nothing of it is missing."
OUT_OF_SIGHT = (
    "The beginning of that answer is not in what I can see any more, so I cannot go on with it. "
    "Ask me again."
)
NOTHING_FOUND = f"{NOT_FOUND} in what I can see of this conversation."

_ABOUT = re.compile(
    r"\b(?:who|what) are you\b|\bwhat can you do\b|\bare you (?:an? )?(?:ai|llm|model|human|real)"
    r"|\bhow do (?:you|i) (?:work|use)\b|^\s*help\s*[.!?]*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\S+")
_GREETING = re.compile(r"^\s*(?:hi|hello|hey|good (?:morning|evening|day))\b.{0,30}$", re.I)
_THANKS = re.compile(r"^\s*(?:thanks|thank you|ok|okay|great|good)\b.{0,30}$", re.I)
_TASK = re.compile(
    r"^\s*(?:please\s+|can you\s+|could you\s+)?(?:help|explain|translate|plan|compare|suggest|"
    r"recommend|draft|design|advise|solve|calculate|summari[sz]e|write (?:a|an|me|some))\b",
    re.IGNORECASE,
)
_REPLIES = ((_GREETING, f"Hello. {ABOUT}"), (_THANKS, "You are welcome."), (_TASK, UNABLE))
_NAME = re.compile(r"\b(?:my name is|call me|i am called) (?P<name>[^\W\d_][\w'-]*)", re.I)
_ASKS_NAME = re.compile(r"\b(?:what(?: is|'s)|do you know|remember|say) my name\b", re.I)
_QUESTION = re.compile(
    r"\?\s*$|^\s*(?:what|who|whose|where|when|which|why|how|did|do|does|is|are|was)\b"
    r"|^\s*(?:tell me|remind)\b",
    re.IGNORECASE,
)


def compose(happenings: Sequence[Happening], offered: Collection[str]) -> Step:
    """Return the next step of the reply to what happened; ``offered`` names the tools."""
    question, index = split_question(happenings)
    step = _next_step(question, index, happenings, offered)
    since = happenings[index + 1 :]
    if step.call is None and any(one.kind == "go on" for one in since or happenings):
        return Step(_rest(step.text, _written(since)) if question else OUT_OF_SIGHT)
    return step


def _next_step(
    question: str, index: int, happenings: Sequence[Happening], offered: Collection[str]
) -> Step:
    """Return the next step towards the whole answer to a question."""
    summary = ""
    if index and happenings[index].carried:
        summary = "\n".join(one.text for one in happenings[:index] if one.kind == "summary")
    step = next_step(question, happenings[index + 1 :], offered, summary=summary)
    if step is not None:
        return step
    if wish := essay_wish(question):
        return Step(write_essay(*wish))
    return Step(_answer(question, happenings[:index]))


def _written(since: Sequence[Happening]) -> str:
    """Return what was written of the answer: all that was said after the last tool answered."""
    said = [""]
    for one in since:
        if one.kind in {"result", "error"}:
            said = [""]
        elif one.kind == "assistant":
            said.append(one.text)
    return " ".join(said)


def _rest(answer: str, written: str) -> str:
    """Return what an answer has after the words that were written of it."""
    words, known = [*_WORD.finditer(answer)], written.split()
    said = [word[0] for word in words]
    if known[: len(said)] == said:
        return WHOLE
    if known != said[: len(known)]:
        return OUT_OF_SIGHT
    return answer[words[len(known)].start() :]


def _answer(question: str, before: Sequence[Happening]) -> str:
    if not question or _ABOUT.search(question):
        return ABOUT
    if _ASKS_NAME.search(question) and (name := _name(before)):
        return f"Your name is {name}: you told me so in this conversation."
    if _QUESTION.search(question):
        return _recalled(question, before)
    fitting = (reply for pattern, reply in _REPLIES if pattern.match(question))
    return next(fitting, "") or _noted(question)


def _name(before: Sequence[Happening]) -> str:
    for happening in reversed(before):
        told = happening.kind in {"user", "summary", "ledger"}
        names = _NAME.findall(happening.text) if told else ()
        if names:
            return str(names[-1])
    return ""


def _recalled(question: str, before: Sequence[Happening]) -> str:
    found = recall(question, before)
    if not found:
        return f"{NOTHING_FOUND} {SHORTLY}"
    quotes = "\n".join(f"- {one.where}: “{one.text}”" for one in found)
    return f"{FOUND}\n\n{quotes}"


def _noted(statement: str) -> str:
    words = ", ".join(subjects(statement)[:MOST_SUBJECTS])
    hint = f" Ask me later about {words}." if words else ""
    return (
        f"{NOTED} “{clip(statement, LONGEST_QUOTE)}”{hint} "
        "(I am the offline stand-in: I keep what you say, but I cannot think about it.)"
    )
