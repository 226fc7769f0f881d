"""A server looks through what it has loaded in no collection of garbage."""

import subprocess
import sys

from tests.processes import ROOT

COLLECTING = """
import gc
from chatapp.project.garbage import NEVER, keep_collections_short
keep_collections_short()
print(gc.get_threshold()[2] == NEVER, gc.get_freeze_count() > 0, len(gc.get_objects()) < 1_000)
"""


MEANWHILE = """
import sys
from chatapp.project import garbage
sys.setswitchinterval(1e-6)
garbage.EVERY = 0
garbage.keep_collections_short()
many = [[] for _ in range(200_000)]
print({len(tuple(str(one) for one in range(2_000))) for _ in range(100)})
"""


def run(code: str) -> str:
    """Return what a new Python prints."""
    given = [sys.executable, "-c", code]
    return subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_full_collections_do_not_come_by_themselves() -> None:
    """Each stops all threads for as long as there are objects."""
    assert run(COLLECTING) == "True True True\n"


def test_nothing_that_is_made_meanwhile_is_touched() -> None:
    """Python fails a tuple that somebody else gets hold of before it is complete."""
    assert run(MEANWHILE) == "{2000}\n"
