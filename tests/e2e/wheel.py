"""The mouse's wheel, which a browser follows at its own pace."""

from playwright.sync_api import Page

WATCH = """() => {
    const before = scroller.scrollTop;
    window.isAtRest = false;
    scroller.addEventListener("scrollend", () => {
        window.isAtRest ||= scroller.scrollTop !== before;
    });
}"""


def scroll(page: Page, pixels: int) -> None:
    """Turn the wheel over the transcript, and return once the page has come to rest."""
    page.locator("#scroller").hover()
    page.evaluate(WATCH)
    page.mouse.wheel(0, pixels)
    page.wait_for_function("() => window.isAtRest")
