"""The browser's tabs: one that tests share, one whose sockets a test holds, and their own."""

from collections.abc import Callable

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    StorageState,
    WebSocketRoute,
)

from tests.e2e.server import Server

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
PATIENCE = 60_000  # milliseconds; the machine may be busy
NOWHERE = "about:blank"
CLEAR = "localStorage.clear(); sessionStorage.clear()"
# htmx tells so of requests that end with their page.
NETWORK = (
    "Failed to load resource",
    "WebSocket connection",
    "htmx:sendAbort",
    "htmx:sendError",
    "htmx:afterRequest",
)

Connect = Callable[[WebSocketRoute], object]


class Tabs:
    """Signed-in tabs; what their scripts complain about is collected until they are tidied."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self._browser, self._server = browser, server
        self._complaints: list[str] = []
        self._own: list[BrowserContext] = []
        self._wired: Page | None = None
        self._connect: Connect = WebSocketRoute.connect_to_server
        # The link is good for once, and a run may come back to this folder with another browser.
        self._state = server.state or self._sign_in()
        server.state.update(self._state)
        self.page = self._start(known=True).new_page()
        self.page.goto("/")

    def _sign_in(self) -> StorageState:
        context = self._start()
        page = context.new_page()
        page.goto(self._server.link)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(self._server.url + "/")
        state = context.storage_state()
        context.close()
        return state

    def _start(self, *, known: bool = False, locale: str = "en-US") -> BrowserContext:
        context = self._browser.new_context(
            base_url=self._server.url,
            storage_state=self._state if known else None,
            viewport={"width": 1280, "height": 800},
            color_scheme="light",
            locale=locale,
            # Nothing is looked at halfway.
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE)
        context.on("weberror", lambda error: self._complaints.append(str(error.error)))
        context.on("console", self._note)
        return context

    def _note(self, said: ConsoleMessage) -> None:
        """Keep an error of a script or the page's policy; a lost connection is none."""
        is_policy = "Content Security" in said.text
        if is_policy or (said.type == "error" and not said.text.startswith(NETWORK)):
            self._complaints.append(said.text)

    def open(self, *, known: bool = True, locale: str = "en-US") -> Page:
        """Open a tab for one test; with ``known=False`` it is a stranger's, without a session."""
        self._own.append(self._start(known=known, locale=locale))
        return self._own[-1].new_page()

    def wired(self, connect: Connect) -> Page:
        """Return a tab whose sockets are given to a test, until the end of that test."""
        self._connect = connect
        if self._wired is None:
            self._wired = self.page.context.new_page()
            self._wired.route_web_socket("**/ws/**", self._pass)
        self._wired.bring_to_front()
        return self._wired

    def _pass(self, socket: WebSocketRoute) -> None:
        """Give a socket to the test that runs now."""
        self._connect(socket)

    def tidy(self) -> list[str]:
        """Close what a test has opened, put back the rest, and return all complaints."""
        for context in self._own:
            context.close()
        self._own.clear()
        self._connect = WebSocketRoute.connect_to_server
        kept = [one for one in (self.page, self._wired) if one]
        for page in self.page.context.pages:
            if page not in kept:
                page.close()
        for page in kept:
            page.unroute_all(behavior="ignoreErrors")
            if page.url != NOWHERE:
                try:
                    page.evaluate(CLEAR)
                except Error:
                    # Another language was chosen just now, so the page is loaded anew.
                    page.wait_for_load_state()
                    page.evaluate(CLEAR)
                # What is left open would look at the server during the next tests.
                page.goto(NOWHERE)
            page.set_viewport_size({"width": 1280, "height": 800})
            page.emulate_media(color_scheme="light")
        self.page.context.add_cookies(self._state["cookies"])  # type: ignore[arg-type] # as read
        self.page.bring_to_front()
        complaints, self._complaints[:] = [*self._complaints], []
        return complaints
