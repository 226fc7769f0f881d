"""A server whose event loop notes each of its beats that came late, and how late, in a file.

Its lines are the moment, the seconds by the clock, those that the process computed meanwhile, and
those that the loop's own thread did. Where the file ``stacks`` is there, it gets what ran then.
"""

import faulthandler
import os
import sys
import time
from pathlib import Path

import django

EVERY, NOTED, STACKS = 0.01, 0.02, 0.12


def beat(loop, out, stacks) -> None:  # type: ignore[no-untyped-def]
    """Note how late this beat is, and have the next one come."""
    state = [time.monotonic(), time.process_time(), time.thread_time()]

    def once() -> None:
        now = [time.monotonic(), time.process_time(), time.thread_time()]
        late, cpu, own = (new - old for new, old in zip(now, state, strict=True))
        if late - EVERY > NOTED:
            out.write(f"{now[0]:.4f} {late - EVERY:.4f} {cpu:.4f} {own:.4f}\n")
            out.flush()
        state[:] = now
        if stacks:
            faulthandler.dump_traceback_later(STACKS, file=stacks)
        loop.call_later(EVERY, once)

    loop.call_soon(once)


def main() -> None:
    """Serve as ``manage.py serve`` does."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"
    django.setup()
    from django.core.management import call_command

    import chatapp.management.commands.serve  # noqa: F401
    from twisted.internet import reactor

    data = Path(os.environ["DATA_DIR"])
    out = (data / "beats").open("w")
    stacks = (data / "stacks").open("w") if os.environ.get("STACKS") else None
    beat(reactor._asyncioEventloop, out, stacks)
    call_command("serve")


if __name__ == "__main__":
    sys.exit(main())
