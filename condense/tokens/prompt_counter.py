"""Prompt counter: tokens as a prompt takes them, counted with OpenAI's vocabulary."""

from collections.abc import Iterable, Sequence

from condense.messages import (
    Block,
    Content,
    ImageBlock,
    Json,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from condense.tokens.counter import TokenCounter, compact
from condense.tokens.images import count_image, count_pdf
from condense.tokens.tokenizer import EncodingName, count_text

# Tokens that mark a block's kind, beginning and end in the prompt. Vendors do not publish theirs:
# these are of the size that short requests show, and calibration does the rest.
FRAME, TOOL_FRAME = 4, 16
# Parts of a block that the model does not read.
_UNREAD = {"type", "cache_control", "signature", "encrypted_content"}


class PromptCounter:
    """Counts what a content takes in a prompt, with OpenAI's vocabulary.

    A vendor with another tokenizer measures more or less, in a proportion that
    :class:`condense.Calibration` learns. The vocabulary is loaded at the first count, once per
    process, and never downloaded.
    """

    def __init__(self, encoding: EncodingName = "o200k_base") -> None:
        """Choose the encoding."""
        self.encoding = encoding

    def count(self, content: Content) -> int:
        """Return the tokens of a text, or of all blocks with their frames."""
        return self._length(content) if isinstance(content, str) else self._blocks(content)

    def _length(self, text: str) -> int:
        return count_text(text, self.encoding)

    def _blocks(self, blocks: Iterable[Block]) -> int:
        return sum(map(self._block, blocks))

    def _block(self, block: Block) -> int:
        match block:
            case TextBlock(text):
                return FRAME + self._length(text)
            case ToolUseBlock(_, name, input_):
                return TOOL_FRAME + self._length(f"{name} {compact(input_)}")
            case ToolResultBlock(_, content):
                return TOOL_FRAME + self.count(content or "")
            case ImageBlock(source):
                return FRAME + count_image(source)
            case OpaqueBlock(data):
                return FRAME + self._opaque(data)

    def _opaque(self, data: Json) -> int:
        """Count reasoning and documents by what they say, anything else by its JSON."""
        match data:
            case {"type": "thinking", "thinking": str(text)}:
                return self._length(text)
            case {"type": "document", "source": {"type": "base64"} as source}:
                return count_pdf(source)
            case {"type": "document", "source": {"type": "text", "data": str(text)}}:
                return self._length(text)
        read = {key: value for key, value in data.items() if key not in _UNREAD}
        return self._length(compact(read))


def count_tools(tools: Sequence[Json], counter: TokenCounter) -> int:
    """Return the tokens of tool definitions: each one's JSON and its frame."""
    return sum(TOOL_FRAME + counter.count(compact(tool)) for tool in tools)


def count_media(messages: Iterable[Message]) -> int:
    """Return the tokens of images and PDFs, by the vendor's rules: no tokenizer changes them."""
    return sum(_media(block) for message in messages for block in message.blocks)


def _media(block: Block) -> int:
    match block:
        case ImageBlock(source):
            return count_image(source)
        case OpaqueBlock({"type": "document", "source": {"type": "base64"} as source}):
            return count_pdf(source)
        case ToolResultBlock(_, tuple(inner)):
            return sum(map(_media, inner))
        case _:
            return 0
