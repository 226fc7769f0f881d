"""Summaries by rule, which the built-in model writes of a conversation.

The sections are filled from the engine's ledger. They are English, like all texts for models.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count as numbers

import condense
from chatapp.providers.offline.answer import (
    READ,
    SUMMARY,
    USER,
    argument,
    clip,
    gist,
    result,
    told_in,
)

# Of a summary: the nine sections that are asked for.
SUMMARY_SECTIONS = (
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
# Of what a summary stands for, and in tokens; of a short conversation the form alone is more.
SHARE, MOST_TOKENS = 0.15, 900
SHORT_SHARE, SHORT_TOKENS = 0.4, 350
# Items of a section and characters of an item, from generous to scant; the first that fit are used.
SIZES = ((24, 220), (24, 120), (16, 90), (12, 90), (6, 80), (3, 60), (1, 60))
NONE = "none"
BY_RULE = "Filled in by rule, without a language model, from {} messages."

_SECTION = re.compile(r"^ *([1-9])\. +[A-Z][\w /]+:", re.MULTILINE)
_CALL = re.compile(r"\[Tool Use: ([^\]\n]+)\]\n?")
_RESULT = re.compile(r"\[Tool Result( \(Error\))?\]\n?")
_ARGUMENT = re.compile(r"^(\w+): (.*)$", re.MULTILINE)


def summarise(messages: Sequence[condense.Message], count: Callable[[str], int]) -> str:
    """Return the summary of a request's messages, whose last text is the instruction.

    It takes at most 15 % of the messages' tokens and 900 tokens by ``count``, of a short
    conversation more, and never less than the form itself.
    """
    *others, last = messages
    *blocks, asked = last.blocks
    instruction = asked.text if isinstance(asked, condense.TextBlock) else ""
    rest = [last.with_content(tuple(blocks))] if blocks else []
    talk = [*_with_calls([*others, *rest])]
    results = map(result, condense.pair_calls(talk).answered)
    size = count("\n".join([*(one.text for one in talk), *results]))
    limit = min(MOST_TOKENS, max(size * SHARE, min(SHORT_TOKENS, size * SHORT_SHARE)))
    sections = _sections(talk, alone=condense.load_prompt("ledger_follows") not in instruction)
    if focus := instruction.partition("<focus>\n")[2].rpartition("\n</focus>")[0]:
        sections[0].insert(0, f"To be kept above all: {focus}")
    text = ""
    for items, characters in SIZES:
        text = _written(sections, len(talk), items, characters)
        if count(text) <= limit:
            break
    return text


def _with_calls(messages: Sequence[condense.Message]) -> Iterator[condense.Message]:
    """Yield the messages with tool blocks for those that were sent as text, in the same order."""
    calls, results = numbers(), numbers()
    for message in messages:
        blocks: list[condense.Block] = []
        for block in message.blocks:
            text = block.text if isinstance(block, condense.TextBlock) else ""
            if message.role == "assistant" and (call := _CALL.match(text)):
                given = dict(_ARGUMENT.findall(text[call.end() :]))
                blocks.append(condense.ToolUseBlock(f"text_{next(calls)}", call[1], given))
            elif message.role == "user" and (found := _RESULT.match(text)):
                id_, rest = f"text_{next(results)}", text[found.end() :]
                blocks.append(condense.ToolResultBlock(id_, rest, bool(found[1])))
            else:
                blocks.append(block)
        yield message.with_content(tuple(blocks))


def _sections(talk: Sequence[condense.Message], *, alone: bool) -> list[list[str]]:
    """Return the items of each section; ``alone``, without a ledger, with every user message."""
    own = [*map(_own, talk)]
    (block,) = condense.ledger(own) or (condense.TextBlock(""),)
    facts = condense.parse_ledger(block.text) or condense.Ledger()
    asked = [request.text for request in reversed(facts.requests)]
    newest = [f"The newest message of the user: “{text}”" for text in asked[-1:]]
    replies = [one for one in reversed(facts.requests) if one.to]
    found_facts = condense.receipt(own, "").findings
    results = []
    for one in condense.pair_calls(own).answered:
        about = gist(result(one)) if one.call.name == READ else clip(result(one), 90)
        results.append(f"{argument(one.call) or 'the workspace'} ({one.call.name}): {about}")
    found: tuple[Sequence[str], ...] = (
        asked if alone else [*asked[:1], *asked[-1:]],
        [one.text for one in found_facts if one.kind == "constraints"],
        [f"{one.to} / {one.text}" for one in replies],
        [f"{one.subject}: {one.message}" for one in facts.failures],
        results,
        [],
        [one.text for one in facts.todos],
        [*newest, *(f"The agent answered: “{one.text}”" for one in own[-1:] if _replies(one))],
        ["Wait for the user's next message." if _replies(own[-1]) else "Answer the user."],
    )
    pairs = zip(_earlier(talk), found, strict=True)
    return [[*dict.fromkeys(" ".join(one.split()) for one in (*old, *new))] for old, new in pairs]


def _own(message: condense.Message) -> condense.Message:
    """Return the message without the engine's additions."""
    if message.role == "assistant":
        return message
    texts = [condense.TextBlock(text) for who, text in told_in(message) if who == USER]
    return message.with_content((*message.tool_results, *texts))


def _replies(message: condense.Message) -> bool:
    return message.role == "assistant" and not message.tool_uses


def _earlier(talk: Sequence[condense.Message]) -> list[list[str]]:
    """Return the items of earlier summaries, except their last two sections: they are outdated."""
    sections: list[list[str]] = [[] for _ in SUMMARY_SECTIONS]
    for text in [text for one in talk for who, text in told_in(one) if who == SUMMARY]:
        before, *found = _SECTION.split(text)
        for number, body in zip(found[::2], found[1::2], strict=True):
            sections[int(number) - 1] += _items(body)
        if not found:
            sections[0] += _items(before)
    return [*sections[:-2], [], []]


def _items(text: str) -> list[str]:
    lines = [line.strip().removeprefix("- ") for line in text.splitlines()]
    return [line for line in lines if line and line != NONE and not line.startswith("…")]


def _written(sections: Sequence[Sequence[str]], messages: int, items: int, characters: int) -> str:
    """Return the form, with the first and the last of each section's items."""
    parts = []
    for number, (title, found) in enumerate(zip(SUMMARY_SECTIONS, sections, strict=True), start=1):
        lines = [f"   - {clip(item, characters)}" for item in found]
        if len(lines) > items:
            head, between = (items + 1) // 2, len(lines) - items
            lines[head : head + between] = [f"   - … {between} more"]
        parts.append("\n".join([f"{number}. {title}:", *(lines or [f"   {NONE}"])]))
    body = "\n\n".join(parts)
    return f"<analysis>\n{BY_RULE.format(messages)}\n</analysis>\n\n<summary>\n{body}\n</summary>"
