"""A browser's side of a server that runs in another process, for tests."""

import http.cookiejar
import re
import urllib.parse
import urllib.request
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.chatapp.server_processes import PATIENCE

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Visitor:
    """Somebody with a browser's cookies."""

    def __init__(self, link: str) -> None:
        """Follow the link that signs in."""
        self.origin = link.partition("/sign-in/")[0]
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        self.page = self._open(link)
        if "sessionid" not in self.cookie:
            self.post(urllib.parse.urlsplit(link).path)

    def _open(self, address: str | urllib.request.Request, data: bytes | None = None) -> str:
        with self._opener.open(address, data) as answer:
            self.address = answer.url
            return str(answer.read().decode())

    def read(self, path: str) -> str:
        """Return a page."""
        self.page = self._open(self.origin + path)
        return self.page

    def post(self, path: str, **fields: str) -> None:
        """Send a form as the last page would."""
        fields["csrfmiddlewaretoken"] = TOKEN.findall(self.page)[0]
        body = urllib.parse.urlencode(fields).encode()
        self.page = self._open(self.origin + path, body)

    def send(self, path: str, body: bytes, boundary: str) -> None:
        """Send a form with files, whose parts have this boundary between them."""
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        self.page = self._open(urllib.request.Request(self.origin + path, body, kind))

    @property
    def cookie(self) -> str:
        """The header with all cookies."""
        return "; ".join(f"{one.name}={one.value}" for one in self.cookies)

    def open_socket(self) -> ClientConnection:
        """Open the socket of the conversation that was opened last."""
        path = urllib.parse.urlsplit(self.address).path
        address = f"{self.origin.replace('http', 'ws', 1)}/ws{path}"
        headers = {"Cookie": self.cookie}
        patience: Any = {"open_timeout": PATIENCE, "ping_timeout": None}
        return connect(address, origin=self.origin, additional_headers=headers, **patience)  # type: ignore[arg-type] # a plain string
