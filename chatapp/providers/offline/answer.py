"""Answers: what the built-in model says of what it sees, and the read-only tools it calls."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import condense

ABOUT = (
    "I am Palimpsest's offline stand-in: a small program, no language model. I can only tell you "
    "what I see, use the read-only tools (“list files”, “read README.md”, “read all files”) "
    "and write filler (“write 2,000 words”), so that you can watch a "
    "conversation being condensed. For real answers, add a profile with an API key in Profiles."
)
AGAIN = "I look at which files I have not read yet."
FOLDED = (
    "My context window filled up while I read. What I had read by then, %s, is hidden from me "
    "behind a summary, and still there for you: open *Summary* in the fold above to see what I "
    "know of it now; *Undo condensation* brings it all back."
)
LIST, READ = "list_files", "read_file"
MOST_CALLS, MOST_WORDS, DEFAULT_WORDS = 200, 20_000, 1_200
MOST_SEEN, LONGEST_QUOTE, QUOTED_LINES = 6, 160, 6

# Each sentence is read once, however often it names the first of the words.
_READ_ALL = re.compile(r"\bread\b(?>[^.?!]*?\b(?:all|every|each)\b)[^.?!]*\bfiles?\b", re.I)
_LIST = re.compile(r"\b(?:list|show|which|what)\b(?>[^.?!]*?\b(?:files|folder|workspace)\b)", re.I)
_READ = re.compile(r"\bread\b([^?!\n]+)", re.I)
_WRITE = re.compile(r"\bwrite\b[^.?!\d]*(\d[\d,]{0,8}) words?\b|\bwrite a long\b", re.I)
_READ_BEFORE = re.compile(r"^ *- (\S+) \(read_file\): (.+)$", re.MULTILINE)
_LINE_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)


class Answer(NamedTuple):
    """What to say, and the call to make with it, if any; who makes it gives it an id."""

    text: str
    call: condense.ToolUseBlock | None = None


Done = Sequence[condense.AnsweredCall]


def answer(messages: Sequence[condense.Message], offered: Collection[str]) -> Answer:
    """Return the next step of the reply to a conversation; ``offered`` names the tools."""
    asked = [(at, text) for at, message in enumerate(messages) for text in said(message)]
    if not asked:
        return Answer(ABOUT)
    at, question = asked[-1]
    done = condense.pair_calls(messages[at:]).answered
    known = dict(_READ_BEFORE.findall("\n".join(summaries(messages[at]))))
    found = _from_tools(question, done, offered, known)
    return found or Answer(_filler(question) or _seen(messages))


def said(message: condense.Message) -> Iterator[str]:
    """Yield what the user wrote in a message, also a request that a summary repeats."""
    for block in message.blocks if message.role == "user" else ():
        if not isinstance(block, condense.TextBlock) or condense.beside_of(block):
            continue
        text = block.text.strip()
        kind = condense.part_kind(text)
        if kind is condense.PartKind.REQUEST:
            yield text.partition("\n")[2]
        elif text and kind is None and not (text[0] == "[" and text[-1] == "]"):
            yield text


def summaries(message: condense.Message) -> Iterator[str]:
    """Yield the earlier summaries in a message, without the words that the engine puts before."""
    for block in message.blocks if message.role == "user" else ():
        text = block.text.strip() if isinstance(block, condense.TextBlock) else ""
        if text and condense.part_kind(text) is condense.PartKind.SUMMARY:
            text = text.removeprefix("## Conversation Summary").strip()
            yield text.removeprefix(condense.summary_preface()).strip()


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
    waiting = [path for path in _entries(result(listing)) if path not in read]
    if waiting and not listing.result.is_error and len(done) < MOST_CALLS:
        return _step(_call(READ, path=waiting[0]), done)
    new = {argument(one.call): gist(result(one)) for one in reads if not one.result.is_error}
    failed = [argument(one.call) for one in reads if one.result.is_error]
    lines = "\n".join(f"- `{path}`: {about}" for path, about in {**known, **new}.items())
    parts = [
        f"I read {_count(len(known) + len(new), 'file')}. In one sentence each:" * bool(lines),
        lines or _report(listing),
        FOLDED % _count(len(known), "file") if known else "",
        f"I could not read {', '.join(failed)}." if failed else "",
    ]
    return Answer("\n\n".join(filter(None, parts)))


def _call(name: str, **given: str) -> condense.ToolUseBlock:
    return condense.ToolUseBlock("", name, given)


def _step(call: condense.ToolUseBlock, done: Done) -> Answer:
    """Make a call; only the first of several is announced, so that they read as one step."""
    what = f"read `{argument(call)}`" if call.input else "look at which files there are"
    return Answer("" if done else f"I {what}.", call)


def _entries(listing: str) -> list[str]:
    """Return the files in a listing, folders and notes left out."""
    lines = (line.rsplit(" (", 1)[0].strip() for line in listing.splitlines())
    return [line for line in lines if line and line[0] != "[" and line[-1] not in "/."]


def _report(one: condense.AnsweredCall) -> str:
    """Return what a tool was called for, how much it returned, and how that begins."""
    text, name = result(one), f"`{one.call.name}` {argument(one.call)}".strip()
    if one.result.is_error:
        return f"{name} failed: {clip(text)}"
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [line[:LONGEST_QUOTE].replace("```", "'''") for line in lines[:QUOTED_LINES]]
    size = f"{_count(len(lines), 'line')} and {_count(len(text.split()), 'word')}"
    return "\n".join([f"{name} returned {size}. It begins:\n\n```text", *shown, "```"])


def _filler(question: str) -> str:
    """Return as many words as are asked for, no sentence twice; "" where none are."""
    wish = _WRITE.search(question)
    if wish is None:
        return ""
    count = min(int(wish[1].replace(",", "")) if wish[1] else DEFAULT_WORDS, MOST_WORDS)
    words = ["Filler", "from", "the", "offline", "stand-in:"]
    number = 0
    while len(words) < count:
        number += 1
        words += f"Sentence {number:,} takes up room in the context window.".split()
    return " ".join(words[:count])


def _seen(messages: Sequence[condense.Message]) -> str:
    """Return who said what, and how often."""
    told = [*_told(messages)]
    count = Counter(who for who, _ in told)
    numbers = ", ".join(f"{who}: {number:,}" for who, number in count.items())
    lines = "\n".join(f"- {who}: “{clip(text)}”" for who, text in told[-MOST_SEEN:])
    return f"{ABOUT}\n\nThis is what I see ({numbers}). The newest is:\n\n{lines}"


def _told(messages: Sequence[condense.Message]) -> Iterator[tuple[str, str]]:
    """Yield who said what, in order."""
    results = {id(one.result): one for one in condense.pair_calls(messages).answered}
    for message in messages:
        for block in message.blocks:
            if found := results.get(id(block)):
                yield f"Result of {found.call.name}", result(found)
        yield from (("Summary", text) for text in summaries(message))
        if message.role == "assistant" and message.text.strip():
            yield "I", message.text
        yield from (("You", text) for text in said(message))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
