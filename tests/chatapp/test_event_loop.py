"""The loop under daphne."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"
{first}
import django
django.setup()
import chatapp.management.commands.serve
from twisted.internet import reactor
print(type(reactor._asyncioEventloop).__module__)
"""


@pytest.mark.parametrize(
    ("first", "module"),
    [
        ("", "uvloop"),
        ("sys.modules['uvloop'] = None", "asyncio.unix_events"),
        ("import daphne.server", "asyncio.unix_events"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_daphne_runs_on_uvloop_where_it_can(tmp_path: Path, first: str, module: str) -> None:
    """It is not everywhere, and a loop that daphne has made already is left as it is."""
    done = subprocess.run(
        [sys.executable, "-c", SERVE.format(first=first)],
        cwd=ROOT,
        env={"DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (module, "")
