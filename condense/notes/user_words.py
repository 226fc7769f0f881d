"""User words: requests as the user wrote them, without what clients added in that name."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from condense.messages import Message, TextBlock, beside_of
from condense.notes.ledger import Request
from condense.notes.ledger_text import GAP
from condense.notes.sentences import (
    estimate,
    is_rule,
    most_alike,
    one_line,
    replacing,
    sentences,
    weight,
)

NAME = 100  # characters; a longer URL is cut
SHORTEST = 3  # characters; less names nothing

# Blocks that agents' clients add to the user's messages.
_INJECTED = re.compile(r"<(system-reminder|environment_details|local-command-caveat)>")
# Texts that clients write in the user's name: summaries, results without their call, what a shell
# command printed, that somebody pressed a key, and commands about the client itself.
_NOT_SAID = re.compile(
    r"This session is being continued from a previous conversation|## Conversation Summary\n"
    r"|Tool result:\n|\[Tool Result|\[Request interrupted by user"
    r"|<local-command-std(?:out|err)>|<bash-std(?:out|err)>"
    r"|<command-name>/(?:exit|quit|clear|compact|resume|login|logout|model|config|help|status|cost)"
    r"</command-name>"
)
# Hostile texts are as long as others: each part is looked at once, from where it can begin.
_NAMES = re.compile(
    r"https?://[^\s<>\"'`)\]]+"
    r"|(?<=`)[^`\s][^`\n]{0,58}[^`\s](?=`)"
    r"|\b[A-Z][A-Z0-9]+-\d+\b"
    r"|(?<![\w/])#\d+\b"
    r"|(?:(?<![\w.-])|(?<!\w)(?=~))[~.]{0,2}/?[\w.-]++(?:/[\w.-]++)++"
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"
    r"|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+\.[a-z]{1,4}\b"
)


def said(message: Message) -> str:
    """Return the user's own words, character for character, or nothing."""
    if message.role != "user" or message.is_summary or message.is_marker:
        return ""
    texts = [block for block in message.blocks if isinstance(block, TextBlock)]
    if not texts:
        return ""
    own = [block.text for block in texts if not beside_of(block)]
    text = "\n".join([text for text in own if not _NOT_SAID.match(text)])
    if "<" in text:
        text = _without_injected(text)
    return text if text.strip() else ""


def _without_injected(text: str) -> str:
    """Return the text without injected blocks and the space after them; one may lack its end."""
    parts: list[str] = []
    end = 0
    unclosed: set[str] = set()
    for opening in _INJECTED.finditer(text):
        if opening.start() < end or opening[1] in unclosed:
            continue
        closing = f"</{opening[1]}>"
        closed = text.find(closing, opening.end())
        if closed < 0:
            unclosed.add(opening[1])
            continue
        parts.append(text[end : opening.start()])
        end = closed + len(closing)
    first, *others = (*parts, text[end:])
    return "".join((first, *map(str.lstrip, others)))


def names_in(text: str) -> tuple[str, ...]:
    """Return URLs, paths and identifiers, each once, the one named most often first."""
    found = Counter(
        [
            match.group().rstrip(".,:;!?()")
            for line in text.split("\n")
            for match in _NAMES.finditer(_worth_searching(line))
        ]
    )
    return tuple([one_line(name, NAME) for name, _ in found.most_common() if len(name) >= SHORTEST])


def _worth_searching(line: str) -> str:
    """Leave out plain words, most of any text: no name but a quoted one spans a space."""
    if "`" in line:
        return line
    words = line.split()
    plain = {word for word in {*words} if word.isalpha() and (word.islower() or word.istitle())}
    return " ".join([word for word in words if word not in plain])


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
    options: dict[str, str] = {}
    for line in lines:
        # The label of an option, as in ``**B)** another way``.
        label = _LABEL.search(line[:12]) if line not in asked else None
        if label and line[label.end() : label.end() + 1] in {".", ")", ":", "*"}:
            options[label[0]] = line
    chosen = [options[label] for label in dict.fromkeys(labels) if label in options][:OPTIONS]
    return " / ".join([one_line(line, QUOTE) for line in (*chosen, *asked)])


# Tokens of a request that stay: the plans that users hand over take 1,000 to 2,500.
WHOLE = 2_000
PASTED = WHOLE // 3  # of what a machine printed; its beginning and end tell what and how
HEAD = 0.75  # of what stays; the rest is the end, where the question may be
BRIEF = 30  # tokens; a sentence or two, not worth cutting
_ITEM = re.compile(r"\s*(?:#+|[>|*•-]|\d+[.)])\s")
_SENTENCE_END = re.compile(r"[.!?…:。！？؟۔।]\W*$")
_ENDING = 6  # characters; enough for a mark and the quotes and brackets after it
_FENCE = re.compile(r"\s*(?:```|~~~)")


def shortened(text: str, tokens: float = WHOLE) -> str:
    """Return a request as it is kept: whole, or its beginning and end where it is too long."""
    size = estimate(text)
    if size > PASTED and not _is_written(text):
        tokens = min(tokens, PASTED)
    if size <= tokens:
        return text
    room = int(len(text) * tokens / size)
    head = int(room * HEAD)
    return f"{text[:head]}\n{GAP}\n{text[len(text) - room + head :]}"


def _is_written(text: str) -> bool:
    """Whether most of it stands in sentences, lists, headings or marked code."""
    written, fenced = 0, False
    for line in text.split("\n"):
        is_fence = bool(_FENCE.match(line))
        is_sentence = _ITEM.match(line) or _SENTENCE_END.search(line[-_ENDING:])
        if fenced or is_fence or is_sentence:
            written += len(line) + 1
        fenced ^= is_fence
    return 2 * written >= len(text)


def essence(text: str) -> str:
    """Return the sentences that state something or set a rule, the others as gaps.

    Where none does, the first stands for all.
    """
    parts = [*sentences(text)]
    telling = [tells(part) for part in parts]
    if not any(telling):
        telling[:1] = [True]
    kept: list[str] = []
    for part, stays in zip(parts, telling, strict=True):
        if stays or kept[-1:] != [GAP]:
            kept.append(part if stays else GAP)
    return "\n".join(kept)


def tells(sentence: str) -> bool:
    """Whether the sentence says something that nobody could guess."""
    return weight(sentence) > 0 or is_rule(sentence)


SHORT = 8  # tokens; such an answer may say nothing without its question
NAMES = 200  # more names than any ledger shows


class Requests:
    """The user's words, each once, the newest last."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Request] = {}
        self._names: dict[str, None] = {}

    def hear(self, text: str, *, reply: str = "", to: str = "") -> None:
        """Note what the user said to a ``reply``, or in the result of the call ``to``."""
        if not to and estimate(text) <= SHORT and not asks(text):
            to = question_in(reply, text)
        for sentence in replacing(text):
            # The request that this replaces, if one is about the same.
            others = [key for key in reversed(self._known) if key[0] != text]
            if key := most_alike(sentence, ((key, key[0]) for key in others)):
                quote = one_line(sentence, QUOTE)
                self._known[key] = replace(self._known[key], replaced=quote)
        self._renew(Request(shortened(text), to))
        self._note_names(names_in(text))

    def carry(self, earlier: Sequence[Request], names: Sequence[str]) -> None:
        """Take over the requests and names of an earlier ledger, the newest first there."""
        for request in reversed(earlier):
            known = self._known.get((request.text, request.to), request)
            self._renew(replace(request, replaced=request.replaced or known.replaced))
            self._note_names(names_in(request.text))
        self._note_names(names)

    def newest(self) -> tuple[Request, ...]:
        """Return them newest first."""
        return tuple(reversed(self._known.values()))

    def names(self) -> tuple[str, ...]:
        """Return what the words name, newest first."""
        return tuple(islice(reversed(self._names), NAMES))

    def _note_names(self, names: Sequence[str]) -> None:
        for name in reversed(names):
            self._names.pop(name, None)
            self._names[name] = None

    def _renew(self, request: Request) -> None:
        self._known.pop((request.text, request.to), None)
        self._known[request.text, request.to] = request
