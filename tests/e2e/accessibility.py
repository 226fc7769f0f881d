"""axe-core's complaints about a page, in either theme and at either width."""

from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

WIDTHS = (360, 1280)
COLORS = ["color-contrast", "link-in-text-block"]
# All that axe has, the size of targets too.
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = "options => axe.run(options).then(found => found.violations)"

# Pages that are no conversation; a word is the name of a seed.
OFTEN_CHANGED = (
    *("/", "/condensations/", "/profiles/", "/profiles/new/", "/settings/", "/settings/agent/"),
    *("/settings/prompts/", "compared"),
)
SELDOM_CHANGED = (
    *("/mcp/", "/mcp/new/", "/settings/general/", "/settings/tokens/", "/settings/account/"),
    *("/users/", "/users/server/", "/c/missing/", "/costs/", "/condensations/audit/"),
    *("course", "tampered"),
)
PAGES = OFTEN_CHANGED + SELDOM_CHANGED


def complaints(page: Page) -> list[str]:
    """Return one line for each violation; what a theme changes is looked at in both."""
    return _complaints(page, "dark", runOnly=COLORS) + _complaints(page, "light")


def _complaints(page: Page, theme: Literal["light", "dark"], **options: list[str]) -> list[str]:
    page.emulate_media(color_scheme=theme)
    # Half a megabyte, which a page reads once.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN, {"resultTypes": ["violations"], "runOnly": LEVELS} | options)
    return [
        f"{theme}: {one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


def problems(page: Page, *widths: int) -> list[str]:
    """Return complaints at each width, and where the page scrolls sideways."""
    found = _complaints(page, "dark", runOnly=COLORS)
    for width in widths or WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        found += _complaints(page, "light")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"The page scrolls sideways at {width} px.")
    return found


def open_all(page: Page) -> None:
    """Open everything on the page that can be opened."""
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
