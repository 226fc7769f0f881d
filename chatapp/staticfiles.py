"""Scripts and styles as browsers get them: one stylesheet, and names that change with the content.

Where they were collected, a file's name carries a hash, so that a browser keeps it for good and
asks for it once. In development, and wherever files changed since, they are served as they lie.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, override

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage

SHEET = "css/site.css"
_IMPORT = re.compile(r'^@import url\("(?P<name>[\w.]+)"\)(?P<media> \w+)?;$', re.MULTILINE)

Paths = Mapping[str, tuple[Any, str]]


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # without types
    """Django's and WhiteNoise's storage, with modules that import each other by their new names."""

    support_js_module_import_aggregation = True
    # A chain of imports takes one pass each.
    max_post_process_passes = 30
    keep_intermediate_files = False

    @override
    def load_manifest(self) -> tuple[dict[str, str], str]:
        """Return the new names; none where they are those of other files."""
        return super().load_manifest() if is_collected() else ({}, "")

    @override
    def stored_name(self, name: str) -> str:
        """Return a file's new name, or the one it has where nothing was collected."""
        return super().stored_name(name) if self.hashed_files else name

    @override
    def post_process(self, paths: Paths, dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Give the files their new names, the stylesheet with all that it imports in it."""
        if dry_run:
            return
        self.delete(SHEET)
        self.save(SHEET, ContentFile(_bundle(paths)))
        yield from super().post_process({**paths, SHEET: (self, SHEET)}, **options)
        _stamp().write_text(_state(), encoding="ascii")


def _bundle(paths: Paths) -> str:
    """Return the stylesheet with each sheet that it imports in that one's place."""

    def read(path: str) -> str:
        storage, name = paths[path]
        with storage.open(name) as file:
            return str(file.read().decode())

    def put_in(found: re.Match[str]) -> str:
        sheet = read(f"css/{found['name']}")
        return f"@media{found['media']} {{\n{sheet}}}\n" if found["media"] else sheet

    return _IMPORT.sub(put_in, read(SHEET))


def collect() -> None:
    """Collect the files, which costs next to nothing where none has changed."""
    if not is_collected():
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)


def is_collected() -> bool:
    """Whether what was collected is what lies in the folders now."""
    stamp = _stamp()
    return stamp.is_file() and stamp.read_text(encoding="ascii") == _state()


def _stamp() -> Path:
    return Path(settings.STATIC_ROOT) / "collected"


def _state() -> str:
    """Return a hash of the names, sizes and times of all files."""
    state = hashlib.sha256(Path(__file__).read_bytes())
    for finder in finders.get_finders():
        for name, storage in sorted(finder.list([]), key=lambda found: found[0]):
            info = Path(storage.path(name)).stat()
            state.update(f"{name} {info.st_size} {info.st_mtime_ns}\n".encode())
    return state.hexdigest()
