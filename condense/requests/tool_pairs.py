"""Tool pairs: every call gets exactly one result in the next message, every result its call."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from condense.history.boundaries import pair_calls
from condense.messages import Block, Message, ToolResultBlock, ToolUseBlock
from condense.requests.tools_as_text import orphan_to_blocks, tool_to_text

# What is known of a call without a result, whatever ended the work on it.
INTERRUPTED = "Interrupted before this tool finished. Unknown: it may have run, in part or whole."

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


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
    """Return the messages with every tool call answered once, in the message right after it.

    Missing results say that the tool was interrupted; results of no call become text; a repeated
    result is dropped; ids the API would refuse (used twice, other characters) are replaced in
    pairs. Merge consecutive messages first: only the very next message counts.
    """
    return tuple(_Repair().run(messages))


class _Repair:
    """One pass over a request, remembering the ids in use and the calls still open."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.numbers: defaultdict[str, int] = defaultdict(lambda: 2)
        self.open: list[tuple[str, str]] = []
        self.caller = ""

    def run(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Yield the repaired messages."""
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
        """Return a message that answers all open calls, where the history has none."""
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
    """Return the message itself where the blocks are the ones it has."""
    if tuple(blocks) == message.blocks:
        return message
    return message.with_content(tuple(blocks))
