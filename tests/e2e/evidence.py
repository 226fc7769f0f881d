"""What a failed test leaves: a picture of each tab, what it logged, and what the server said."""

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Browser, Error, Page

from tests.e2e.tabs import REST
from tests.processes import ROOT

FOLDER = ROOT / "build" / "browser-failures"
MOMENT = 5_000  # milliseconds; what a tab that stands still has no picture after


def keep(browser: Browser, name: str, logs: Iterable[Path], folder: Path = FOLDER) -> Path:
    """Write down how all tabs of a browser are, and copy logs; return the folder of it."""
    place = folder / re.sub(r"[^\w-]+", "-", name).strip("-")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    pages = [page for context in browser.contexts for page in context.pages]
    for number, page in enumerate((one for one in pages if not one.url.endswith(REST)), 1):
        (place / f"tab-{number}.log").write_text("\n".join(_lines(page)))
        with suppress(Error):
            page.screenshot(path=place / f"tab-{number}.png", timeout=MOMENT)
    for number, log in enumerate(logs, 1):
        shutil.copy(log, place / f"server-{number}.log")
    return place


def _lines(page: Page) -> Iterator[str]:
    """Yield where a tab is, what its scripts said, and which requests came to nothing."""
    yield page.url
    with suppress(Error):
        for said in page.console_messages():
            where = said.location
            yield f"{said.type}: {said.text} ({where['url']}:{where['lineNumber']})"
        yield from (f"thrown: {error.stack or error}" for error in page.page_errors())
        for request in page.requests():
            answer = request.existing_response
            came = request.failure or (answer.status if answer and answer.status >= 400 else "")
            if came:
                yield f"failed: {request.method} {request.url}: {came}"
