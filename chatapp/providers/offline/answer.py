"""Answers: what the built-in model says of what it sees, and the read-only tools it calls."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
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
