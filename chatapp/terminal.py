"""The terminal: commands speak the language of the environment there, and nowhere else."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import override

from django.apps import apps
from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand
from django.utils import translation

from chatapp.environment import read_text
from chatapp.number_formats import first_known, reader_locale


def language() -> str:
    """Return the first language that the environment asks for and that is spoken here."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        locale = re.split(r"[.@]", read_text(name, ""))[0]
        if locale in {"C", "POSIX"}:
            # Whoever reads what a command says by a script asks for these.
            break
        with suppress(LookupError):
            return translation.get_supported_language_variant(translation.to_language(locale))
    return "en"


@contextmanager
def speaking() -> Iterator[None]:
    """Have sentences and numbers be in that language meanwhile."""
    before = reader_locale.set(first_known([language()]))
    try:
        with translation.override(language()):
            yield
    finally:
        reader_locale.reset(before)


class CommandLine(ManagementUtility):
    """Django's command line, in the language of the environment."""

    @override
    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command; from now on all is said in that language."""
        command = super().fetch_command(subcommand)
        # Where settings are wrong, that is said in English.
        if apps.ready:
            translation.activate(language())
            reader_locale.set(first_known([language()]))
            command.help = translation.gettext(command.help)
        return command
