"""Spool: a file's items, kept in unnamed files on the disk until they are stored in pieces.

The system removes them with the process that has them open.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

from django.conf import settings

Item = dict[str, Any]

# Items that are stored in one transaction, and bytes of them unless one alone has more.
ITEMS = 500
BYTES = 1024 * 1024


class Spool(ExitStack):
    """Items by the section that they belong to, in the order in which they came.

    ``counts`` has their number by section.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts = Counter[str]()
        self._files: dict[str, IO[bytes]] = {}

    def add(self, section: str, item: Item) -> None:
        """Keep one more item."""
        if section not in self._files:
            unnamed = tempfile.TemporaryFile(dir=settings.DATA_DIR)  # noqa: SIM115 - the stack does
            self._files[section] = self.enter_context(unnamed)
        self._files[section].write(json.dumps(item).encode() + b"\n")
        self.counts[section] += 1

    def read(self, section: str) -> Iterator[Item]:
        """Yield the items of a section; one reader at a time."""
        for batch in self.batches(section):
            yield from batch

    def batches(self, section: str) -> Iterator[list[Item]]:
        """Yield the items of a section, as many at once as one transaction should store."""
        file = self._files.get(section)
        batch, size = list[Item](), 0
        if file:
            file.seek(0)
        for line in file or ():
            if batch and (len(batch) == ITEMS or size + len(line) > BYTES):
                yield batch
                batch, size = [], 0
            batch.append(json.loads(line))
            size += len(line)
        if batch:
            yield batch
