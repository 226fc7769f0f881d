"""Servers that are born grown up: forks of one process that has imported what they need.

Each is a process of its own and dies as any other; only the second that Python takes to read the
project's code is spent once. It is asked in lines of JSON, {"command", "port"}, one life at a time.
"""

import gc
import json
import os
import sys
import traceback
from typing import Any, NoReturn

import django
from django.conf import settings
from django.core.management import call_command

BORN, DIED = "BORN", "DIED"


def main() -> None:
    """Let one life after the other begin, and say when it begins and that it has ended."""
    grow_up()
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if not pid:
            live(asked)
        print(BORN, pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(DIED, os.waitstatus_to_exitcode(status), flush=True)


def grow_up() -> None:
    """Import and load what every life needs; no thread, loop or connection may be there yet.

    Neither may the application: it finds the static files when it is made, once they are collected.
    """
    django.setup()
    # They need the settings.
    import autobahn.twisted.websocket  # noqa: F401, PLC0415
    from django.db.migrations.loader import MigrationLoader  # noqa: PLC0415
    from django.urls import get_resolver  # noqa: PLC0415

    from chatapp.conversations.context import sizes  # noqa: PLC0415
    from chatapp.providers.anthropic import provider  # noqa: F401, PLC0415
    from chatapp.web import consumers  # noqa: F401, PLC0415

    MigrationLoader(None)
    get_resolver().check()
    sizes.COUNTER.count("")
    assert "twisted.internet.reactor" not in sys.modules
    gc.freeze()


def live(asked: dict[str, Any]) -> NoReturn:
    """Do what was asked, as a process that was started for it."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code = 0
    try:
        settings.PORT = asked["port"]
        call_command(asked["command"])
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as its parent
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
