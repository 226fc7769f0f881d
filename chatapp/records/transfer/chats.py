"""Chats of other products: trees of messages, whose branches become versions.

Missing parts of a file of many conversations are reported with their own conversation.
"""

import itertools
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, override

import condense
from chatapp.agent.annotated_blocks import file_block
from chatapp.conversations.composer.attachments import clean_name
from chatapp.conversations.conversations import title_of
from chatapp.models import errors
from chatapp.models.conversations import LONGEST_TITLE
from chatapp.project.sentences import translate as _
from chatapp.records.transfer import Begin, Piece, Problem, Unusable
from chatapp.records.transfer.archives import Archive
from chatapp.records.transfer.record_rows import WRONG, WRONG_BUILD
from chatapp.records.transfer.source_texts import LONGEST_EXCERPT, fields, joined, texts_in
from chatapp.records.transfer.transcript_files import (
    DAMAGED,
    SAMPLED_ITEMS,
    Item,
    read_list_or_object,
)
from chatapp.records.transfer.transcripts import Block, Transcript, dated, text_block
from condense import noop, say

# Keys with a file's name, for people and in an archive.
_NAMES, _KEYS = ("file_name", "name", "filename"), ("file_uuid", "file_id")
# The parent of first messages, and one of which nothing is said.
NOWHERE, UNKNOWN = "00000000-0000-", "?"
# The role of messages whose role is not said, and differs from the role of the rest.
_ROLES = {"tool_result": "user"}
# Messages that may be written or hidden per message of the file, and a few more.
MOST_STEPS, FEW_STEPS = 20, 1_000

# Steps that are done one after the other, where nested calls would go too deep.
Steps = Generator["Steps"]


@dataclass(slots=True, eq=False)
class _Node:
    role: str
    blocks: list[Block]
    parent: str = ""
    above: "_Node | None" = None
    at: Any = None
    model: Any = ""
    children: "list[_Node]" = field(default_factory=list)


# The author of a message, and its blocks.
Said = tuple[str, list[Block]]

# Messages up to the end of an answer, and those of the user of which one comes next.
_Version = tuple[list[_Node], list[_Node]]


class Chat(Transcript):
    """One conversation, with the files of an archive; ``times`` are those of its start and change.

    ``newest`` is the id of the last message that is shown. A call without a result, and a result
    without a call, become text.
    """

    def __init__(
        self, archive: Archive, title: Any, *times: Any, newest: Any = None, prompt: Any = None
    ) -> None:
        super().__init__()
        created, updated = times or (None, None)
        self.archive = archive
        shown = condense.well_formed(title) if isinstance(title, str) else ""
        self.title = " ".join(shown.split())[:LONGEST_TITLE]
        self._newest = str(newest)
        self._about = dated(created, "created_at") | dated(updated, "updated_at")
        if isinstance(prompt, str) and prompt.strip():
            self._about["system_prompt"] = prompt
        self._nodes: dict[Any, _Node] = {}
        self._shown: set[_Node] = set()
        self._written: set[_Node] = set()
        self._steps = 0

    def add(self, id_: Any, parent: Any, said: Callable[[], Said], **about: Any) -> str:
        """Add a message behind its parent and return its id; without blocks it leads to others."""
        try:
            role, blocks = said()
        except WRONG:
            self.leave_out(WRONG_BUILD)
            role, blocks = "", []
        name = str(id_) if isinstance(id_, str | int) else f"#{len(self._nodes)}"
        if name in self._nodes:
            self.leave_out(noop("Another message has the same id."), joined(blocks))
            return name
        above = "" if parent is None or str(parent).startswith(NOWHERE) else str(parent)
        before = next(reversed(self._nodes.values()), None)
        self._nodes[name] = _Node(role if blocks else "", blocks, above, before, **about)
        return name

    def leave_out(self, reason: str, text: str = "") -> None:
        """Note a reason why a part of the next message can't be used, with the text's beginning."""
        if text.strip():
            reason = say("{reason} “{text}”", reason=reason, text=text[:LONGEST_EXCERPT])
        self.refuse(len(self._nodes) + 1, condense.well_formed(reason))

    def attach(self, blocks: list[Block], name: Any, *keys: Any, text: Any = "") -> None:
        """Add a file to a message's blocks, or note the reason if it can't be used.

        It says this ``text``, or lies in the archive under one of the keys or its name.
        """
        shown = name if isinstance(name, str) and name else _("File")
        if isinstance(text, str) and text.strip():
            size = len(text.encode(errors="replace"))
            blocks.append(file_block(clean_name(shown), text, size=size).to_api())
            return
        try:
            blocks.append(self.archive.block(shown, *map(str, keys), shown))
        except errors.Refused as error:
            self.leave_out(str(error))

    def missing(self, part: Any) -> list[Block]:
        """Return the file that a part of a message names; note the reason if there is none."""
        blocks, kind = list[Block](), str(fields(part).get("type"))
        told = {**fields(fields(part).get(kind)), **fields(part)}
        names, keys = ([told[one] for one in some if told.get(one)] for some in (_NAMES, _KEYS))
        text = told.get("extracted_content") or fields(told.get("data")).get("content")
        if names or keys or text:
            self.attach(blocks, *names[:1] or [""], *keys, text=text or told.get("text"))
        else:
            self.leave_out(say("It can't be imported: {kind}.", kind=kind[:60]), joined(part))
        return blocks

    @override
    def pieces(self) -> Iterator[Piece]:
        steps = [self._answer(self._link(), 0)]
        while steps:
            if inner := next(steps[-1], None):
                steps.append(inner)
            else:
                steps.pop()
        self.reshaped = [one.blocks for one in self._written]
        asked = (joined(one["content"]) for one in self.messages if one["role"] == "user")
        self.title = self.title or title_of(next(asked, ""))
        times = sorted(one["created_at"] for one in self.messages if "created_at" in one)
        about = {"created_at": times[0], "updated_at": times[-1]} if times else {}
        about |= self._about | ({"title": self.title} if self.title else {})
        self.describe(**about)
        yield from super().pieces()

    def _link(self) -> _Node:
        """Put each message behind its parent, the oldest first; return the one that all follow."""
        # A circle begins with its oldest. An orphan follows the message before it in the file.
        root = _Node("", [])
        nodes = sorted(self._nodes.values(), key=lambda one: dated(one.at, "at").get("at", ""))
        for node in nodes:
            node.above = self._nodes.get(node.parent) or (node.parent and node.above) or root
        walked = {root: root}
        for start in nodes:
            node = start
            while node not in walked:
                walked[node] = start
                node = node.above or root
            if walked[node] is start:
                node.above = root
        for node in nodes:
            (node.above or root).children.append(node)
        shown: _Node | None = self._nodes.get(self._newest, [root, *nodes][-1])
        while shown:
            self._shown.add(shown)
            shown = shown.above
        return root

    def _answer(self, question: _Node, seq: int) -> Steps:
        """Write all answers to the user's message ``seq``, each with its continuation."""
        # A continuation without an answer is one version.
        versions, unanswered = list[_Version](), list[_Node]()
        paths = [[question]]
        while paths:
            path = paths.pop()
            questions = [one for one in path[-1].children if one.role == "user"]
            others = [one for one in path[-1].children if one.role != "user"]
            said = [one for one in path[1:] if one.blocks] if questions or not others else []
            if said:
                versions.append((said, questions))
            else:
                unanswered += questions
            self._count(len(path) * (len(others[1:]) + bool(questions)))
            paths += [[*path, one] for one in reversed(others[1:])]
            if others:
                path.append(others[0])
                paths.append(path)
        yield self._write([*versions, ([], unanswered)] if unanswered else versions, seq)

    def _write(self, versions: list[_Version], root: int) -> Steps:
        """Write versions of one place: answers to message ``root``, or edits of the next message.

        The one that is shown comes last.
        """
        versions.sort(key=lambda one: len(self._shown.intersection(one[0] + one[1])))
        for number, (said, questions) in enumerate(versions, 1):
            start, since = len(self.messages), len(self.rewinds)
            root = root or -start - 1
            self._say(said)
            if said and said[-1].role == "user":
                yield self._answer(said[-1], len(self.messages))
            elif questions:
                yield self._write([([one], []) for one in questions], 0)
            if number < len(versions):
                self._count(len(self.messages) - start + len(self.rewinds) - since)
                self.set_aside(root, number, start, since)

    def _say(self, nodes: Sequence[_Node]) -> None:
        self._written.update(nodes)
        said = [(block, node) for node in nodes for block in node.blocks]
        calls = {block["id"] for block, _node in said if block["type"] == "tool_use"}
        answered = calls & {block.get("tool_use_id") for block, _node in said}
        told = [(one, node) for block, node in said for one in _usable(block, answered)]
        for role, part in itertools.groupby(
            told, lambda one: _ROLES.get(one[0]["type"], one[1].role)
        ):
            blocks, written = zip(*part, strict=True)
            at, model = written[0].at, next((one.model for one in written if one.model), "")
            self.add_message({"role": role, "content": [*blocks], **dated(at, "created_at")})
            if role == "assistant" and isinstance(model, str) and model:
                self.call(model[:100], at, usage_measured=False)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS * len(self._nodes) + FEW_STEPS:
            raise Unusable(noop("It has too many branches."))


def _usable(block: Block, answered: set[Any]) -> list[Block]:
    """Return a block, or as text a call or a result that belongs to nothing."""
    if block["type"] == "tool_use" and block["id"] not in answered:
        given = block["input"]
        said = given.get("input", given) if isinstance(given, dict) else given
        return [text_block(f"{block['name']}: {said}")]
    if block["type"] == "tool_result" and block["tool_use_id"] not in answered:
        content = block["content"]
        return [text_block(content)] if isinstance(content, str) else content
    return [block]


# Files in services' archives that hold no conversations.
_BESIDE = re.compile(
    r"(users?|user_settings|message_feedback|memories|model_comparisons"
    r"|shared_conversations|projects|sora)\.json"
)

NONE: list[Piece] = [Problem(1, noop("Not a conversation."))]
ReadChat = Callable[[Any, Archive], Chat | None]


def read_chats(path: Path, read_chat: ReadChat) -> Iterator[Piece]:
    """Yield the conversations that ``read_chat`` makes of the items of all documents.

    It returns None for an item that is no conversation. The rest of a document that begins with
    many of those is not read.
    """
    with Archive(path) as archive:
        for name, reason in archive.problems:
            yield from (Begin(name), Problem(1, reason))
        for document in archive.documents:
            title = document.name
            if _BESIDE.fullmatch(title):
                continue
            others: list[Piece] | None = []
            try:
                for found in read_list_or_object(document):
                    title, pieces = _read(found, archive, read_chat)
                    if others is None or pieces != NONE:
                        yield from (*(others or ()), Begin(title), *pieces)
                        others = None
                    elif len(others) < 2 * SAMPLED_ITEMS:
                        others += [Begin(title), *pieces]
                    else:
                        break
                if others:
                    yield from (Begin(document.name), *NONE)
            except DAMAGED:
                yield from (Begin(document.name), Problem(1, noop("The file is damaged.")))


def _read(found: Item | Problem, archive: Archive, read_chat: ReadChat) -> tuple[str, list[Piece]]:
    """Return a conversation's title and all of it, ``NONE`` for anything else."""
    if isinstance(found, Problem):
        return _("Conversation {number}", number=found.index), [found]
    number, item = found
    called = isinstance(item, dict) and (item.get("title") or item.get("name"))
    called = called or _("Conversation {number}", number=number)
    title = condense.well_formed(str(called)[:LONGEST_TITLE])
    try:
        if not (chat := read_chat(item, archive)):
            return title, NONE
        title = chat.title or title
        chat.texts = [*texts_in(item)]
        return title, [*chat.pieces()]
    except Unusable as error:
        return title, [Problem(1, str(error))]
    except WRONG:
        return title, [Problem(1, WRONG_BUILD)]
