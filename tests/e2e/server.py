"""A real server in a process of its own, and the requests a signed-in person's browser makes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from playwright.sync_api import StorageState

from tests.processes import started

SETTINGS = {
    "auto_condense": "on",
    "threshold": "100",
    "messages_kept": "3",
    "step_limit": "50",
    "environment_details": "on",
    "auto_recall": "on",
    "shortcuts": "on",
}
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
PRICES = {
    "price_input": "4",
    "price_output": "20",
    "price_cache_read": "0.4",
    "price_cache_write": "5",
}


@dataclass(frozen=True)
class Server:
    """A running server: the link it printed, the file of its complaints, who is signed in."""

    link: str
    log: Path
    state: StorageState = field(default_factory=StorageState)

    @property
    def url(self) -> str:
        """The address without the sign-in part."""
        return self.link.partition("/sign-in/")[0]

    def workspace(self, chat: str) -> Path:
        """Return the folder whose files the agent may read in a conversation, by its address."""
        name = chat.partition("/c/")[2].strip("/").replace("-", "")
        folder = self.log.parent / "data" / "workspaces" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def errors(self) -> list[str]:
        """Return what the server logged as an error so far."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if " ERROR " in line or "Traceback" in line]


@contextmanager
def serving(folder: Path, **environment: str) -> Iterator[Server]:
    """Run ``manage.py serve`` with data of its own, on a port of its own."""
    log = folder / "stderr.log"
    own = {"DATA_DIR": str(folder / "data"), "PORT": "0", **environment}
    with (
        log.open("w") as stderr,
        started("manage.py", "serve", stderr=stderr, **own) as (_pid, link),
    ):
        assert link, log.read_text()
        yield Server(link, log)


class Desk:
    """What a test arranges without clicking: requests with a person's cookies."""

    def __init__(self, server: Server) -> None:
        cookies = {one["name"]: one["value"] for one in server.state["cookies"]}
        self.client = httpx2.Client(base_url=server.url, cookies=cookies)
        self._token = TOKEN.findall(self.client.get("/profiles/new/").text)[0]
        self._profiles: dict[str, str] = {}
        self._default = ""
        # A call for a title would take the place of one that a test has a reply for.
        self.post("/settings/", **SETTINGS)

    def post(self, path: str, **fields: str) -> str:
        """Send a form as a page would, and return where that leads; nobody looks at it."""
        form = {"csrfmiddlewaretoken": self._token, **fields}
        answer = self.client.post(path, data=form)
        # What the next page would say of it.
        self.client.cookies.pop("messages", None)
        assert answer.status_code == 302, answer.text
        return str(answer.headers["location"])

    def use_profile(
        self, address: str, *, window: int = 200_000, max_output: int = 400, threshold: str = ""
    ) -> None:
        """Point the profile "Claude" at an address, with own limits, as the default."""
        fields = {
            "name": "Claude",
            "provider": "anthropic",
            "model": "claude-opus-5",
            "base_url": address,
            "key": "sk-test",
            "context_window": str(window),
            "max_output": str(max_output),
            "mode": "own" if threshold else "inherit",
            "own_threshold": threshold,
            **PRICES,
        }
        known = self._profile("Claude")
        self.post(f"/profiles/{known}/" if known else "/profiles/new/", **fields)
        self.choose_default("Claude")

    def choose_default(self, name: str) -> None:
        """Have new conversations answered by a profile."""
        if self._default != name:
            self.post(f"/profiles/{self._profile(name)}/default/")
            self._default = name

    def remove_profile(self, name: str) -> None:
        """Delete a profile, if an earlier test has made it."""
        if number := self._profile(name):
            self.post(f"/profiles/{number}/delete/")
        self._profiles.clear()
        self._default = ""

    def _profile(self, name: str) -> str:
        """Return the number of the profile of that name, "" without one."""
        if name not in self._profiles:
            listed = self.client.get("/profiles/").text
            found = re.findall(r'href="/profiles/(\d+)/">([^<]+)</a>', listed)
            self._profiles = {known: number for number, known in found}
        return self._profiles.get(name, "")

    def new_conversation(self) -> str:
        """Return the address of a conversation in which nothing was said."""
        return self.post("/c/new/")
