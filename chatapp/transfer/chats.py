"""Chats of other products: trees of messages, whose branches become versions.

What a file of many conversations can't give is named with the conversation that it is missing in.
"""

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, override

from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp import errors
from chatapp.transfer import Begin, Beside, Piece, Problem, Unusable
from chatapp.transfer.archives import Archive
from chatapp.transfer.record_rows import WRONG
from chatapp.transfer.transcript_files import DAMAGED, Document, Item, read_items
from chatapp.transfer.transcripts import Block, Transcript, dated, text_block

LONGEST_TITLE = 200
# Characters of what is not used that are told.
LONGEST_EXCERPT = 200
# Messages that are written, hidden or shown again for each one of the file, and some besides.
MOST_STEPS, FEW_STEPS = 20, 1_000

# What is done one after the other, where functions that call each other would go too deep.
Steps = Generator["Steps"]
Said = tuple[Block, "_Node"]


@dataclass(slots=True, eq=False)
class _Node:
    role: str
    blocks: list[Block]
    at: Any
    model: str
    children: "list[_Node]" = field(default_factory=list)


@dataclass(slots=True)
class _Version:
    """Messages up to the end of an answer, and the user's messages of which one comes next."""

    said: Sequence[_Node]
    questions: Sequence[_Node] = ()


class Chat(Transcript):
    """One conversation; ``newest`` is the id of the message at the end of what is shown.

    A call without a result, and a result without a call, become text. Both may be without an id.
    """

    def __init__(self, title: Any, created: Any = None, updated: Any = None) -> None:
        super().__init__()
        self.title = " ".join(title.split())[:LONGEST_TITLE] if isinstance(title, str) else ""
        self.newest: Any = None
        self._about = dated(created, "created_at") | dated(updated, "updated_at")
        self._nodes: dict[str, _Node] = {}
        self._parents: dict[str, Any] = {}
        self._shown: set[_Node] = set()
        self._written: set[_Node] = set()
        self._rewinds: list[dict[str, Any]] = []
        # Of the newest rewind: by their times it is known which version is which.
        self._moment = timezone.now()
        self._steps = 0

    @property
    def count(self) -> int:
        """How many messages were added."""
        return len(self._nodes)

    def add(
        self, id_: Any, parent: Any, role: str, blocks: list[Block], *, at: Any, model: Any = ""
    ) -> None:
        """Add a message behind its parent; one without blocks only leads to others."""
        known = model[:100] if isinstance(model, str) else ""
        if str(id_) in self._nodes:
            self.leave_out(_("Another message has the same id."), blocks)
        else:
            self._nodes[str(id_)] = _Node(role, blocks, at, known)
            self._parents[str(id_)] = parent

    def leave_out(self, reason: str, blocks: Sequence[Block] | str = ()) -> None:
        """Note what of the message that comes next can't be used, and how it begins."""
        said = blocks if isinstance(blocks, str) else plain_text(blocks)
        quoted = f" “{said[:LONGEST_EXCERPT]}”" if said.strip() else ""
        self.refuse(self.count + 1, f"{reason}{quoted}")

    def attach(self, blocks: list[Block], archive: Archive, name: Any, *keys: Any) -> None:
        """Add a file of the archive to a message's blocks, or note why it can't be used."""
        shown = name if isinstance(name, str) and name else _("File")
        try:
            blocks.append(archive.block(shown, *map(str, keys), shown))
        except errors.Refused as error:
            self.leave_out(str(error))

    @override
    def pieces(self) -> Iterator[Piece]:
        root = self._link()
        steps = [self._answer(root, 0)]
        while steps:
            if inner := next(steps[-1], None):
                steps.append(inner)
            else:
                steps.pop()
        if len(self._written) < sum(bool(one.blocks) for one in self._nodes.values()):
            raise Unusable(_("Its messages follow each other in a circle."))
        asked = (plain_text(one["content"]) for one in self.messages if one["role"] == "user")
        self.title = self.title or " ".join(next(asked, "").split())[:60]
        self.describe(**({"title": self.title} if self.title else {}), **self._about)
        self.besides += [Beside("rewinds", one) for one in self._rewinds]
        yield from super().pieces()

    def _link(self) -> _Node:
        """Put each message behind what was said before it, and return what all of them follow."""
        root = _Node("user", [], None, "")
        times = {name: dated(one.at, "at").get("at", "") for name, one in self._nodes.items()}
        inner = sorted(self._nodes, key=lambda name: times[name])
        for name in inner:
            if self._nodes[name].blocks:
                above = self._above(self._parents[name])
                (self._nodes[above] if above else root).children.append(self._nodes[name])
        said = [name for name in inner if self._nodes[name].blocks]
        newest: Any = self._above(self.newest) or (said[-1] if said else "")
        while newest and self._nodes[newest] not in self._shown:
            self._shown.add(self._nodes[newest])
            newest = self._above(self._parents[newest])
        return root

    def _above(self, name: Any) -> str:
        """Return this id or that of the nearest message above which says something, "" for none."""
        passed = set[str]()
        while (name := str(name)) in self._nodes and not self._nodes[name].blocks:
            if name in passed:
                name = ""
                break
            passed.add(name)
            name = self._parents[name]
        found = name if name in self._nodes else ""
        self._parents |= dict.fromkeys(passed, found)
        return found

    def _answer(self, question: _Node, seq: int) -> Steps:
        """Write all answers to the message ``seq`` of the user, and what followed each of them."""
        versions = list[_Version]()
        paths: list[tuple[_Node, tuple[Any, ...]]] = [(question, ())]
        while paths:
            node, path = paths.pop()
            questions = [one for one in node.children if one.role == "user"]
            others = [one for one in node.children if one.role != "user"]
            if questions or not others:
                said, rest = list[_Node](), path
                while rest:
                    rest, one = rest
                    said.append(one)
                self._count(len(said))
                versions.append(_Version(said[::-1], questions))
            paths += [(one, (path, one)) for one in reversed(others)]
        yield self._write(versions, seq)

    def _write(self, versions: Sequence[_Version], root: int) -> Steps:
        """Write versions of one place: answers to message ``root``, or edits of what comes next."""
        place = {
            "cause": "regenerated" if root else "edited",
            "root_seq": root or len(self.messages) + 1,
        }
        weights = [len(self._shown.intersection((*one.said, *one.questions))) for one in versions]
        shown = max(range(len(versions)), key=lambda index: (weights[index], index))
        hidden = list[tuple[int, list[dict[str, Any]]]]()
        for number, version in enumerate(versions, 1):
            start, since = len(self.messages), len(self._rewinds)
            self._say(version.said)
            if version.said and version.said[-1].role == "user":
                yield self._answer(version.said[-1], len(self.messages))
            elif version.questions:
                yield self._write([_Version([one]) for one in version.questions], 0)
            if number < len(versions) or shown < len(versions) - 1:
                hidden.append(self._set_aside(place | {"version": number}, start, since))
        if shown < len(versions) - 1:
            back, brought = hidden[shown]
            for one in brought:
                del one["rewind_parent"]
            self._rewinds[back - 1]["undone_at"] = self._rewinds[-1]["created_at"]
            self._rewinds[-1]["brings_back"] = back

    def _set_aside(
        self, place: Mapping[str, Any], start: int, since: int
    ) -> tuple[int, list[dict[str, Any]]]:
        """Hide what was written since; return the number of the record of it, and what it hides."""
        found = [*self.messages[start:], *self._rewinds[since:]]
        hidden = [one for one in found if "rewind_parent" not in one]
        self._count(len(found))
        self._moment += timedelta(microseconds=1)
        record = {
            **place,
            "to_seq": start + 1,
            "last_seq": len(self.messages),
            "messages_hidden": sum("role" in one for one in hidden),
            "created_at": self._moment.isoformat(),
        }
        self._rewinds.append(record)
        for one in hidden:
            one["rewind_parent"] = len(self._rewinds)
        return len(self._rewinds), hidden

    def _say(self, nodes: Sequence[_Node]) -> None:
        self._written.update(nodes)
        said = paired([(block, node) for node in nodes for block in node.blocks])
        for role, part in itertools.groupby(said, _role):
            blocks, written = zip(*part, strict=True)
            at, model = written[0].at, next((one.model for one in written if one.model), "")
            self.messages.append({"role": role, "content": [*blocks], **dated(at, "created_at")})
            if role == "assistant" and model:
                self.call(model, at, usage_measured=False)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS * len(self._nodes) + FEW_STEPS:
            raise Unusable(_("It has too many branches."))


def _role(said: Said) -> str:
    block, node = said
    return "user" if node.role == "user" or block["type"] == "tool_result" else "assistant"


def paired(said: Sequence[Said]) -> list[Said]:
    """Return blocks with each result behind its call, under its id; others of both as text.

    A result without an id belongs to the first call that has none yet.
    """
    waiting, ids = dict[str, int](), dict[int, str]()
    for place, (block, _node) in enumerate(said):
        if block["type"] == "tool_use":
            waiting[block["id"] or f"call_{place}"] = place
        elif block["type"] == "tool_result" and waiting:
            id_ = block["tool_use_id"] or next(iter(waiting))
            if (call := waiting.pop(id_, None)) is not None:
                ids |= {call: id_, place: id_}
    made = list[Said]()
    for place, (block, node) in enumerate(said):
        match block["type"]:
            case "tool_use" if place in ids:
                made.append((block | {"id": ids[place]}, node))
            case "tool_result" if place in ids:
                made.append((block | {"tool_use_id": ids[place]}, node))
            case "tool_use" | "tool_result":
                made += [(one, node) for one in _as_text(block)]
            case _:
                made.append((block, node))
    return made


def _as_text(block: Block) -> list[Block]:
    if block["type"] == "tool_use":
        return [text_block(f"{block['name']}: {block['input']}")]
    content = block["content"]
    return [text_block(content)] if isinstance(content, str) else content


def plain_text(blocks: Sequence[Block]) -> str:
    """Return what blocks say."""
    said = (one.get("text") or one.get("thinking") or one.get("content") for one in blocks)
    return "\n".join(one for one in said if isinstance(one, str))


def seconds(at: Any) -> Any:
    """Return a time in seconds in the milliseconds that others are in."""
    return at * 1000 if isinstance(at, int | float) else at


def result_with(content: list[Block]) -> Block:
    """Return a tool's result that names no call; text alone as text."""
    texts = [one["text"] for one in content if one["type"] == "text"]
    alone = len(texts) == len(content)
    return {
        "type": "tool_result",
        "tool_use_id": "",
        "content": "\n".join(texts) if alone else content,
    }


ReadChat = Callable[[Any, Archive], Chat | None]


def read_chats(
    path: Path,
    read_chat: ReadChat,
    read: Callable[[Document], Iterator[Item | Problem]] = read_items,
) -> Iterator[Piece]:
    """Yield the conversations that ``read_chat`` makes of the items of all documents.

    It returns None for what is no conversation. Nothing more is read of a document that begins so.
    """
    with Archive(path) as archive:
        for name, reason in archive.problems:
            yield from (Begin(name), Problem(1, reason))
        for document in archive.documents:
            try:
                yield from _read_document(document.name, read(document), archive, read_chat)
            except DAMAGED:
                yield from (Begin(document.name), Problem(1, _("The file is damaged.")))


def _read_document(
    name: str, items: Iterator[Item | Problem], archive: Archive, read_chat: ReadChat
) -> Iterator[Piece]:
    for found in items:
        if isinstance(found, Problem):
            yield from (Begin(name), found)
            continue
        title, pieces = _read(found[1], archive, read_chat)
        yield from (Begin(title or name), *pieces)
        if not title and found[0] == 1:
            break


def _read(item: Any, archive: Archive, read_chat: ReadChat) -> tuple[str, list[Piece]]:
    """Return a conversation's title and all of it; the title is empty for what is none."""
    title = ""
    try:
        if not (chat := read_chat(item, archive)):
            return "", [Problem(1, _("This is no conversation."))]
        title = chat.title or _("Conversation without a title")
        pieces = [*chat.pieces()]
    except Unusable as error:
        return title, [Problem(1, str(error))]
    except WRONG:
        return title or _("Conversation"), [Problem(1, _("It is not built as it should be."))]
    return chat.title or title, pieces
