#!/usr/bin/env python
"""Palimpsest's command line: `python manage.py help` lists what it can do."""

import os
import sys

from django.core.management import execute_from_command_line

from chatapp.environment import BadEnvironment

INTERRUPTED = 130


def main() -> int:
    """Run the command that the arguments name; returns the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
    try:
        execute_from_command_line(sys.argv)
    except BadEnvironment as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
