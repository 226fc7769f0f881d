"""Shaping: an effective history becomes a request that the Messages API accepts."""

import json
import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from condense.history.boundaries import pair_calls
from condense.history.signed_blocks import THINKING, has_origin, is_thinking, without_thinking
from condense.messages import (
    Block,
    Content,
    ImageBlock,
    Message,
    OpaqueBlock,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    change_blocks,
    content_to_api,
    flat_blocks,
)
from condense.requests.tools_as_text import orphan_to_blocks, tool_to_text

# The Messages API takes 32 MB; the rest is for system prompt, tools and a proxy's additions.
MAX_REQUEST_BYTES = 30_000_000
MEDIA_LEFT_OUT = "[{kind} left out here: with it, the request would be too large]"
OPENING = "[The conversation continues from here.]"
IMAGE_TEXT = "[Referenced image in conversation]"
EMPTY_ERROR = "The tool failed without a message."
USER_ONLY: tuple[Role, ...] = ("user",)
# The result of a call without one, after any interruption.
INTERRUPTED = "Interrupted before this tool finished. Unknown: it may have run, in part or whole."
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


def shape_request(
    messages: Sequence[Message], *, supports_images: bool = True, max_bytes: int = MAX_REQUEST_BYTES
) -> tuple[Message, ...]:
    """Return an effective history as messages that the Messages API accepts.

    The first is the user's, roles alternate, tool calls and results pair up, nothing is empty.
    Above ``max_bytes`` the oldest images and documents are left out. Only an empty history gives
    no messages.
    """
    sent = messages if supports_images else replace_images(messages, nested=True)
    cleaned = [clean(message) for message in lighten(sent, max_bytes)]
    cleaned = [message for message in cleaned if message.content != ()]
    merged = merge_consecutive(cleaned, ("user", "assistant"), markers=True)
    if messages and (not merged or merged[0].role == "assistant"):
        merged = (Message(role="user", content=OPENING, id="opening"), *merged)
    if [True for one in merged for block in one.blocks if not isinstance(block, TextBlock)]:
        merged = repair_tool_pairs(merged)
    if not merged or merged[-1].role == "user":
        return merged
    # A reply that comes last may not end in white space.
    *others, end = merged[-1].blocks
    if not isinstance(end, TextBlock) or end.text == end.text.rstrip():
        return merged
    content = (*others, replace(end, text=end.text.rstrip()))
    return (*merged[:-1], merged[-1].with_content(content))


def merge_consecutive(
    messages: Sequence[Message], roles: Collection[Role] = USER_ONLY, *, markers: bool = False
) -> tuple[Message, ...]:
    """Return the messages with runs of one of ``roles`` joined into the first of each run.

    A summary starts a run of its own and a truncation marker stands alone, unless ``markers``
    says that they are merged too.
    """
    runs: list[list[Message]] = []
    for message in messages:
        before = runs[-1][-1] if runs else None
        joins = before is not None and message.role in roles and before.role == message.role
        if joins and not markers and before is not None:
            joins = not (message.is_summary or message.is_marker or before.is_marker)
        if joins:
            runs[-1].append(message)
        else:
            runs.append([message])
    return tuple([run[0] if len(run) == 1 else _merged(run) for run in runs])


def _merged(run: list[Message]) -> Message:
    known = [message.tokens for message in run if message.tokens is not None]
    content = tuple([block for message in run for block in message.blocks])
    tokens = sum(known) if len(known) == len(run) else None
    return replace(run[0], content=content, tokens=tokens)


def lighten(messages: Sequence[Message], max_bytes: int = MAX_REQUEST_BYTES) -> tuple[Message, ...]:
    """Return the messages with text for as many of the oldest images and documents as must go."""
    # Text alone never fills half of it.
    if sum([_weight(message.content) for message in messages]) <= max_bytes / 2:
        return tuple(messages)
    contents = [content_to_api(message.content) for message in messages]
    texts = [json.dumps(content, ensure_ascii=False, default=repr) for content in contents]
    excess = sum([len(text.encode(errors="surrogatepass")) for text in texts]) - max_bytes

    def lighter(block: Block) -> Block:
        nonlocal excess
        weight = _weight((block,)) if excess > 0 else 0
        if not weight:
            return block
        text = MEDIA_LEFT_OUT.format(kind=str(block.to_api()["type"]).capitalize())
        excess -= weight - len(text)
        return TextBlock(text)

    return change_blocks(messages, lighter)


def _weight(content: Content) -> int:
    """Return the bytes of a content's images and documents."""
    weight = 0
    for block in flat_blocks(content):
        match block:
            case ImageBlock({"data": str(data)}) | OpaqueBlock({"source": {"data": str(data)}}):
                weight += len(data)
    return weight


def replace_images(
    messages: Sequence[Message], *, nested: bool = False, text: str = IMAGE_TEXT
) -> tuple[Message, ...]:
    """Return the messages with ``text`` for each image; ``nested`` includes tool results."""

    def shown(block: Block) -> Block:
        match block:
            case ImageBlock() | OpaqueBlock({"type": "image"}):
                return TextBlock(text)
        return block

    return change_blocks(messages, shown, nested=nested)


def clean(message: Message) -> Message:
    """Return the message without blank text, and with blocks as its role may carry them.

    Standalone reasoning items and malformed text go, and thinking that is unsigned or unbound and
    without an origin; a message without any block left has the content ``()``.
    """
    if message.tags.unbound:
        message = without_thinking(message, but=has_origin)
    if isinstance(message.content, str):
        return message if message.content.strip() else message.with_content(())
    for block in message.content:
        # Most blocks need no further look: plain text, or a proper call.
        if not (
            (isinstance(block, TextBlock) and block.text and not block.text.isspace())
            or (isinstance(block, ToolUseBlock) and isinstance(block.input, dict))
        ):
            break
    else:
        return message
    blocks = tuple(_usable(message.content, message.role))
    if message.role == "assistant":
        while blocks and is_thinking(blocks[-1]):
            blocks = blocks[:-1]
    return message if blocks == message.content else message.with_content(blocks)


def _usable(blocks: Sequence[Block], role: Role) -> Iterator[Block]:
    for block in blocks:
        match block:
            case TextBlock(text):
                if text.strip():
                    yield block
            case ImageBlock() if role == "assistant":
                yield TextBlock(IMAGE_TEXT)
            case ToolUseBlock(input=given) if not isinstance(given, Mapping):
                yield replace(block, input={} if given is None else {"input": given})
            case ToolResultBlock():
                yield _clean_result(block)
            case OpaqueBlock(data):
                yield from _opaque(data, role)
            case _:
                yield block


def _clean_result(block: ToolResultBlock) -> ToolResultBlock:
    content = block.content
    if isinstance(content, tuple):
        kinds = [(one, one.to_api()["type"]) for one in _usable(content, "user")]
        nested = {"tool_use", "tool_result"}
        texts = [TextBlock(f"[{kind}]") if kind in nested else one for one, kind in kinds]
        content = tuple(texts) or None
    if block.is_error and not (content.strip() if isinstance(content, str) else content):
        content = EMPTY_ERROR
    return block if content == block.content else replace(block, content=content)


def _opaque(data: Mapping[str, object], role: Role) -> Iterator[Block]:
    kind = data.get("type")
    signed = kind != "thinking" or data.get("signature") or has_origin(OpaqueBlock(data))
    if kind in THINKING and (role != "assistant" or not signed):
        return
    if kind == "image":
        yield TextBlock(IMAGE_TEXT)
    elif isinstance(kind, str) and kind not in {"text", "reasoning"}:
        yield OpaqueBlock(data)


def inject_synthetic_results(messages: Sequence[Message], reason: str) -> Sequence[Message]:
    """Return the messages and one more that gives the ``reason`` for each call without a result.

    The same object when nothing is missing.
    """
    calls = dict.fromkeys([call.id for _, call in pair_calls(messages).unanswered])
    if not calls:
        return messages
    results = tuple([ToolResultBlock(id_, reason) for id_ in calls])
    return (*messages, Message(role="user", content=results))


def repair_tool_pairs(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with every tool call answered once, in the message right after it."""
    return tuple(_Repair().run(messages))


class _Repair:
    """One pass over a request, remembering the ids in use and the calls still open.

    Missing results say that the tool was interrupted; results of no call become text; a repeated
    result is dropped; ids the API would refuse (used twice, other characters) are replaced in
    pairs. Merge consecutive messages first: only the very next message counts.
    """

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.numbers: defaultdict[str, int] = defaultdict(lambda: 2)
        self.open: list[tuple[str, str]] = []
        self.caller = ""

    def run(self, messages: Sequence[Message]) -> Iterator[Message]:
        for message in messages:
            if message.role == "user":
                yield self.answered(message)
                continue
            if self.open:
                yield self.answer()
            # Its calls are open from here on.
            self.caller = message.id
            blocks: list[Block] = []
            for block in message.blocks:
                if isinstance(block, ToolUseBlock):
                    id_ = self.unused(block.id)
                    self.open.append((block.id, id_))
                    blocks.append(block if id_ == block.id else replace(block, id=id_))
                else:
                    blocks.append(tool_to_text(block))
            yield _with_blocks(message, blocks)
        if self.open:
            yield self.answer()

    def unused(self, id_: str) -> str:
        """Return an id the API accepts and that no earlier call has."""
        base = candidate = _NOT_IN_IDS.sub("_", id_) or "call"
        while candidate in self.used:
            candidate = f"{base}_{self.numbers[base]}"
            self.numbers[base] += 1
        self.used.add(candidate)
        return candidate

    def answer(self) -> Message:
        """Return a message that answers all open calls, for a history that has none."""
        message = Message(role="user", content=(), id=f"{self.caller}-results")
        return self.answered(message)

    def answered(self, message: Message) -> Message:
        """Return a user message with the results of all open calls first, then the rest."""
        waiting: dict[str, deque[int]] = {}
        for index, (id_, _) in enumerate(self.open):
            waiting.setdefault(id_, deque()).append(index)
        results: list[Block] = [
            ToolResultBlock(id_, INTERRUPTED, is_error=True) for _, id_ in self.open
        ]
        rest: list[Block] = []
        seen: dict[str, ToolResultBlock] = {}
        for block in message.blocks:
            if isinstance(block, ToolResultBlock) and waiting.get(block.tool_use_id):
                index = waiting[block.tool_use_id].popleft()
                id_ = self.open[index][1]
                is_same = block.tool_use_id == id_
                results[index] = block if is_same else replace(block, tool_use_id=id_)
                seen[block.tool_use_id] = block
            elif not isinstance(block, ToolResultBlock):
                rest.append(tool_to_text(block))
            elif seen.get(block.tool_use_id) != block:
                rest.extend(orphan_to_blocks(block))
        self.open = []
        return _with_blocks(message, results + rest)


def _with_blocks(message: Message, blocks: list[Block]) -> Message:
    """Return a message with these blocks, itself if it has the same ones."""
    if tuple(blocks) == message.blocks:
        return message
    return message.with_content(tuple(blocks))
