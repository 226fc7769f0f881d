"""Archives: the files of an export, packed or not, read in place and within limits."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import override

from django.conf import settings

from chatapp.conversations.composer import attachments
from chatapp.models import errors
from chatapp.records.transfer import Unusable
from chatapp.records.transfer.transcript_files import DAMAGED, Document, opened
from chatapp.records.transfer.transcripts import Block
from condense import noop, say

# Files of an archive, and bytes of the list of them.
MOST_ENTRIES = 20_000
MOST_LISTED = 4 * 1024 * 1024
# Unpacked bytes of everything in an archive, and of all files that messages name.
MOST_UNPACKED = 4 * 1024**3
MOST_ATTACHED = 1024**3
# The size of a larger file as a multiple of its packed one; text shrinks to a tenth at best.
MOST_RATIO = 200
SMALL = 1024 * 1024

# Endings of files that may hold conversations.
_ENDINGS = (".json", ".json.gz", ".jsonl", ".ndjson")
# Encrypted, in one way or another, or a part of a larger file.
_UNREADABLE = 0x61
# The key by which messages name a file; its own name begins with it.
_KEY = re.compile(r"file[-_][0-9A-Za-z]+")


class _ShortReads(io.FileIO):
    """A file with limited reads, since a ZIP's list of files is read at once."""

    @override
    def read(self, size: int | None = -1, /) -> bytes:
        whole = size is None or not 0 <= size <= MOST_LISTED
        return super().read(MOST_LISTED if whole else size) or b""


class Archive(ExitStack):
    """The files of an export: a ZIP, several files in a folder, or one.

    ``documents`` hold conversations; ``problems`` has the name of each file that is left out, and
    the reason. The files that messages name have ``most`` bytes at most. Raises Unusable if an
    archive can't be read.
    """

    def __init__(self, path: Path, most: int = MOST_ATTACHED) -> None:
        super().__init__()
        self.problems: list[tuple[str, str]] = []
        self._left = most
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        try:
            found = [one for file in files for one in self._files_of(file)]
        except Unusable:
            self.close()
            raise
        named = [(one.name.lower(), one) for one in found]
        named = [pair for pair in named if len(found) == 1 or pair[0].endswith(_ENDINGS)]
        named.sort(key=lambda pair: (not pair[0].startswith("conversation"), str(pair[1])))
        self.documents = [one for _name, one in named]
        self._files = {key: one for one in found for key in (one.name, key_of(one.name))}

    def _files_of(self, file: Path) -> Iterator[Document]:
        if not zipfile.is_zipfile(file):
            yield file
            return
        try:
            raw = self.enter_context(_ShortReads(file))
            packed = self.enter_context(zipfile.ZipFile(raw))
        except DAMAGED as error:
            raise Unusable(noop("The archive is damaged, or holds too many files.")) from error
        names = Counter(info.filename for info in packed.infolist())
        entries = [one for one in packed.infolist() if not one.is_dir()]
        if len(entries) > MOST_ENTRIES or sum(one.file_size for one in entries) > MOST_UNPACKED:
            raise Unusable(noop("The archive holds too much."))
        for info in entries:
            if reason := _wrong_entry(info, names):
                self.problems.append((info.filename, reason))
            elif not info.filename.startswith("__MACOSX/"):
                yield zipfile.Path(packed, info.filename)

    def block(self, name: str, *keys: str) -> Block:
        """Return the file that has one of these names or keys as a block; refused without one."""
        found = next((self._files[key] for key in keys if key in self._files), None)
        if found is None:
            raise errors.Refused(say("“{name}” is not in the export.", name=name))
        left, most = self._left, settings.LARGEST_ATTACHMENT * attachments.MEGABYTE
        try:
            with opened(found) as file:
                data = file.read(min(left, most) + 1)
        except DAMAGED as error:
            raise errors.Refused(say("“{name}” is damaged.", name=name)) from error
        self._left -= min(len(data), left)
        if len(data) > most:
            raise errors.Refused(say("“{name}” is too large.", name=name))
        if len(data) > left:
            raise errors.Refused(noop("The archive holds too much."))
        return attachments.block_for(name, data).to_api()


def key_of(name: str) -> str:
    """Return the key by which messages name a file, or the whole name if it has none."""
    found = _KEY.match(name.rpartition("/")[2])
    return found[0] if found else name


def _wrong_entry(info: zipfile.ZipInfo, names: Counter[str]) -> str:
    if names[info.filename] > 1:
        return noop("The archive has several files of this name.")
    if info.filename.startswith("/") or ".." in info.filename.split("/"):
        return noop("Its name leads out of the archive.")
    if info.flag_bits & _UNREADABLE:
        return noop("It is encrypted.")
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        return noop("It is packed in a way that is not known here.")
    if info.file_size > max(SMALL, MOST_RATIO * info.compress_size):
        return noop("It is suspiciously large when unpacked.")
    return ""
