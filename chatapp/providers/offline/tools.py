"""Use the read-only tools where a message plainly asks for it, one step at a time."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chatapp.providers.offline.gist import gist
from chatapp.providers.offline.reading import Happening
from chatapp.providers.offline.recall import clip

LIST, READ, SEARCH = "list_files", "read_file", "search_files"
MOST_CALLS = 200
QUOTED_LINES, LONGEST_LINE = 6, 160
NOT_FOUND = "No line matches."  # as search_files says it
LOOK_AGAIN = "I look at which files I have not read yet."
FOLDED = (
    "My context window filled up while I read. So what I had read by then, %s, is folded: hidden "
    "from me behind a summary, and still there for you. Open *Summary* in the fold above to see "
    "what I know of it now; *Undo condensation* brings it all back."
)

# Each sentence is read once, however often it names the first of the words.
_LIST = re.compile(
    r"(?:\A|[.?!])(?>[^.?!]*?\b(?:list|show|which|what)\b)[^.?!]*\b(?:files|folder|workspace)\b",
    re.I,
)
_BEGIN = re.compile(r"\bwhere\b[^.?!]{0,40}\b(?:start|begin)\b|\bread(?:ing)? first\b", re.I)
_READ_ALL = re.compile(
    r"(?:\A|[.?!])(?>[^.?!]*?\bread\b)(?>[^.?!]*?\b(?:all|every|each)\b)[^.?!]*\bfiles?\b", re.I
)
_READ = re.compile(r"\bread\b(?P<rest>[^?!\n]+)", re.I)
_SEARCH = re.compile(
    r"\b(?:search|grep)\b(?:\s+(?:the|all|my|in|files?|workspace|through))*"
    r"(?:\s+for)?\s+(?P<pattern>\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s?!]+)"
    r"(?:\s+in\s+(?P<path>[\w./-]+))?",
    re.I,
)
_PATH = re.compile(r"[`'\"]?(?P<path>[\w.-]*[\w-](?:/[\w.-]+)*/?)[`'\"]?")
_ENTRY = re.compile(r"^\s*(?:[-*•]\s+)?(?P<path>[^\s:].*?)(?:\s{2,}.*|\t.*|\s\([^()]*\)|,\s.*)?$")
_NO_ENTRY = re.compile(
    r"^\s*(?:…|\.\.\.|\[|\(|#|no files|the folder is|there (?:is|are)|\d+ (?:more|files))", re.I
)
_READ_BEFORE = re.compile(r"(?<!\S)(?P<path>\S++) \(read_file\)(?:: (?P<gist>[^\n]+))?")
_FILLERS = frozenset({"the", "file", "files", "and", "then", "also", "please", "me", "from", "of"})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make."""

    name: str
    input: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """What comes next: a call with a word about it, or the answer."""

    text: str
    call: Call | None = None


def next_step(
    question: str, since: Sequence[Happening], offered: Collection[str], *, summary: str = ""
) -> Step | None:
    """Return the next step towards what the question asks of the tools, None where it does not.

    ``since`` is what happened after the question: the calls made for it, and their results;
    ``summary`` says what happened before that, where a condensation repeated the question.
    """
    done = [*_answered(since)]
    if LIST in offered and READ in offered and _READ_ALL.search(question):
        return _read_all(done, dict(_READ_BEFORE.findall(summary)))
    if SEARCH in offered and (found := _SEARCH.search(question)):
        path = {"path": found["path"].rstrip(".")} if found["path"] else {}
        return _one(Call(SEARCH, {"pattern": found["pattern"].strip("\"'`."), **path}), done)
    if READ in offered and (paths := _paths(question)):
        return _read_each(paths, done)
    if LIST in offered and _LIST.search(question):
        return _list(done, begins=READ in offered and bool(_BEGIN.search(question)))
    return None


Done = Sequence[tuple[Happening, Happening]]


def _answered(since: Sequence[Happening]) -> Iterator[tuple[Happening, Happening]]:
    """Yield each call with its result; without ids (flattened), in order."""
    results = [one for one in since if one.kind in {"result", "error"}]
    by_id = {result.id: result for result in results if result.id}
    for number, call in enumerate(one for one in since if one.kind == "call"):
        if call.id in by_id:
            yield call, by_id[call.id]
        elif not call.id and number < len(results):
            yield call, results[number]


def _paths(question: str) -> list[str]:
    found = _READ.search(question)
    words = found["rest"].split() if found else []
    matches = (_PATH.fullmatch(word.strip(",;:").rstrip(".")) for word in words)
    paths = [match["path"] for match in matches if match]
    named = [path for path in paths if "." in path or "/" in path]
    loose = [path for path in paths if path.lower() not in _FILLERS]
    return named or loose[:1]


def _one(call: Call, done: Done) -> Step:
    if not done:
        return Step(_announce(call), call)
    return Step(_report(*done[0]))


def _list(done: Done, *, begins: bool) -> Step:
    """List the files; where it is asked which to read first, look into that one."""
    if not done or not begins or done[0][1].kind == "error":
        return _one(Call(LIST), done)
    paths = entries(done[0][1].text)
    first = next((path for path in paths if path.lower().startswith("readme")), "")
    if not first or len(done) > 1:
        advice = f"\n\nStart with `{first}`: {gist(done[1][1].text)}" if first else ""
        return Step(_report(*done[0]) + advice)
    return _next(Call(READ, {"path": first}), done)


def _read_each(paths: Sequence[str], done: Done) -> Step:
    if len(done) < len(paths):
        return _next(Call(READ, {"path": paths[len(done)]}), done)
    return Step("\n\n".join(_report(call, result) for call, result in done))


def _read_all(done: Done, before: Mapping[str, str]) -> Step:
    listing = next((result for call, result in done if call.tool == LIST), None)
    if listing is None:
        call = Call(LIST)
        return Step(LOOK_AGAIN if before else _announce(call), call)
    if listing.kind == "error":
        return Step(_report(*done[0]))
    read = before.keys() | {call.text for call, _ in done if call.tool == READ}
    waiting = [path for path in entries(listing.text) if path not in read]
    if waiting and len(done) < MOST_CALLS:
        return _next(Call(READ, {"path": waiting[0]}), done)
    return Step(_report_all([pair for pair in done if pair[0].tool == READ], before))


def entries(listing: str) -> list[str]:
    """Return the files in a listing, folders left out."""
    lines = (line for line in listing.splitlines() if line.strip() and not _NO_ENTRY.match(line))
    found = (match["path"].strip() for line in lines if (match := _ENTRY.match(line)))
    return [path for path in found if not path.endswith("/")]


def _next(call: Call, done: Done) -> Step:
    """Make a call; only the first of several is announced, so that they read as one step."""
    return Step("" if done else _announce(call), call)


def _announce(call: Call) -> str:
    match call.name:
        case "list_files":
            return "I look at which files there are."
        case "read_file":
            return f"I read `{call.input['path']}`."
        case _:
            return f"I search the files for `{call.input['pattern']}`."


def _report(call: Happening, result: Happening) -> str:
    if result.kind == "error":
        return f"`{call.tool}` failed: {clip(result.text, LONGEST_LINE)}"
    lines = [line for line in result.text.splitlines() if line.strip()]
    if not lines:
        return f"`{call.tool}` answered nothing."
    match call.tool:
        case "list_files":
            number = len(entries(result.text))
            if not number:
                return "There are no files here."
            opening = f"There {'is' if number == 1 else 'are'} {_count(number, 'file')}."
        case "read_file":
            words = len(result.text.split())
            opening = f"`{call.text}` has {_count(len(lines), 'line')} and {_count(words, 'word')}."
        case _ if lines[0] == NOT_FOUND:
            return f"I searched the files for `{call.text}`. No line matches."
        case _:
            opening = f"The search for `{call.text}` gave {_count(len(lines), 'line')}."
    return f"{opening} {_quote(lines)}"


def _report_all(done: Done, before: Mapping[str, str]) -> str:
    """Say what each file is about, those read before a condensation by what its summary kept."""
    read = {call.text: result.text for call, result in done if result.kind == "result"}
    failed = [call.text for call, result in done if result.kind == "error"]
    said = {**before, **{path: gist(text) for path, text in read.items()}}
    words = sum(len(text.split()) for text in read.values())
    size = "" if before else f", {_count(words, 'word')} in all"
    lines = "\n".join(f"- `{path}`: {about}" for path, about in said.items() if about)
    parts = [
        f"I read {_count(len(said), 'file')}{size}{'. In one sentence each:' if lines else '.'}"
    ]
    parts += [lines] if lines else []
    parts += [FOLDED % _count(len(before), "file")] if before else []
    parts += [f"I could not read {', '.join(failed)}."] if failed else []
    return "\n\n".join(parts)


def _quote(lines: Sequence[str]) -> str:
    shown = [line[:LONGEST_LINE].replace("```", "'''") for line in lines[:QUOTED_LINES]]
    opening = "It begins:" if len(lines) > len(shown) else "All of it:"
    return f"{opening}\n\n```text\n" + "\n".join(shown) + "\n```"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
