"""The real server as a process of its own, and the browsers that talk to it."""

import http.client
import json
import os
import re
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlparse

from websockets.asyncio.client import ClientConnection, connect

from tests.processes import started

# A word that tells when it was sent.
SENT = re.compile(r"\bw(\d{9})\b")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Server:
    """A running server, and the cookies of a browser that is signed in."""

    pid: int
    netloc: str
    jar: dict[str, str] = field(default_factory=dict)

    @property
    def cpu(self) -> float:
        """The processor seconds that it has used (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def spent(self) -> float:
        """The processor seconds that it and who asks it here have used."""
        return self.cpu + time.process_time()

    @property
    def memory(self) -> int:
        """The KiB that it holds in memory (Linux)."""
        return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())[0])

    def ask(self, method: str, path: str, **form: str | Sequence[str]) -> http.client.HTTPResponse:
        """Make a request as the browser does, and take its cookies."""
        connection = http.client.HTTPConnection(self.netloc, timeout=60)
        headers = {"Cookie": self.cookies, "Origin": f"http://{self.netloc}"}
        if form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, urlencode(form, doseq=True), headers)
        answer = connection.getresponse()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.jar[name] = value
        answer.read()
        return answer

    def post(self, path: str) -> str:
        """Press a button, and return where that leads."""
        answer = self.ask("POST", path, csrfmiddlewaretoken=self.jar["csrftoken"])
        return answer.headers["Location"]

    @property
    def cookies(self) -> str:
        """The cookies as a header."""
        return "; ".join(f"{name}={value}" for name, value in self.jar.items())

    def converse(self) -> str:
        """Return the id of a new conversation."""
        return self.post("/c/new/").strip("/").split("/")[-1]


@dataclass
class Page:
    """An open page: every frame it got since the last message, with the moment it came."""

    socket: ClientConnection
    frames: list[tuple[float, str]] = field(default_factory=list)
    sent: float = 0.0

    async def say(self, text: str) -> None:
        """Send a message, and return when its turn has ended."""
        self.frames.clear()
        self.sent = time.monotonic()
        command = {"type": "message.send", "text": text, "nonce": str(uuid.uuid4())}
        await self.socket.send(json.dumps(command))
        while not self._ended(await self.socket.recv()):
            pass

    @property
    def first(self) -> float:
        """Seconds from the message to the first word of the answer."""
        return next(at for at, frame in self.frames if SENT.search(frame)) - self.sent

    @property
    def delays(self) -> list[float]:
        """The seconds that each word took from the model to this page."""
        shown: dict[str, float] = {}
        for at, frame in self.frames:
            for stamp in SENT.findall(frame):
                shown.setdefault(stamp, (at - int(stamp) / 1e6) % 1_000)
        return [*shown.values()]

    def _ended(self, frame: Any) -> bool:
        self.frames.append((time.monotonic(), frame))
        if '"refused"' in frame[:40]:
            raise RuntimeError(frame)
        return '"status.changed"' in frame[:40] and not json.loads(frame)["turn"]


async def open_page(server: Server, conversation: str) -> Page:
    """Open a page of a conversation, past its snapshot."""
    socket = await connect(
        f"ws://{server.netloc}/ws/c/{conversation}/",
        additional_headers={"Cookie": server.cookies},
        origin=f"http://{server.netloc}",  # type: ignore[arg-type]
        compression=None,
        max_size=None,
    )
    await socket.recv()
    return Page(socket)


@contextmanager
def model() -> Iterator[str]:
    """Run a model's stand-in; yield its address."""
    with started("-m", "tests.bench.provider") as (_pid, line):
        yield f"http://127.0.0.1:{line}"


@contextmanager
def serving(**environment: str) -> Iterator[Server]:
    """Run a server over an empty folder or DATA_DIR; yield it with a browser that is signed in."""
    with tempfile.TemporaryDirectory(prefix="bench-server-") as folder:
        environment = {"DATA_DIR": folder, "PORT": "0", **environment}
        with started("manage.py", "serve", **environment) as (pid, line):
            address = urlparse(line)
            server = Server(pid, address.netloc)
            server.ask("GET", address.path)
            server.post(address.path)
            server.ask("GET", "/")
            yield server


def printed(module: str, *arguments: str) -> str:
    """Run a module of the bench to its end, and return what it printed."""
    with started("-m", module, *arguments) as (_pid, line):
        return line
