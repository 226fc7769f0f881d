"""Tokens as Roo Code counts them, with a vocabulary or by characters alone."""

import math
from collections.abc import Callable, Iterable, Iterator

from condense.messages import (
    Block,
    Content,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from condense.tokens.counter import compact
from condense.tokens.images import UNKNOWN_IMAGE
from condense.tokens.tokenizer import EncodingName, count_text


class CharacterCounter:
    """A counter without dependencies: one token for every four characters begun."""

    def count(self, content: Content) -> int:
        """Return the characters of all texts divided by four, rounded up."""
        return math.ceil(_size(content, len, image=4 * UNKNOWN_IMAGE) / 4)


class TiktokenCounter:
    """Counts as Roo Code does, times ``factor`` for tokenizers that need more."""

    def __init__(self, factor: float = 1.5, encoding: EncodingName = "o200k_base") -> None:
        """Choose the safety factor and the encoding."""
        self.factor = factor
        self.encoding = encoding

    def count(self, content: Content) -> int:
        """Return the tokens of all blocks times the factor, rounded up once."""

        def length(text: str) -> int:
            return count_text(text, self.encoding)

        return math.ceil(_size(content, length, image=UNKNOWN_IMAGE) * self.factor)


def _size(content: Content, length: Callable[[str], int], *, image: int) -> int:
    if isinstance(content, str):
        return length(content)
    return sum(_block_size(block, length, image) for block in content)


def _block_size(block: Block, length: Callable[[str], int], image: int) -> int:
    match block:
        case ImageBlock(source):
            data = source.get("data")
            return math.ceil(math.sqrt(len(data))) if isinstance(data, str) else image
        case OpaqueBlock({"type": "image"}):
            return image
        case _:
            return length("\n".join(_lines(block)))


def _lines(block: Block) -> Iterable[str]:
    """Return what is counted of a block: nothing for reasoning and documents."""
    match block:
        case TextBlock(text):
            return [text]
        case ToolUseBlock(_, name, input_):
            return [f"Tool: {name}", f"Arguments: {compact(input_)}"]
        case ToolResultBlock():
            return _result_lines(block)
        case OpaqueBlock({"type": "tool_use", "name": name}):
            return [f"Tool: {name}"]
        case OpaqueBlock({"type": "tool_result", "tool_use_id": id_}):
            return [f"Tool Result ({id_})"]
        case _:
            return []


def _result_lines(block: ToolResultBlock) -> Iterator[str]:
    yield f"Tool Result ({block.tool_use_id})"
    if block.is_error:
        yield "[Error]"
    if isinstance(block.content, str):
        yield block.content
        return
    for item in block.content or ():
        match item:
            case TextBlock(text):
                yield text
            case ImageBlock():
                yield "[Image content]"
            case _:
                yield f"[Unsupported content block: {item.to_api().get('type')}]"
