"""What the Messages API refuses, as a pure function from a request's body to sentences.

``violations`` keeps to the API's own words where they are known. It also refuses what the API would
silently mend, and this project promises never to send.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.standin.shapes import RULES, THINKING, Block, Body, check_max_tokens, check_messages

USER_ONLY = {"image", "document", "search_result", "tool_result"}
NO_LATE_SYSTEM = {"claude-haiku-4-5", "claude-sonnet-5"}
ASSISTANT_ONLY = {"tool_use", "thinking", "redacted_thinking", "server_tool_use"}


def violations(body: Body, *, counting: bool = False) -> list[str]:
    """Return why the API would refuse the request; empty when it would take it.

    ``counting`` judges a request to count tokens, which takes no ``max_tokens``.
    """
    rules: list[Callable[[Body], Iterator[str]]] = [*RULES, check_messages]
    rules += [] if counting else [check_max_tokens]
    if body.get("messages") and not [*check_messages(body)]:
        rules += [_roles, _late_system, _contents, _pairs, _declared, _last, _alternation]
    return [sentence for rule in rules for sentence in rule(body)]


def blocks_of(message: Mapping[str, Any]) -> list[Block]:
    """Return a message's content as blocks; text counts as one text block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _roles(body: Body) -> Iterator[str]:
    first = body["messages"][0]
    opens = [block["type"] for block in blocks_of(first)][:1]
    if first["role"] != "user" and opens != ["compaction"]:
        yield 'messages: first message must use the "user" role'
    for index, message in enumerate(body["messages"]):
        wrong = USER_ONLY if message["role"] == "assistant" else ASSISTANT_ONLY
        for position, block in enumerate(blocks_of(message)):
            if block["type"] in wrong:
                role = "assistant" if message["role"] == "user" else "user"
                yield (
                    f"messages.{index}.content.{position}: "
                    f"`{block['type']}` blocks can only be in `{role}` messages"
                )
            if message["role"] == "user" and block["type"] == "text" and block.get("citations"):
                yield f"messages.{index}.content.{position}.text.citations: not in `user` messages"


def _late_system(body: Body) -> Iterator[str]:
    """A system message stands behind one of the user's and before none, and has texts only."""
    roles = [message["role"] for message in body["messages"]]
    for index, message in enumerate(body["messages"]):
        if message["role"] != "system":
            continue
        if body.get("model") in NO_LATE_SYSTEM:
            yield f"messages.{index}: role 'system' is not supported on this model"
        if index == 0:
            yield "messages.0: use the top-level 'system' parameter for the initial system prompt"
        elif roles[index - 1] != "user" or roles[index + 1 : index + 2] not in ([], ["assistant"]):
            yield f"messages.{index}: a `system` message must directly follow a `user` message"
        if any(block["type"] != "text" for block in blocks_of(message)):
            yield f"messages.{index}: `system` messages can only hold text"


def _alternation(body: Body) -> Iterator[str]:
    roles = [message["role"] for message in body["messages"] if message["role"] != "system"]
    for index, (role, following) in enumerate(pairwise(roles), start=1):
        if role == following:
            yield f"messages.{index}: roles must alternate, found `{role}` twice in a row"


def _contents(body: Body) -> Iterator[str]:
    messages = body["messages"]
    for index, message in enumerate(messages):
        is_final_reply = index == len(messages) - 1 and message["role"] == "assistant"
        if not message["content"] and not is_final_reply:
            yield f"messages.{index}: all messages must have non-empty content"
            continue
        for block in blocks_of(message) if message["content"] else ():
            if block["type"] == "text" and not block["text"].strip():
                what = "contain non-whitespace text" if block["text"] else "be non-empty"
                yield f"messages.{index}: text content blocks must {what}"


def _pairs(body: Body) -> Iterator[str]:
    """Every call is answered once, in the next message; every result has its call before it."""
    open_ids: list[str] = []
    seen: Counter[str] = Counter()
    for index, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        yield from _answers(index, open_ids, results)
        yield from _results_first(index, blocks)
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        seen.update(open_ids)
    if open_ids:
        yield from _answers(len(body["messages"]), open_ids, [])
    if any(times > 1 for times in seen.values()):
        yield "messages: `tool_use` ids must be unique"


def _answers(index: int, calls: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    unanswered = [id_ for id_ in calls if id_ not in results]
    if unanswered:
        yield (
            f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(unanswered)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )
    for id_, times in Counter(results).items():
        if id_ not in calls:
            yield (
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            )
        elif times > 1:
            yield (
                "each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {id_}"
            )


def _results_first(index: int, blocks: Sequence[Block]) -> Iterator[str]:
    is_result = [block["type"] == "tool_result" for block in blocks]
    if is_result != sorted(is_result, reverse=True):
        yield f"messages.{index}: `tool_result` blocks must come first in the message"


def _declared(body: Body) -> Iterator[str]:
    kinds = {block["type"] for message in body["messages"] for block in blocks_of(message)}
    if kinds & {"tool_use", "tool_result"} and not body.get("tools"):
        yield "Requests with `tool_use` or `tool_result` blocks in `messages` must define tools"


def _last(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        blocks = blocks_of(message) if message["content"] else []
        if message["role"] == "assistant" and blocks and blocks[-1]["type"] in THINKING:
            yield (
                f"messages.{index}: The final block in an assistant message "
                f"cannot be `{blocks[-1]['type']}`."
            )
    last = body["messages"][-1]
    end = blocks_of(last)[-1] if last["role"] == "assistant" and last["content"] else {}
    if end.get("type") == "text" and end["text"] != end["text"].rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"
