"""Frozen messages and content blocks, in the shapes of Anthropic's Messages API.

A block the engine has no rule for (documents, server tools, a malformed block) is kept as an
:class:`OpaqueBlock` and passed through unchanged, so a conversation survives a round trip.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_not
from typing import Any, Literal, Self

from condense.errors import InvalidMessage

Json = Mapping[str, Any]
Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain text written by the user, the model or the engine."""

    text: str
    extra: Json = field(default_factory=dict)

    def to_api(self) -> dict[str, Any]:
        """Return the block as the API's JSON object."""
        return {"type": "text", "text": self.text, **self.extra}


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image; ``source`` is the API's source object (base64 data or a URL)."""

    source: Json
    extra: Json = field(default_factory=dict)

    def to_api(self) -> dict[str, Any]:
        """Return the block as the API's JSON object."""
        return {"type": "image", "source": dict(self.source), **self.extra}


@dataclass(frozen=True, slots=True)
class ToolUseBlock:
    """A tool call by the model; ``id`` pairs it with its result."""

    id: str
    name: str
    input: Any
    extra: Json = field(default_factory=dict)

    def to_api(self) -> dict[str, Any]:
        """Return the block as the API's JSON object."""
        return {
            "type": "tool_use",
            "id": self.id,
            "name": self.name,
            "input": self.input,
            **self.extra,
        }


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """A tool's answer; ``content`` is text, blocks, or None if the call gave none."""

    tool_use_id: str
    content: "str | tuple[Block, ...] | None" = None
    is_error: bool = False
    extra: Json = field(default_factory=dict)

    def to_api(self) -> dict[str, Any]:
        """Return the block as the API's JSON object."""
        data: dict[str, Any] = {"type": "tool_result", "tool_use_id": self.tool_use_id}
        if self.content is not None:
            data["content"] = content_to_api(self.content)
        if self.is_error:
            data["is_error"] = True
        return {**data, **self.extra}


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """Any other block, kept as it came."""

    data: Json

    def to_api(self) -> dict[str, Any]:
        """Return the block as the API's JSON object."""
        return dict(self.data)

    @property
    def said(self) -> str | None:
        """The readable text of a provider's compaction, None for any other block."""
        text = self.data.get("content") if self.data.get("type") == "compaction" else None
        return text if isinstance(text, str) else None

    def noted(self, **notes: object) -> "OpaqueBlock":
        """Return a copy with more facts about it."""
        return OpaqueBlock({**self.data, BESIDE: {**beside_of(self), **notes}})


Block = TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | OpaqueBlock

# The key with the kind of a block that was added to somebody's own words. It is for pages that show
# the message, and no API knows it.
BESIDE = "beside"
# The kind of a description of the surroundings at a message; the next message has its own.
ENVIRONMENT = "environment"
# The kind of passages of hidden messages that were found with a message's words.
RECALLED = "recalled"
# The kind of a block with the passages that a person has had forgotten.
FORGOTTEN = "forgotten"
# Kinds that held only at their moment, and that nobody said.
PASSING = frozenset({ENVIRONMENT, RECALLED, FORGOTTEN})


def beside_of(block: Block) -> Json:
    """Return the notes on a text, an image or a thought, which no API gets; else nothing."""
    own = block.data if isinstance(block, OpaqueBlock) else getattr(block, "extra", {})
    said = None if isinstance(block, ToolUseBlock | ToolResultBlock) else own.get(BESIDE)
    return said if isinstance(said, Mapping) else {}


# Key of the part of a block in the user's own words, marked by its maker: in a text that a client
# sent in their name, or a tool's result with their answer. It is on record, and no API knows it.
USER_WORDS = "user_words"


def user_words(block: Block) -> str:
    """Return the user's part of a block in a user's message.

    Without a mark that is all of a plain text, and nothing of an annotated text or a result.
    """
    if not isinstance(block, TextBlock | ToolResultBlock):
        return ""
    marked = block.extra.get(USER_WORDS)
    if isinstance(marked, str):
        return marked
    return block.text if isinstance(block, TextBlock) and not beside_of(block) else ""


Content = str | tuple[Block, ...]


def block_from_api(data: Json) -> Block:
    """Return the typed block for one JSON object; an ill-formed one becomes opaque."""
    match data:
        case {"type": "text", "text": str(text), **extra}:
            return TextBlock(text, extra)
        case {"type": "image", "source": dict(source), **extra}:
            return ImageBlock(source, extra)
        case {"type": "tool_use", "id": str(id_), "name": str(name), "input": input_, **extra}:
            return ToolUseBlock(id_, name, input_, extra)
        case {"type": "tool_result", "tool_use_id": str(id_), **extra}:
            return _tool_result(id_, extra, data)
        case Mapping():
            return OpaqueBlock(data)
        case _:
            raise InvalidMessage(f"A content block is a JSON object, not {type(data).__name__}.")


def _tool_result(id_: str, extra: dict[str, Any], data: Json) -> Block:
    content = extra.pop("content", None)
    is_error = extra.pop("is_error", None) or False
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        if not all(isinstance(block, Mapping) for block in content):
            return OpaqueBlock(data)
        content = tuple([block_from_api(block) for block in content])
    if not isinstance(is_error, bool) or not isinstance(content, str | tuple | None):
        return OpaqueBlock(data)
    return ToolResultBlock(id_, content, is_error, extra)


def content_from_api(content: object) -> Content:
    """Return text as it is and a list of JSON blocks as a tuple of typed blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise InvalidMessage(f"Content is text or a list of blocks, not {type(content).__name__}.")
    return tuple([block_from_api(block) for block in content])


def content_to_api(content: Content) -> str | list[dict[str, Any]]:
    """Return text as it is and typed blocks as a list of JSON objects."""
    return content if isinstance(content, str) else [block.to_api() for block in content]


Cleared = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of a message, with the parents that hide it, and of a summary or marker."""

    condense_id: str | None = None  # of a summary
    condense_parent: str | None = None
    truncation_id: str | None = None  # of a truncation's marker
    truncation_parent: str | None = None
    clear_id: str | None = None  # of a clearing's marker
    cleared: Cleared = field(default_factory=dict)  # lines for results, by ids of message and call
    rewind_parent: str | None = None
    undone: bool = False  # this summary or marker was undone
    hides: tuple[str, ...] = ()  # ids that this summary or marker hid or cleared, for a redo
    pinned: bool = False  # kept word for word, also while it is hidden
    unbound: bool = False  # its thinking is not sent: what came before it has changed


NO_TAGS = Tags()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: Content
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    seq: int = 0  # counts appended messages in one conversation, from 1
    position: int | None = None  # in reading order: ``seq``, or that of the last message it hides
    tags: Tags = NO_TAGS
    tokens: int | None = None  # its own, None if unknown

    @classmethod
    def from_api(cls, data: Json, *, id: str | None = None, seq: int = 0) -> Self:  # noqa: A002 - the API's word
        """Build a message from ``{"role": …, "content": …}``; raise InvalidMessage otherwise."""
        role = data.get("role")
        if role not in ("user", "assistant"):
            raise InvalidMessage(f"A message's role is 'user' or 'assistant', not {role!r}.")
        content = content_from_api(data.get("content", ""))
        return cls(role=role, content=content, id=id or uuid.uuid4().hex, seq=seq)

    def to_api(self) -> dict[str, Any]:
        """Return ``{"role": …, "content": …}`` and nothing else, as the API accepts it."""
        return {"role": self.role, "content": content_to_api(self.content)}

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content as blocks; text counts as one text block."""
        return (TextBlock(self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """All text blocks, and the text of a provider's compaction, joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        said = [
            block.text if isinstance(block, TextBlock) else block.said
            for block in self.content
            if isinstance(block, TextBlock | OpaqueBlock)
        ]
        return "\n".join([text for text in said if text is not None])

    @property
    def words(self) -> str:
        """The text without blocks added to it, or text written in the user's name."""
        said = [
            user_words(block) if isinstance(block, TextBlock) else block.said
            for block in self.blocks
            if isinstance(block, TextBlock | OpaqueBlock)
        ]
        return "\n".join(filter(None, said))

    @property
    def lasting(self) -> "Message":
        """The message without blocks that were true only at its moment."""
        kept = [one for one in self.blocks if beside_of(one).get("kind") not in PASSING]
        return self if len(kept) == len(self.blocks) else self.with_content(tuple(kept))

    @property
    def is_summary(self) -> bool:
        """True if this is a condensation's summary, in force or undone."""
        return self.tags.condense_id is not None

    @property
    def is_marker(self) -> bool:
        """True if this is a truncation's or a clearing's marker, in force or undone."""
        return self.tags.truncation_id is not None or self.tags.clear_id is not None

    @property
    def order(self) -> tuple[int, int]:
        """Sort key of the reading order: (position, seq)."""
        return (self.seq if self.position is None else self.position, self.seq)

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls the model made in this message."""
        return tuple([block for block in self.blocks if isinstance(block, ToolUseBlock)])

    @property
    def tool_results(self) -> tuple[ToolResultBlock, ...]:
        """The tool results this message carries."""
        return tuple([block for block in self.blocks if isinstance(block, ToolResultBlock)])

    @property
    def taken_back(self) -> bool:
        """True if this was undone or rewound."""
        return self.tags.undone or self.tags.rewind_parent is not None

    @property
    def in_force(self) -> bool:
        """True if this is a summary or marker that was not taken back."""
        return (self.is_summary or self.is_marker) and not self.taken_back

    def with_tags(self, **changes: Any) -> Self:
        """Return a copy with some tags set or cleared."""
        return replace(self, tags=replace(self.tags, **changes))

    def with_content(self, content: Content) -> Self:
        """Return a copy with other content, and no token count."""
        # Said in full: dataclasses.replace takes twice as long, and a history has many messages.
        return type(self)(self.role, content, self.id, self.seq, self.position, self.tags)


def retagged(
    messages: Iterable[Message], chosen: Callable[[Message], bool], **changes: Any
) -> tuple[Message, ...]:
    """Return the messages, those that are ``chosen`` with some tags set or cleared."""
    return tuple([one.with_tags(**changes) if chosen(one) else one for one in messages])


def flat_blocks(content: Content | None) -> Iterator[Block]:
    """Yield the blocks of a content; in place of a tool's result those inside it."""
    for block in content if isinstance(content, tuple) else ():
        if isinstance(block, ToolResultBlock):
            yield from flat_blocks(block.content)
        else:
            yield block


def change_blocks(
    messages: Iterable[Message], change: Callable[[Block], Block], *, nested: bool = True
) -> tuple[Message, ...]:
    """Return the messages with each block changed, ``nested`` those in tool results too.

    A message of which nothing changes is the same object.
    """

    def changed(content: Content) -> Content:
        blocks: list[Block] = []
        for block in content if isinstance(content, tuple) else ():
            if nested and isinstance(block, ToolResultBlock) and block.content:
                inner = changed(block.content)
                blocks.append(block if inner is block.content else replace(block, content=inner))
            else:
                blocks.append(change(block))
        return tuple(blocks) if any(map(is_not, blocks, content)) else content

    pairs = [(one, changed(one.content)) for one in messages]
    return tuple([one if said is one.content else one.with_content(said) for one, said in pairs])
