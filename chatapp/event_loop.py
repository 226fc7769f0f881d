"""The event loop that daphne runs on."""

import sys
from importlib.util import find_spec

from twisted.internet import asyncioreactor


def install_fastest() -> None:
    """Have daphne run on uvloop where that is installed; to be called before daphne is imported.

    Elsewhere, as on Windows, daphne makes a loop that suits the platform.
    """
    if find_spec("uvloop") is None or "twisted.internet.reactor" in sys.modules:
        return
    import uvloop  # noqa: PLC0415 - which not every platform has

    asyncioreactor.install(uvloop.new_event_loop())  # type: ignore[no-untyped-call]
