"""The command line: `manage.py` in a checkout, `palimpsest` from an installed wheel."""

import errno
import io
import os
import sys
from importlib.util import find_spec

from chatapp.project.installation import PROGRAM, how_to_install

EXIT_INTERRUPTED = 130

# A disk without room, and a user's share of one that is used up.
FULL = (errno.ENOSPC, errno.EDQUOT)

# An installation of the engine alone has none of the extra "app".
_NEEDED = ("channels", "daphne", "django")


def main() -> int:
    """Run the command that the arguments name; returns the exit code."""
    _speak_utf8()
    try:
        return _run()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _speak_utf8() -> None:
    """Begin anew with UTF-8 in a locale of another encoding: names of files may need it.

    Characters that a terminal lacks are escaped.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.environ["PYTHONUTF8"] = "1"
        os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the same program
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _run() -> int:
    if not all(map(find_spec, _NEEDED)):
        print(f"{PROGRAM} needs the extra `app`: {how_to_install('app')}.", file=sys.stderr)
        return 1
    from django.conf import settings  # noqa: PLC0415 - after it was looked for
    from django.db import DatabaseError  # noqa: PLC0415 - the same

    from chatapp.project.environment import BadEnvironment  # noqa: PLC0415 - imports Django
    from chatapp.project.sentences import translate as _  # noqa: PLC0415 - the same
    from chatapp.project.terminal import CommandLine  # noqa: PLC0415 - the same

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
    try:
        CommandLine(sys.argv).execute()
    except BadEnvironment as error:
        print(error, file=sys.stderr)
        return 1
    except DatabaseError as error:
        name, reason = settings.DATABASES["default"]["NAME"], str(error).strip().rstrip(".")
        said = _("The database {name} cannot be used: {error}.", name=name, error=reason)
        print(said, file=sys.stderr)
        return 1
    except OSError as error:
        # A file of another user, or a full disk. For other errors the traceback says more.
        if error.filename is None and error.errno not in FULL:
            raise
        place = error.filename or "The disk"
        print(f"{place} cannot be used: {error.strerror}.", file=sys.stderr)
        return 1
    return 0
