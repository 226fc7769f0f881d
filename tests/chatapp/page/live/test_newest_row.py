"""Output so far belongs to a call that runs, and stays until it ends."""

import uuid
from dataclasses import replace

from chatapp.agent import events
from chatapp.page.live.newest_row import NewestRow
from chatapp.page.live.outgoing_frames import Watchers

RUNS = events.ToolStarted("runs", "run_command", since=1.0)
ENDED = events.ToolFinished("ended", 1, is_error=False, seconds=1.0)


def test_output_is_kept_of_calls_that_run() -> None:
    """No other call changes."""
    row = NewestRow(uuid.uuid4(), Watchers())
    row.clear(3)
    row.tools = {"runs": RUNS, "ended": ENDED}
    for call in ("runs", "ended", "never"):
        row.progress(events.ToolProgressed(call, "Built."))
    assert row.tools == {"runs": replace(RUNS, output="Built."), "ended": ENDED}
