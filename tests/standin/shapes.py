"""The shape of a request to the Messages API: its keys, blocks, tools and cache marks."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Required, get_args, get_origin, get_type_hints

Body = Mapping[str, Any]
Block = Mapping[str, Any]

MOST_MARKS = 4
TOP_LEVEL = {
    *("cache_control", "compaction", "container", "context_management", "diagnostics"),
    *("inference_geo", "max_tokens", "mcp_servers", "messages", "metadata", "model"),
    *("output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "thinking"),
    *("tool_choice", "tools"),
}
ONLY_IN_RESULT = {"tool_reference", "browser_state"}
THINKING = ("thinking", "redacted_thinking")
IN_RESULT = {"text", "image", "document", "search_result", *ONLY_IN_RESULT}

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


@cache
def blocks() -> Mapping[str, tuple[set[str], set[str]]]:
    """Return the fields of each kind of block that the SDK declares, and those that it requires."""
    # The SDK takes seconds to import, which tests without a provider are spared.
    from anthropic.types import ContentBlockParam  # noqa: PLC0415
    from anthropic.types.beta import BetaCompactionBlockParam  # noqa: PLC0415
    from anthropic.types.tool_result_block_param import Content  # noqa: PLC0415

    found = {}
    for kind in {*get_args(ContentBlockParam), *get_args(Content), BetaCompactionBlockParam}:
        hints = get_type_hints(kind, include_extras=True)
        required = {key for key, hint in hints.items() if get_origin(hint) is Required}
        (name,) = get_args(get_type_hints(kind)["type"])
        found[name] = ({*hints}, required)
    return found


def _keys(body: Body) -> Iterator[str]:
    for key in body.keys() - TOP_LEVEL:
        yield f"{key}: Extra inputs are not permitted"


def _model(body: Body) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: Field required"


def check_max_tokens(body: Body) -> Iterator[str]:
    """Yield what is wrong with the limit of the reply."""
    limit = body.get("max_tokens")
    if limit is None:
        yield "max_tokens: Field required"
    elif not isinstance(limit, int) or isinstance(limit, bool):
        yield "max_tokens: Input should be a valid integer"
    elif limit < 1:
        yield "max_tokens: must be greater than or equal to 1"


def _system(body: Body) -> Iterator[str]:
    system = body.get("system", "")
    if isinstance(system, str):
        return
    if not isinstance(system, list) or any(block.get("type") != "text" for block in system):
        yield "system: Input should be a string or a list of text blocks"
        return
    if any(not str(block.get("text", "")).strip() for block in system):
        yield "system: text content blocks must be non-empty"


def _tools(body: Body) -> Iterator[str]:
    tools = body.get("tools", [])
    for index, tool in enumerate(tools):
        if not _TOOL_NAME.fullmatch(str(tool.get("name", ""))):
            yield f"tools.{index}.custom.name: String should match pattern '{_TOOL_NAME.pattern}'"
        schema = tool.get("input_schema")
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            yield f"tools.{index}.custom.input_schema.type: Field required"
    if len({tool.get("name") for tool in tools}) < len(tools):
        yield "tools: Tool names must be unique."


def check_messages(body: Body) -> Iterator[str]:
    """Yield what is wrong with single messages and blocks."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        yield "messages: Field required"
        return
    if not messages:
        yield "messages: at least one message is required"
    for index, message in enumerate(messages):
        yield from _shape(f"messages.{index}", message)


def _shape(where: str, message: Any) -> Iterator[str]:
    if not isinstance(message, Mapping):
        yield f"{where}: Input should be an object"
        return
    for key in message.keys() - {"role", "content"}:
        yield f"{where}.{key}: Extra inputs are not permitted"
    if message.get("role") not in {"user", "assistant", "system"}:
        yield f"{where}.role: Input should be 'user' or 'assistant'"
    content = message.get("content")
    if not isinstance(content, str | list):
        yield f"{where}.content: Input should be a valid string or list"
    elif isinstance(content, list):
        for index, block in enumerate(content):
            yield from _block(f"{where}.content.{index}", block)
            if isinstance(block, Mapping) and block.get("type") in [*ONLY_IN_RESULT]:
                yield f"{where}.content.{index}: Input tag does not match any of the expected tags"


def _block(where: str, block: Any) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str) or kind not in blocks():
        yield f"{where}: Input tag {kind!r} does not match any of the expected tags"
        return
    known, required = blocks()[kind]
    for key in block.keys() - {*known, "cache_control"}:
        yield f"{where}.{kind}.{key}: Extra inputs are not permitted"
    for key in required:
        if block.get(key) is None:
            yield f"{where}.{kind}.{key}: Field required"
    if kind == "tool_use":
        yield from _tool_use(f"{where}.tool_use", block)
    if kind == "tool_result":
        yield from _tool_result(f"{where}.tool_result", block)


def _tool_use(where: str, block: Block) -> Iterator[str]:
    if not _ID.fullmatch(str(block.get("id", ""))):
        yield f"{where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if not _TOOL_NAME.fullmatch(str(block.get("name", ""))):
        yield f"{where}.name: String should match pattern '{_TOOL_NAME.pattern}'"
    if not isinstance(block.get("input"), Mapping):
        yield f"{where}.input: Input should be a valid dictionary"


def _tool_result(where: str, block: Block) -> Iterator[str]:
    content = block.get("content")
    if not isinstance(content, str | list | None):
        yield f"{where}.content: Input should be a valid string or list"
    if block.get("is_error") and not content:
        yield f"{where}: content cannot be empty if `is_error` is true"
    for index, inner in enumerate(content if isinstance(content, list) else ()):
        inside = f"{where}.content.{index}"
        yield from _block(inside, inner)
        kind = inner.get("type") if isinstance(inner, Mapping) else None
        if kind in blocks() and kind not in IN_RESULT:
            yield f"{inside}: `{kind}` blocks cannot be in a `tool_result` block"
        if kind == "text" and not str(inner.get("text", "")).strip():
            yield "messages: text content blocks must be non-empty"


def _marks(body: Body) -> Iterator[str]:
    marks = [*_find_marks({key: body.get(key) for key in ("tools", "system", "messages")})]
    if len(marks) > MOST_MARKS:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
    for block in marks:
        control = block["cache_control"]
        if not isinstance(control, Mapping) or control.get("type") != "ephemeral":
            yield "cache_control.type: Input should be 'ephemeral'"
        if block.get("type") in THINKING:
            yield "cache_control cannot be set for thinking blocks"
        if block.get("type") == "text" and not block.get("text"):
            yield "cache_control cannot be set for empty text blocks"


def _find_marks(value: Any) -> Iterator[Block]:
    if isinstance(value, Mapping):
        if value.get("cache_control") is not None:
            yield value
        for key, inner in value.items():
            if key not in {"input", "input_schema", "cache_control"}:
                yield from _find_marks(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_marks(inner)


def _diagnostics(body: Body) -> Iterator[str]:
    asked = body.get("diagnostics")
    if asked is None:
        return
    if not isinstance(asked, Mapping):
        yield "diagnostics: Input should be an object"
        return
    for key in asked.keys() - {"previous_message_id"}:
        yield f"diagnostics.{key}: Extra inputs are not permitted"
    previous = asked.get("previous_message_id")
    if previous is not None and not (isinstance(previous, str) and previous.startswith("msg_")):
        yield "diagnostics.previous_message_id: Input should be the id of a message"


def _thinking(body: Body) -> Iterator[str]:
    thinking, limit = body.get("thinking") or {}, body.get("max_tokens", 0)
    keys = {
        "adaptive": {"type", "display", "block_binding"},
        "enabled": {"type", "display", "budget_tokens"},
        "disabled": {"type"},
    }.get(thinking.get("type", "disabled"), set())
    for key in thinking.keys() - keys:
        yield f"thinking.{key}: Extra inputs are not permitted"
    if (
        thinking.get("type") == "enabled"
        and limit
        and not 1_024 <= thinking["budget_tokens"] < limit
    ):
        yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    effort = (body.get("output_config") or {}).get("effort", "low")
    if effort not in {"low", "medium", "high", "xhigh", "max"}:
        yield f"output_config.effort: Input should be a known level, not {effort}"


RULES: tuple[Callable[[Body], Iterator[str]], ...] = (
    _keys,
    _model,
    _system,
    _tools,
    _marks,
    _diagnostics,
    _thinking,
)
