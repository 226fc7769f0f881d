"""The name of a process that is over, under which it may have left something."""


def ended_process() -> str:
    """Return an owner that has no row: it gives no signs of life any more."""
    return "there/1/ended"
