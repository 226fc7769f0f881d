"""The loop under daphne."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each line that comes first has a process of its own, which has imported what takes long already.
SERVE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"
import django
django.setup()
import chatapp.turns.running_turns
for first in sys.argv[1:]:
    if not os.fork():
        exec(first)
        import chatapp.management.commands.serve
        from twisted.internet import reactor
        print(type(reactor._asyncioEventloop).__module__, flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_daphne_runs_on_uvloop_where_it_can(tmp_path: Path) -> None:
    """It is not everywhere, and a loop that daphne has made already is left as it is."""
    done = subprocess.run(
        [sys.executable, "-c", SERVE, "", "sys.modules['uvloop'] = None", "import daphne.server"],
        cwd=ROOT,
        env={"DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    loops = ["uvloop", "asyncio.unix_events", "asyncio.unix_events"]
    assert (done.stdout.split(), done.stderr) == (loops, "")
