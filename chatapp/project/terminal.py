"""The terminal: commands speak the language of the environment there, and nowhere else."""

import argparse
import os
import re
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, override

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand
from django.utils import translation

from chatapp.project.environment import read_text

if TYPE_CHECKING:
    from chatapp.project.languages import Reader


def language() -> str:
    """Return the first language that the environment asks for and that is spoken here."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        locale = re.split(r"[.@]", read_text(name, ""))[0]
        if locale in {"C", "POSIX"}:
            # Scripts that read a command's output ask for these.
            break
        with suppress(LookupError):
            return translation.get_supported_language_variant(translation.to_language(locale))
    return "en"


def speaking() -> AbstractContextManager[None]:
    """Use that language for sentences and numbers until the end of the block."""
    return _reader().reading()


def _reader() -> "Reader":
    # Wrong settings are reported in English, and then this can't be imported.
    from chatapp.project.languages import Reader  # noqa: PLC0415 - only with settings

    return Reader.of(language(), "")


def _keep_temporary_files(folder: Path) -> None:
    """Have them in this folder unless TMPDIR names another: /tmp may be small, or missing."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    os.environ.setdefault("TMPDIR", str(folder))


class CommandLine(ManagementUtility):
    """Django's command line, in the language of the environment."""

    @override
    def execute(self) -> None:
        """Run the command; SQLite looks for a place of its own as soon as it is loaded."""
        # Wrong settings are reported later.
        with suppress(ImproperlyConfigured):
            _keep_temporary_files(Path(settings.DATA_DIR, "tmp"))
        super().execute()

    @override
    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command; from now on all is said in that language."""
        command = super().fetch_command(subcommand)
        if apps.ready:
            _reader().enter()
            # argparse's own words are in our catalogues, with all borrowed sentences.
            vars(argparse).update(_=translation.gettext, ngettext=translation.ngettext)
            command.help = translation.gettext(command.help)
        return command
