"""The command line: `manage.py` in a checkout, `palimpsest` from an installed wheel."""

import os
import sys
from importlib.util import find_spec

from chatapp.project.installation import PROGRAM, how_to_install

INTERRUPTED = 130

# Whoever installed the engine alone has none of the extra "app".
_NEEDED = ("channels", "daphne", "django")


def main() -> int:
    """Run the command that the arguments name; returns the exit code."""
    if not all(map(find_spec, _NEEDED)):
        print(f"{PROGRAM} needs the extra `app`: {how_to_install('app')}.", file=sys.stderr)
        return 1
    from chatapp.project.environment import BadEnvironment  # noqa: PLC0415 - imports Django
    from chatapp.project.terminal import CommandLine  # noqa: PLC0415 - the same

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
    try:
        CommandLine(sys.argv).execute()
    except BadEnvironment as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
