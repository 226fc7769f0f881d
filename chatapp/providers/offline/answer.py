"""Answers of the built-in model: texts about the conversation, and read-only calls.

It answers in the language that an example of the first page was asked in, otherwise in English.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _lazy

import condense
from chatapp.project.languages import NAMES, Reader
from chatapp.project.sentences import number
from chatapp.project.sentences import translate as _

# Examples on the first page. They are understood in every language.
EXAMPLES = {
    "read_all": _lazy(
        "Read every sample file, one after the other, and then tell me in one sentence each what "
        "they are about."
    ),
    "list": _lazy("Which files are here, and where should I start reading?"),
    "decide": _lazy(
        "Help me decide something: ask me one question at a time until you can advise me."
    ),
}
ABOUT = _lazy(
    "I am Palimpsest's offline stand-in: a small program, no language model. I can only tell you "
    "what I see, use the read-only tools (“list files”, “read README.md”, “read all files”) "
    "and write filler (“write 2,000 words”), so that you can watch a "
    "conversation being condensed. For real answers, add a profile with an API key in Profiles."
)
LIST, READ = "list_files", "read_file"
USER, SUMMARY, ME = "user", "summary", "me"
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


class OfflineAnswer(NamedTuple):
    """The text of an answer, and the call to make with it, if any; the caller gives it an id."""

    text: str
    call: condense.ToolUseBlock | None = None


Done = Sequence[condense.AnsweredCall]


def answer(messages: Sequence[condense.Message], offered: Collection[str]) -> OfflineAnswer:
    """Return the next step of the reply to a conversation; ``offered`` names the tools."""
    told = [(at, *one) for at, message in enumerate(messages) for one in told_in(message)]
    asked = [(at, text) for at, who, text in told if who == USER]
    spoken = [_examples()[text].reader for _at, text in asked if text in _examples()]
    with (spoken[-1] if spoken else Reader()).reading():
        if not asked:
            return OfflineAnswer(str(ABOUT))
        at, question = asked[-1]
        if question in _examples():
            question = _examples()[question].english
        summaries = "\n".join([text for where, who, text in told if (where, who) == (at, SUMMARY)])
        done = condense.pair_calls(messages[at:]).answered
        known = dict(_READ_BEFORE.findall(summaries))
        found = _from_tools(question, done, offered, known) or _filler(question)
        return found or OfflineAnswer(f"{ABOUT}\n\n{_seen(messages)}")


class Example(NamedTuple):
    """A reader of an example's language, and the example in English."""

    reader: Reader
    english: str


@cache
def _examples() -> Mapping[str, Example]:
    """Return the examples in each language."""
    asked = dict[str, Example]()
    for one in EXAMPLES.values():
        with Reader().reading():
            english = str(one)
        for reader in (Reader.of(code, "") for code in NAMES):
            with reader.reading():
                asked[str(one)] = Example(reader, english)
    return asked


def _filler(question: str) -> OfflineAnswer | None:
    """Return as many words as a question asks for, None if it asks for none."""
    wish = _WRITE.search(question)
    if wish is None:
        return None
    count = min(int(wish[1].replace(",", "")) if wish[1] else DEFAULT_WORDS, MOST_WORDS)
    words, sentence = _("Filler from the offline stand-in:").split(), 0
    while len(words) < count:
        sentence += 1
        said = _("Sentence {number:,} takes up room in the context window.", number=sentence)
        words += said.split()
    return OfflineAnswer(" ".join(words[:count]))


def _seen(messages: Sequence[condense.Message]) -> str:
    """Return a list of the newest texts, and the number of texts by each author."""
    names = {USER: _("You"), SUMMARY: _("Summary"), ME: _("I")}
    results = {id(one.result): one for one in condense.pair_calls(messages).answered}
    said: list[tuple[str, str]] = []
    for message in messages:
        own = [results[id(block)] for block in message.blocks if id(block) in results]
        said += [(_("Result of {name}", name=one.call.name), result(one)) for one in own]
        said += [(names[who], text) for who, text in told_in(message)]
    counted = Counter([who for who, _text in said])
    tally = ", ".join([f"{who}: {number(times)}" for who, times in counted.items()])
    lines = [f"- {who}: “{clip(text)}”" for who, text in said[-MOST_SEEN:]]
    seen = _("This is what I see ({tally}). The newest is:", tally=tally)
    return "\n".join([f"{seen}\n", *lines])


def told_in(message: condense.Message) -> Iterator[tuple[str, str]]:
    """Yield each text of a message with its author: the model, the user or an earlier summary.

    A request that a summary repeats is the user's; the words that the engine puts before a
    summary are left out.
    """
    if message.role == "assistant":
        if message.text.strip():
            yield ME, message.text
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
    """Return the text on one line, cut at a word after ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[:length].rsplit(' ', 1)[0]} …"


def argument(call: condense.ToolUseBlock) -> str:
    """Return the first argument of a call, such as a path or a pattern."""
    return str(next(iter(call.input.values()), "")) if isinstance(call.input, dict) else ""


def result(one: condense.AnsweredCall) -> str:
    """Return the text of a call's result."""
    return condense.Message("user", one.result.content or "").text.strip("\n")


def _from_tools(
    question: str, done: Done, offered: Collection[str], known: Mapping[str, str]
) -> OfflineAnswer | None:
    """Return the next step for a question that needs tools, None for other questions."""
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
    return OfflineAnswer("\n\n".join(map(_report, done))) if calls else None


def _read_all(done: Done, known: Mapping[str, str]) -> OfflineAnswer:
    """Read each file that is not known yet; then describe all of them."""
    listing = next((one for one in done if one.call.name == LIST), None)
    if listing is None:
        if known:
            return OfflineAnswer(_("Checking what is left to read."), _call(LIST))
        return _step(_call(LIST), done)
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
        _("I read {files}. In one sentence each:", files=_files({**known, **new})) if told else "",
        told or _report(listing),
        _folded(known) if known else "",
        _("I could not read {names}.", names=", ".join(failed)) if failed else "",
    ]
    return OfflineAnswer("\n\n".join(filter(None, parts)))


def _files(read: Mapping[str, str]) -> str:
    return _("{count:,} file", "{count:,} files", count=len(read))


def _folded(known: Mapping[str, str]) -> str:
    return _(
        "My context window filled up while I read. What I had read by then, {files}, is hidden "
        "from me behind a summary, and still there for you: *View* in the condensation above shows "
        "what I know of it now. You can bring messages back.",
        files=_files(known),
    )


def _call(name: str, **given: str) -> condense.ToolUseBlock:
    return condense.ToolUseBlock("", name, given)


def _step(call: condense.ToolUseBlock, done: Done) -> OfflineAnswer:
    """Make a call; only the first of several is announced, so that they read as one step."""
    path = argument(call)
    what = _("Let me read `{path}`.", path=path) if path else _("Let me list the files.")
    return OfflineAnswer("" if done else what, call)


def _report(one: condense.AnsweredCall) -> str:
    """Return a tool's name and argument, and the size and first lines of its result."""
    text, name = result(one), f"`{one.call.name}` {argument(one.call)}".strip()
    if one.result.is_error:
        return _("{name} failed: {text}", name=name, text=clip(text))
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [line[:LONGEST_QUOTE].replace("```", "'''") for line in lines[:QUOTED_LINES]]
    begins = _(
        "{name} returned {count:,} line. It begins:",
        "{name} returned {count:,} lines. It begins:",
        name=name,
        count=len(lines),
    )
    return "\n".join([f"{begins}\n\n```text", *shown, "```"])
