"""A server looks through what it has loaded in no collection of garbage."""

import subprocess
import sys

from tests.processes import ROOT

COLLECTING = """
import gc
from chatapp.garbage import NEVER, keep_collections_short
keep_collections_short()
print(gc.get_threshold()[2] == NEVER, gc.get_freeze_count() > 0, len(gc.get_objects()) < 1_000)
"""


def test_full_collections_do_not_come_by_themselves() -> None:
    """Each stops all threads for as long as there are objects."""
    given = [sys.executable, "-c", COLLECTING]
    done = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True True True\n"
