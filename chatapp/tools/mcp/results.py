"""Results of a server's tools, made fit for a model."""

import base64
import binascii
import json
from pathlib import Path

import mcp_types as types

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.tool_port import ToolOutcome
from chatapp.tools.documents import image_of
from chatapp.tools.long_outputs import HEAD, TAIL, cut_in_the_middle, plain
from chatapp.tools.mcp.servers import Server
from chatapp.tools.shell import make_room
from chatapp.tools.workspace import show_size

# Images of one result.
MAX_IMAGES = 8

_Part = str | condense.ImageBlock


def outcome_of(result: types.CallToolResult, server: Server, outputs: Path) -> ToolOutcome:
    """Return a result as the model gets it; a long text is kept in ``outputs``, to be read on."""
    parts = [_part(block) for block in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    images = [part for part in parts if not isinstance(part, str)]
    structured = result.structured_content
    # Most servers send it as a text as well, for clients that know nothing else.
    if structured is not None and not any(_says(text, structured) for text in texts):
        texts.append(json.dumps(structured, ensure_ascii=False))
    if len(images) > MAX_IMAGES:
        texts.append(f"[Only the first {MAX_IMAGES} of {len(images)} images.]")
    data = server.hide("\n".join(texts)).encode(errors="replace")
    text = plain(data) or "[No output.]"
    if len(data) > HEAD + TAIL:
        output = make_room(outputs)
        output.write_bytes(data)
        text = cut_in_the_middle(output)
    return ToolOutcome(text, result.is_error, tuple(images[:MAX_IMAGES]))


def _says(text: str, structured: object) -> bool:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = text
    return structured in (said, {"result": said}, {"result": text})


def _part(block: types.ContentBlock) -> _Part:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent():
            return _image(block.data, block.mime_type)
        case types.AudioContent():
            return f"[Sound, {block.mime_type}: it can't be heard here.]"
        case types.EmbeddedResource():
            found = block.resource
            if isinstance(found, types.TextResourceContents):
                return f"[{found.uri}]\n{found.text}"
            return _image(found.blob, found.mime_type or "", f"{found.uri}, ")
        case types.ResourceLink():
            return f"[{block.name}: {block.uri}] {block.description or ''}".rstrip()


def _image(encoded: str, kind: str, name: str = "") -> _Part:
    """Return an image as a block, and for anything else what it is."""
    try:
        data = base64.b64decode(encoded, validate=True)
        image = image_of(data)
    except binascii.Error:
        return f"[{name}{kind}: it is damaged.]"
    except ToolError as error:
        return f"[{name}{error}]"
    return image or f"[{name}{kind or 'data'}, {show_size(len(data))}: it can't be shown.]"
