"""What a short answer answers: the question before it, and the options that it names."""

import re

from condense.facts.plain import one_line

QUOTE = 120  # characters of a question or an option
OPTIONS = 3
_LOOKED_AT = 8_000  # characters at the end of a reply
_QUESTION = re.compile(r"[?？؟]")
_LABEL = re.compile(r"(?<!\w)(?:\d{1,2}|[A-Za-z])(?!\w)")


def asks(text: str) -> bool:
    """Whether a text asks something."""
    return bool(_QUESTION.search(text))


def question_in(reply: str, answer: str) -> str:
    """Return the last line that asks, and the options that a short answer names by their labels."""
    lines = [line.strip() for line in reply[-_LOOKED_AT:].split("\n") if line.strip()]
    asked = [line for line in lines if asks(line)][-1:]
    labels = _LABEL.findall(answer)
    options = {_label_of(line): line for line in lines if line not in asked}
    chosen = [options[label] for label in dict.fromkeys(labels) if label in options][:OPTIONS]
    return " / ".join(one_line(line, QUOTE) for line in (*chosen, *asked))


def _label_of(line: str) -> str:
    """Return the label of an option, as in ``**B)** another way``; a space is no label."""
    found = _LABEL.search(line[:12])
    return (
        found[0] if found and line[found.end() : found.end() + 1] in {".", ")", ":", "*"} else " "
    )
