#!/usr/bin/env python
"""Palimpsest's command line: `python manage.py help` lists what it can do."""

import sys

from chatapp.project.command_line import main

if __name__ == "__main__":
    sys.exit(main())
