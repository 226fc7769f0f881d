"""A server whose event loop beats, and notes in its folder each beat that comes late.

A line has the moment, and the seconds since the beat before: by the clock, and of the processor.
"""

import asyncio
import os
import time
from pathlib import Path

import django

EVERY, NOTED = 0.01, 0.02


async def beat(data: Path) -> None:
    """Beat until the server ends."""
    with (data / "beats").open("w", buffering=1) as beats:
        while True:
            began, computed = time.monotonic(), time.process_time()
            await asyncio.sleep(EVERY)
            late, cpu = time.monotonic() - began - EVERY, time.process_time() - computed
            if late > NOTED:
                beats.write(f"{began} {late} {cpu}\n")


def main() -> None:
    """Serve as ``manage.py serve`` does."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"
    django.setup()
    # Importing it chooses the loop, which needs a set-up Django.
    from chatapp.management.commands import serve  # noqa: PLC0415

    class Command(serve.Command):
        def prepare(self, server: serve.Server) -> None:
            super().prepare(server)
            data = Path(os.environ["DATA_DIR"])
            self.beats = asyncio.get_event_loop().create_task(beat(data))

    Command().handle()


if __name__ == "__main__":
    main()
