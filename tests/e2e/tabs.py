"""The browser's tabs: one that tests share, one whose sockets a test holds, and their own."""

from collections.abc import Callable

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    WebSocketRoute,
)

from tests.e2e.server import Server

# The first two are of our own: the lists below the address bar, which nobody sees here, are pages
# with a process of their own in each window, for a second of the processor. The others are those of
# Playwright, whose list is replaced by this one.
NEEDLESS = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    f"--disable-features={','.join(NEEDLESS)}",
)
PATIENCE = 60_000  # milliseconds; the machine may be busy
# A page without scripts. It is one of the server's, so that the tab keeps its process: after
# about:blank each test began with a new one, for two fifths of what its first page takes.
REST = "/static/js/uuid.js"
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
        self._browser, self.server = browser, server
        self._complaints: list[str] = []
        self._own: list[BrowserContext] = []
        self._wired: Page | None = None
        self._connect: Connect = WebSocketRoute.connect_to_server
        self.page = self._start(known=True).new_page()
        # The link is good for once, and a run may come back to this folder with another browser.
        if server.state:
            self.page.goto("/")
        else:
            self.page.goto(server.link)
            self.page.get_by_role("button", name="Sign in").click()
            self.page.wait_for_url(f"{server.url}/")
            server.state.update(self.page.context.storage_state())

    def _start(self, *, known: bool, locale: str = "en-US") -> BrowserContext:
        context = self._browser.new_context(
            base_url=self.server.url,
            storage_state=(known and self.server.state) or None,
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

    @property
    def complaints(self) -> list[str]:
        """What scripts have complained about since the tabs were tidied."""
        return [*self._complaints]

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
            # What is left open would look at the server during the next tests.
            if not page.url.endswith(REST):
                page.goto(REST)
                page.evaluate(CLEAR)
            page.set_viewport_size({"width": 1280, "height": 800})
            page.emulate_media(color_scheme="light")
        self.page.context.add_cookies(self.server.state["cookies"])  # type: ignore[arg-type] # as read
        self.page.bring_to_front()
        complaints = self.complaints
        self._complaints.clear()
        return complaints
