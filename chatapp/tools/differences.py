"""What a write would change, as people read it: a unified diff."""

import difflib
from itertools import islice

# Lines, and characters of one; what is longer is said in numbers.
MAX_LINES = 2_000
MAX_LINE = 1_000
# Lines that are compared; beyond, the work grows with their square.
MAX_COMPARED = 10_000


def show_difference(path: str, before: str | None, after: str) -> str:
    """Return the diff from one text to another, None being no file; "" where they are the same."""
    old, new = (before or "").splitlines(), after.splitlines()
    if before is not None and before == after:
        return ""
    if len(old) + len(new) > MAX_COMPARED:
        return f"--- {path}\n+++ {path}\n[{len(old):,} lines become {len(new):,}.]"
    was = path if before is not None else "/dev/null"
    lines = list(islice(difflib.unified_diff(old, new, was, path, lineterm=""), MAX_LINES + 1))
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"[Only the first {MAX_LINES:,} lines of the difference.]"]
    return "\n".join(line[:MAX_LINE] for line in lines) or f"--- {was}\n+++ {path}"
