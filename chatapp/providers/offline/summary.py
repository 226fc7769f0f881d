"""Write a real summary of a conversation from what was said and done, without a model."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import condense
from chatapp.providers.offline.gist import gist
from chatapp.providers.offline.reading import Happening, read
from chatapp.providers.offline.recall import clip, is_canned, keywords, sentences
from chatapp.providers.offline.tools import READ

SHARE, MOST_TOKENS = 0.15, 900
# Of a short conversation the form alone is more than its share.
SHORT_SHARE, SHORT_TOKENS = 0.4, 350
NONE = "None noted."
SECTIONS = (
    "Primary Request and Intent",
    "Constraints and Preferences",
    "Decisions and Refusals",
    "Failed Attempts and Errors",
    "Results",
    "Promises and Open Questions",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
)
# (items per section, characters per item), from generous to scant; the first that fits is used.
SIZES = ((14, 220), (10, 160), (8, 120), (6, 100), (5, 80), (4, 60), (3, 60), (2, 60), (1, 60))

# What the agent does: it answers, or calls a tool.
_OWN = frozenset({"assistant", "call"})
_HEADING = re.compile(r"^[^\S\n]*(\d)\. +([A-Z][\w /]+):[ \t]*(.*)$", re.MULTILINE)
_LASTING = re.compile(
    r"\b(?:remember|always|never|must|my \w+ is|call me|i am|i'm|we use|don't|do not)\b", re.I
)
_DECIDED = re.compile(r"\b(?:instead|rather|decided?|let's|go with|agreed|no, )", re.I)
_PROMISED = re.compile(r"\b(?:I will|I'll|we will|we'll)\b|\?$")
_PENDING = re.compile(r"\b(?:todo|later|next|still (?:have|need)|don't forget|remember to)\b", re.I)


@dataclass(frozen=True, slots=True)
class Notes:
    """The material of a summary: items per section, earlier ones first, and the walk-through."""

    sections: tuple[tuple[str, ...], ...]
    walk: tuple[str, ...]


def summarise(messages: Sequence[condense.Message], count: Callable[[str], int]) -> str:
    """Return analysis and summary of a request's messages, whose last text is the instruction.

    At most 15 % of what is summarised and 900 tokens by ``count``; of a short conversation more,
    and never less than the form itself takes.
    """
    conversation, instruction = _split(messages)
    happenings = read(conversation)
    size = sum(count(message.text) + _tool_size(message, count) for message in conversation)
    limit = min(MOST_TOKENS, max(size * SHARE, min(SHORT_TOKENS, size * SHORT_SHARE)))
    alone = condense.load_prompt("ledger_follows") not in instruction
    notes = take_notes(happenings, _focus(instruction), with_messages=alone)
    text = ""
    for items, characters in SIZES:
        text = _write(notes, items, characters)
        if count(text) <= limit:
            break
    return text


def take_notes(happenings: Sequence[Happening], focus: str, *, with_messages: bool) -> Notes:
    """Return what is worth keeping; what matches the ``focus`` comes first.

    ``with_messages`` are the user's among it, which else stand in the ledger beside it.
    """
    earlier = _earlier(happenings)
    users = [one.text for one in happenings if one.kind == "user"]
    wanted = keywords(focus)

    def ordered(items: Iterable[str]) -> list[str]:
        return sorted(items, key=lambda item: -len(wanted & keywords(item))) if wanted else [*items]

    found: list[list[str]] = [
        ordered([*_ends(users), *(users if with_messages else ())]),
        ordered(_matching(_LASTING, users)),
        ordered(_matching(_DECIDED, users)),
        ordered(_errors(happenings)),
        ordered([*_files(happenings), *_answers(happenings)]),
        ordered(_matching(_PROMISED, [one.text for one in _answering(happenings)])),
        ordered(_matching(_PENDING, users)),
        _current(happenings),
        _next(happenings),
    ]
    if wanted:
        kept = [f"Kept on request ({clip(focus, 60)}): {text}" for text in _about(wanted, users)]
        found[0] = kept + found[0]
    unfolded = (_once([*old, *new]) for old, new in zip(earlier, found, strict=True))
    return Notes(tuple(unfolded), tuple(_walk(happenings)))


def _split(
    messages: Sequence[condense.Message],
) -> tuple[tuple[condense.Message, ...], str]:
    """Return the conversation, and the instruction, which is the last text of the last message."""
    *others, last = messages
    blocks = list(last.blocks)
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        if isinstance(block, condense.TextBlock):
            rest = condense.Message(last.role, tuple(blocks[:index] + blocks[index + 1 :]))
            return (*others, rest), block.text
    return tuple(messages), ""


def _tool_size(message: condense.Message, count: Callable[[str], int]) -> int:
    return sum(count(happening.text) for happening in read([message]) if happening.id)


def _focus(instruction: str) -> str:
    _, _, after = instruction.rpartition("<focus>")
    focus, closed, _ = after.partition("</focus>")
    return focus.strip() if closed else ""


def _earlier(happenings: Sequence[Happening]) -> list[list[str]]:
    """Return the items of earlier summaries, section by section."""
    sections: list[list[str]] = [[] for _ in SECTIONS]
    for happening in happenings:
        if happening.kind != "summary":
            continue
        text = happening.text
        headings = [*_HEADING.finditer(text)]
        if not headings:
            sections[0] += sentences(text)
        ends = [*(following.start() for following in headings[1:]), len(text)]
        for heading, end in zip(headings, ends, strict=False):
            body = f"{heading[3]}\n{text[heading.end() : end]}"
            number = int(heading[1]) - 1
            if 0 <= number < len(SECTIONS):
                sections[number] += _lines(body)
    # What was current and next then is neither now.
    sections[4] += sections[7]
    sections[7], sections[8] = [], []
    return sections


def _lines(text: str) -> list[str]:
    return [
        item for line in text.splitlines() if (item := line.strip().lstrip("-*• ").strip('“”"'))
    ]


def _ends(users: Sequence[str]) -> list[str]:
    """Return the first and the newest request."""
    return [users[0], users[-1]] if users else []


def _matching(pattern: re.Pattern[str], texts: Iterable[str]) -> list[str]:
    """Return the sentences in which a pattern is found."""
    return [one for text in texts for one in sentences(text) if pattern.search(one)]


def _files(happenings: Sequence[Happening]) -> list[str]:
    """Return one line for each file or search, with the beginning of what it gave."""
    results = {one.id: one for one in happenings if one.kind == "result" and one.id}
    lines: dict[str, str] = {}
    for index, call in enumerate(happenings):
        if call.kind != "call":
            continue
        after = happenings[index + 1] if index + 1 < len(happenings) else None
        result = results.get(call.id) or (after if after and after.kind == "result" else None)
        said = f": {_said(call, result)}" if result and result.text else ""
        lines[f"{call.tool} {call.text}"] = f"{call.text or 'the workspace'} ({call.tool}){said}"
    return list(lines.values())


def _said(call: Happening, result: Happening) -> str:
    return gist(result.text) if call.tool == READ else clip(result.text, 90)


def _errors(happenings: Sequence[Happening]) -> list[str]:
    return [one.text for one in happenings if one.kind == "error"]


def _answering(happenings: Sequence[Happening]) -> list[Happening]:
    """Return each answer; a word before a call is none."""
    return [
        one
        for one, following in pairwise([*happenings, None])
        if one and one.kind == "assistant" and not (following and following.kind == "call")
    ]


def _answers(happenings: Sequence[Happening]) -> list[str]:
    """Return the first sentence of each answer, the newest first."""
    answers = (sentences(one.text) for one in reversed(_answering(happenings)))
    return [found[0] for found in answers if found and not is_canned(found[0])]


def _current(happenings: Sequence[Happening]) -> list[str]:
    last_user = next((one for one in reversed(happenings) if one.kind == "user"), None)
    last = next((one for one in reversed(happenings) if one.kind in _OWN), None)
    lines = [f"The newest message of the user: “{last_user.text}”"] if last_user else []
    if last and last.kind == "assistant":
        lines.append(f"The agent answered: “{last.text}”")
    elif last:
        lines.append(f"The agent was using its tools, at last {last.tool} {last.text}".rstrip())
    return lines


def _next(happenings: Sequence[Happening]) -> list[str]:
    open_ones = [one for one in happenings if one.kind == "user" or one.kind in _OWN]
    asked = [one for one in open_ones if one.kind == "user"]
    if asked and open_ones[-1].kind != "assistant":
        words = "Answer" if open_ones[-1].kind == "user" else "Go on until there is an answer for"
        return [f"{words} the user, who wrote: “{asked[-1].text}”"]
    return ["Wait for the user's next message."]


def _about(wanted: set[str], users: Sequence[str]) -> list[str]:
    return [one for text in users for one in sentences(text) if wanted & keywords(one)]


def _walk(happenings: Sequence[Happening]) -> list[str]:
    """Return one line for each turn, in order."""
    lines: list[str] = []
    for happening in happenings:
        match happening.kind:
            case "summary":
                lines.append("The conversation began with an earlier summary, carried on below.")
            case "user":
                lines.append(f"The user wrote: {happening.text}")
            case "call":
                lines.append(f"The agent used {happening.tool} {happening.text}".rstrip())
            case "error":
                lines.append(f"A tool failed: {happening.text}")
    return lines


def _once(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(item.split()) for item in items))


def _write(notes: Notes, items: int, characters: int) -> str:
    sections = "\n\n".join(
        f"{number}. {title}:\n{_list(found, items, characters)}"
        for number, (title, found) in enumerate(zip(SECTIONS, notes.sections, strict=True), start=1)
    )
    walk = _list(notes.walk, max(1, items // 2), max(40, characters // 2))
    return f"<analysis>\n{walk}\n</analysis>\n\n<summary>\n{sections}\n</summary>"


def _list(found: Sequence[str], items: int, characters: int) -> str:
    """Return at most ``items`` lines: the first and the last ones, and how many are between."""
    if not found:
        return f"   {NONE}"
    lines = [f"   - {clip(item, characters)}" for item in found]
    if len(lines) > items:
        head = (items + 1) // 2
        between = len(lines) - items
        lines = [*lines[:head], f"   - … {between} more …", *lines[len(lines) - items + head :]]
    return "\n".join(lines)
