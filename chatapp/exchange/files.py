"""Files as they are read: packed or not, and never more of them than can be held."""

import gzip
import hashlib
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from chatapp.exchange.pieces import Unusable

# Bytes, unpacked, of a file that is read as a whole, and of a line.
LARGEST = 256 * 1024 * 1024
LONGEST_LINE = 64 * 1024 * 1024

_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, gzipped or not; raise OSError where that can't be."""
    with path.open("rb") as raw:
        begins = raw.read(len(BOM_UTF8))
        packed = begins.startswith(_GZIP_MAGIC)
        # Editors put a mark before the text that no JSON begins with.
        raw.seek(len(BOM_UTF8) if begins == BOM_UTF8 else 0)
        with gzip.open(raw) if packed else raw as file:
            yield cast(BinaryIO, file)


def digest_of(path: Path) -> str:
    """Return a file's SHA-256; of a folder that of the lines that sha256sum says of its files."""
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file())
        lines = (f"{digest_of(one)}  {one.name}\n" for one in files)
        return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_whole(path: Path) -> bytes:
    """Return what a file holds; raise Unusable where it is damaged or too large."""
    try:
        with opened(path) as file:
            data = file.read(LARGEST + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise Unusable("The compressed file is damaged or cut off.") from error
    if len(data) > LARGEST:
        raise Unusable(f"The file is larger than {LARGEST >> 20} MB.")
    return data
