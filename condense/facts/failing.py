"""What an error says, in one line."""

import re

from condense.facts.plain import one_line

MESSAGE = 120  # characters
_TAGS = re.compile(r"</?\w+>")
_NOISE = re.compile(r"^\W*+(?:exit code:? \d+|traceback \(most recent call last\):)?\W*+$", re.I)
_TELLING = re.compile(
    r"error|fail|exception|fatal|panic|not found|no such|cannot|can't|denied|conflict|undefined",
    re.IGNORECASE,
)
_SEARCHED = 20_000  # characters of an answer that are looked at


def error_line(answer: str) -> str:
    """Return the line that tells most: Python's last one, else the first that names an error."""
    lines = [line.strip() for line in _TAGS.sub("", answer[:_SEARCHED]).split("\n")]
    lines = [line for line in lines if not _NOISE.match(line)]
    if not lines:
        return ""
    if "Traceback (most recent call last)" in answer:
        return one_line(lines[-1], MESSAGE)
    return one_line(next((line for line in lines if _TELLING.search(line)), lines[0]), MESSAGE)
