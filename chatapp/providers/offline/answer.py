"""Answers: what the built-in model says of what it sees, its read-only calls, and its summaries.

A summary is made by rule: its sections are filled from the engine's ledger.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count as numbers
from itertools import islice
from typing import NamedTuple

import condense

ABOUT = (
    "I am Palimpsest's offline stand-in: a small program, no language model. I can only tell you "
    "what I see, use the read-only tools (“list files”, “read README.md”, “read all files”) "
    "and write filler (“write 2,000 words”), so that you can watch a "
    "conversation being condensed. For real answers, add a profile with an API key in Profiles."
)
AGAIN = "Checking what is left to read."
FOLDED = (
    "My context window filled up while I read. What I had read by then, %s, is hidden from me "
    "behind a summary, and still there for you: *View* in the fold above shows what I know of it "
    "now, and *Undo* brings it all back."
)
LIST, READ = "list_files", "read_file"
USER, SUMMARY = "You", "Summary"
MOST_CALLS, MOST_WORDS, DEFAULT_WORDS = 200, 20_000, 1_200
MOST_SEEN, LONGEST_QUOTE, QUOTED_LINES = 6, 160, 6
# Of a summary: the nine sections that are asked for.
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
# Of what a summary stands for, and in tokens; of a short conversation the form alone is more.
SHARE, MOST_TOKENS = 0.15, 900
SHORT_SHARE, SHORT_TOKENS = 0.4, 350
# Items of a section and characters of an item, from generous to scant; the first that fit are used.
SIZES = ((16, 220), (16, 120), (12, 90), (6, 80), (3, 60), (1, 60))
NONE = "none"
BY_RULE = "Filled in by rule, without a language model, from {} messages."

# Each sentence is read once, however often it names the first of the words.
_READ_ALL = re.compile(
    r"(?:^|[.?!])(?>[^.?!]*?\bread\b)(?>[^.?!]*?\b(?:all|every|each)\b)[^.?!]*\bfiles?\b", re.I
)
_LIST = re.compile(
    r"(?:^|[.?!])(?>[^.?!]*?\b(?:list|show|which|what)\b)[^.?!]*?\b(?:files|folder|workspace)\b",
    re.I,
)
_READ = re.compile(r"\bread\b([^?!\n]+)", re.I)
_WRITE = re.compile(
    r"\bwrite\b(?:(?!\bwrite\b)[^.?!\d])*(\d[\d,]{0,8}) words?\b|\bwrite a long\b", re.I
)
_READ_BEFORE = re.compile(r"^ *- (\S+) \(read_file\): (.+)$", re.MULTILINE)
_LINE_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)
_SECTION = re.compile(r"^ *([1-9])\. +[A-Z][\w /]+:", re.MULTILINE)
_CALL = re.compile(r"\[Tool Use: ([^\]\n]+)\]\n?")
_RESULT = re.compile(r"\[Tool Result( \(Error\))?\]\n?")
_ARGUMENT = re.compile(r"^(\w+): (.*)$", re.MULTILINE)


class Answer(NamedTuple):
    """What to say, and the call to make with it, if any; who makes it gives it an id."""

    text: str
    call: condense.ToolUseBlock | None = None


Done = Sequence[condense.AnsweredCall]


def answer(messages: Sequence[condense.Message], offered: Collection[str]) -> Answer:
    """Return the next step of the reply to a conversation; ``offered`` names the tools."""
    told = [(at, *one) for at, message in enumerate(messages) for one in told_in(message)]
    asked = [(at, text) for at, who, text in told if who == USER]
    if not asked:
        return Answer(ABOUT)
    at, question = asked[-1]
    done = condense.pair_calls(messages[at:]).answered
    summaries = "\n".join([text for where, who, text in told if (where, who) == (at, SUMMARY)])
    found = _from_tools(question, done, offered, dict(_READ_BEFORE.findall(summaries)))
    if found is None and (wish := _WRITE.search(question)):
        count = min(int(wish[1].replace(",", "")) if wish[1] else DEFAULT_WORDS, MOST_WORDS)
        sentences = (f"Sentence {one:,} takes up room in the context window." for one in numbers(1))
        filler = " ".join(["Filler from the offline stand-in:", *islice(sentences, count // 9 + 1)])
        found = Answer(" ".join(filler.split()[:count]))
    if found:
        return found
    # Who said what, and how often.
    results = {id(one.result): one for one in condense.pair_calls(messages).answered}
    said: list[tuple[str, str]] = []
    for message in messages:
        own = [results[id(block)] for block in message.blocks if id(block) in results]
        said += [(f"Result of {one.call.name}", result(one)) for one in own]
        said += told_in(message)
    counted = Counter([who for who, _ in said])
    tally = ", ".join([f"{who}: {number:,}" for who, number in counted.items()])
    lines = "\n".join([f"- {who}: “{clip(text)}”" for who, text in said[-MOST_SEEN:]])
    return Answer(f"{ABOUT}\n\nThis is what I see ({tally}). The newest is:\n\n{lines}")


def told_in(message: condense.Message) -> Iterator[tuple[str, str]]:
    """Yield who says what in a message: the model, the user, or an earlier summary.

    A request that a summary repeats is the user's; the words that the engine puts before a summary
    are left out.
    """
    if message.role == "assistant":
        if message.text.strip():
            yield "I", message.text
        return
    for block in message.blocks:
        if not isinstance(block, condense.TextBlock) or condense.beside_of(block):
            continue
        text = block.text.strip()
        kind = condense.part_kind(text)
        if kind is condense.PartKind.REQUEST:
            yield USER, text.partition("\n")[2]
        elif text and kind is condense.PartKind.SUMMARY:
            text = text.removeprefix("## Conversation Summary").strip()
            yield SUMMARY, text.removeprefix(condense.load_prompt("summary_preface")).strip()
        elif text and kind is None and not (text[0] == "[" and text[-1] == "]"):
            yield USER, text


def gist(text: str) -> str:
    """Return a file's title and the first sentence below it, or as much as it has of both."""
    title, _, rest = _LINE_NUMBER.sub("", text).strip().partition("\n")
    paragraphs = (one.strip("\n") for one in rest.split("\n\n"))
    prose = next((one for one in paragraphs if one[:1].isalpha()), "")
    first = re.split(r"(?<=[.!?])\s", " ".join(prose.split()), maxsplit=1)[0]
    return clip(": ".join(filter(None, (title.lstrip("#").strip(), first))))


def clip(text: str, length: int = LONGEST_QUOTE) -> str:
    """Return the text on one line, cut at a word where it is longer than ``length``."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[:length].rsplit(' ', 1)[0]} …"


def argument(call: condense.ToolUseBlock) -> str:
    """Return the first argument of a call: a path, a pattern, or what else it is about."""
    return str(next(iter(call.input.values()), "")) if isinstance(call.input, dict) else ""


def result(one: condense.AnsweredCall) -> str:
    """Return the text of a call's result."""
    return condense.Message("user", one.result.content or "").text.strip("\n")


def _from_tools(
    question: str, done: Done, offered: Collection[str], known: Mapping[str, str]
) -> Answer | None:
    """Return the next step towards what a question asks of the tools, None where it does not."""
    if {LIST, READ} <= {*offered} and _READ_ALL.search(question):
        return _read_all(done, known)
    calls: list[condense.ToolUseBlock] = []
    if READ in offered and (found := _READ.search(question)):
        words = (word.strip("`'\",;:").rstrip(".") for word in found[1].split())
        calls = [_call(READ, path=word) for word in words if "." in word or "/" in word]
    if not calls and LIST in offered and _LIST.search(question):
        calls = [_call(LIST)]
    if len(done) < len(calls):
        return _step(calls[len(done)], done)
    return Answer("\n\n".join(map(_report, done))) if calls else None


def _read_all(done: Done, known: Mapping[str, str]) -> Answer:
    """Read every file that is not known, and tell of all of them once that is done."""
    listing = next((one for one in done if one.call.name == LIST), None)
    if listing is None:
        return Answer(AGAIN, _call(LIST)) if known else _step(_call(LIST), done)
    reads = [one for one in done if one.call.name == READ]
    read = known.keys() | {argument(one.call) for one in reads}
    lines = [line.rsplit(" (", 1)[0].strip() for line in result(listing).splitlines()]
    files = [line for line in lines if line and line[0] != "[" and line[-1] not in "/."]
    waiting = [path for path in files if path not in read]
    if waiting and not listing.result.is_error and len(done) < MOST_CALLS:
        return _step(_call(READ, path=waiting[0]), done)
    new = {argument(one.call): gist(result(one)) for one in reads if not one.result.is_error}
    failed = [argument(one.call) for one in reads if one.result.is_error]
    told = "\n".join(f"- `{path}`: {about}" for path, about in {**known, **new}.items())
    parts = [
        f"I read {_count(len(known) + len(new), 'file')}. In one sentence each:" * bool(told),
        told or _report(listing),
        FOLDED % _count(len(known), "file") if known else "",
        f"I could not read {', '.join(failed)}." if failed else "",
    ]
    return Answer("\n\n".join(filter(None, parts)))


def _call(name: str, **given: str) -> condense.ToolUseBlock:
    return condense.ToolUseBlock("", name, given)


def _step(call: condense.ToolUseBlock, done: Done) -> Answer:
    """Make a call; only the first of several is announced, so that they read as one step."""
    what = f"Let me read `{argument(call)}`." if call.input else "Let me list the files."
    return Answer("" if done else what, call)


def _report(one: condense.AnsweredCall) -> str:
    """Return what a tool was called for, how much it returned, and how that begins."""
    text, name = result(one), f"`{one.call.name}` {argument(one.call)}".strip()
    if one.result.is_error:
        return f"{name} failed: {clip(text)}"
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [line[:LONGEST_QUOTE].replace("```", "'''") for line in lines[:QUOTED_LINES]]
    size = f"{_count(len(lines), 'line')} and {_count(len(text.split()), 'word')}"
    return "\n".join([f"{name} returned {size}. It begins:\n\n```text", *shown, "```"])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def summarise(messages: Sequence[condense.Message], count: Callable[[str], int]) -> str:
    """Return the summary of a request's messages, whose last text is the instruction.

    It takes at most 15 % of what it stands for and 900 tokens by ``count``, of a short conversation
    more, and never less than the form itself.
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
    """Return the items of each section; where no ledger follows, every user message among them."""
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
    """Return the message without what the engine put into it."""
    if message.role == "assistant":
        return message
    texts = [condense.TextBlock(text) for who, text in told_in(message) if who == USER]
    return message.with_content((*message.tool_results, *texts))


def _replies(message: condense.Message) -> bool:
    return message.role == "assistant" and not message.tool_uses


def _earlier(talk: Sequence[condense.Message]) -> list[list[str]]:
    """Return the items of earlier summaries; what was current and next then is neither now."""
    sections: list[list[str]] = [[] for _ in SECTIONS]
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
    for number, (title, found) in enumerate(zip(SECTIONS, sections, strict=True), start=1):
        lines = [f"   - {clip(item, characters)}" for item in found]
        if len(lines) > items:
            head, between = (items + 1) // 2, len(lines) - items
            lines[head : head + between] = [f"   - … {between} more"]
        parts.append("\n".join([f"{number}. {title}:", *(lines or [f"   {NONE}"])]))
    body = "\n\n".join(parts)
    return f"<analysis>\n{BY_RULE.format(messages)}\n</analysis>\n\n<summary>\n{body}\n</summary>"
