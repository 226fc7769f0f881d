"""What is said in these tests, and how much of the window it takes."""

from tests.standin.behaviours import Gate, Reply

PASSWORD = "The password of the vault is heliotrope-42."
SUMMARY = f"""<analysis>
The user is filling the window on purpose.
</analysis>

<summary>
1. Primary Request and Intent:
   - **{PASSWORD}**

6. All User Messages:
   - Several, all of them long.

7. Pending Tasks:
   - None.

8. Current Work:
   - Filling the window.

9. Optional Next Step:
   - Answer what is asked.
</summary>"""

# A window in which two long messages make the context condense by itself.
SMALL = {"window": 10_000, "max_output": 500, "threshold": "32"}


def long(topic: str, *, times: int = 1) -> str:
    """Return a message about ``topic``, and ``times`` 1,250 tokens of numbers."""
    return f"{topic} {' '.join(map(str, [*range(100, 725)] * times))}"


def summary(gate: Gate | None = None) -> Reply:
    """Return a summary that keeps the password; ``gate`` holds it in mid-stream."""
    return Reply(SUMMARY, gate=gate)
