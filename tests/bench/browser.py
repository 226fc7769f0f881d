"""Rows of the page: what a streamed word takes of the browser's main thread, by its own trace."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench.server import Server, model, serving
from tests.bench.table import Row

# Words a second, as a fast model of a server and the fastest there are write them.
FAST, FASTEST = 40, 250
SLOWED = 4
SECONDS = 4
KEYS = 33
# As many as the stand-in has.
MOST_WORDS = 2_000
WRITTEN = r"(document.querySelector('#streaming')?.textContent.match(/w\d{9}/g) ?? []).length"
# As often as a piece of an answer comes: a paragraph that grows, its end in view.
BARE = """([words, every]) => {
    document.body.innerHTML = "<div style='height: 600px; overflow: auto'><p></p></div>";
    const [box, text] = document.querySelectorAll("div, p");
    setInterval(() => { text.append("w123456789 ".repeat(words)); box.scrollTop = 1e6; }, every);
}"""
# From a key to the frame that shows it.
WATCH_KEYS = """() => {
    window.shown = [];
    document.getElementById("message").addEventListener("keydown", ({ timeStamp }) => {
        const note = () => window.shown.push(performance.now() - timeStamp);
        requestAnimationFrame(() => setTimeout(note));
    });
}"""


def measure_browser() -> Iterator[Row]:
    """Yield the rows of an answer that arrives while somebody looks at it, and types."""
    with (
        model() as url,
        serving(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="x") as server,
        sync_playwright() as playwright,
    ):
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        here = {pace: _per_word(browser, server, pace) for pace in (FAST, FASTEST)}
        work = f"a word of {FASTEST} a second on its page, the processor {SLOWED} times slower"
        yield Row(work, here[FASTEST], "ms", 3)
        bare = _bare(browser)
        yield Row(f"… of {FAST} a second", here[FAST], "ms", 3, "a bare page's", bare)
        worst, rest = [
            # What else the machine does only ever adds time.
            min(_slowest_key(browser, server, pace) for _ in range(3))
            for pace in (FASTEST, 0)
        ]
        work = f"the slowest of {KEYS} keys meanwhile, until it is shown"
        # On a machine that does nothing else, 60 ms at most.
        yield Row(work, worst, "ms", 5, "with no answer", rest)


def _per_word(browser: Browser, server: Server, pace: int) -> float:
    """Return the milliseconds that a word takes of the main thread, slowed, once it is warm."""
    with _writing(browser, server, pace) as page, _traced(browser, page) as spent:
        before = page.evaluate(WRITTEN)
        page.wait_for_timeout(1_000 * SECONDS)
        words = page.evaluate(WRITTEN) - before
    return sum(spent) / words


def _bare(browser: Browser) -> float:
    page = browser.new_page()
    every = 1_000 / 15
    words = round(FAST * every / 1_000)
    page.evaluate(BARE, [words, every])
    page.wait_for_timeout(1_000)
    with _traced(browser, page) as spent:
        before = page.inner_text("p").count("w")
        page.wait_for_timeout(1_000 * SECONDS)
        words = page.inner_text("p").count("w") - before
    page.close()
    return sum(spent) / words


def _slowest_key(browser: Browser, server: Server, pace: int) -> float:
    with _writing(browser, server, pace) as page:
        page.evaluate(WATCH_KEYS)
        for _ in range(KEYS):
            page.keyboard.press("x")
            page.wait_for_timeout(80)
        return float(page.evaluate("Math.max(...window.shown)"))


@contextmanager
def _writing(browser: Browser, server: Server, pace: int) -> Iterator[Page]:
    """Open a conversation whose second answer comes at so many words a second, if it does."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    cookies = ({"name": name, "value": value} for name, value in server.jar.items())
    url = f"http://{server.netloc}"
    page.context.add_cookies([{**one, "url": url} for one in cookies])  # type: ignore[typeddict-item]
    page.goto(f"{url}/c/{server.converse()}/")
    box = page.get_by_role("textbox", name="Message")
    box.fill("SAY 150")
    box.press("Enter")
    page.wait_for_selector(".message-assistant:not(.is-streaming)")
    if pace:
        box.fill(f"SAY {MOST_WORDS} EVERY {1 / pace}")
        box.press("Enter")
        page.wait_for_selector("#streaming .prose")
    yield page
    page.close()


@contextmanager
def _traced(browser: Browser, page: Page) -> Iterator[list[float]]:
    """Slow a page down meanwhile; give the milliseconds of each task of its main thread."""
    spent: list[float] = []
    told: list[dict[str, Any]] = []
    over: list[Any] = []
    tab, whole = page.context.new_cdp_session(page), browser.new_browser_cdp_session()
    tab.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    whole.on("Tracing.dataCollected", lambda news: told.extend(news["value"]))
    whole.on("Tracing.tracingComplete", lambda end: over.append(end))  # noqa: PLW0108 - it is marked
    whole.send("Tracing.start", {"traceConfig": {"includedCategories": ["toplevel"]}})
    yield spent
    whole.send("Tracing.end")
    while not over:
        page.wait_for_timeout(100)
    names = (
        (one["pid"], one["tid"])
        for one in told
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    )
    tasks = [
        [
            one["tdur"] / 1_000
            for one in told
            if (one["pid"], one["tid"]) == main
            and "tdur" in one
            and one["name"] == "ThreadControllerImpl::RunTask"
        ]
        for main in names
    ]
    # The other tabs rest.
    spent += max(tasks, key=sum)
