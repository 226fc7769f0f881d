"""A real server that is killed and started again, and the people who talk through it meanwhile."""

import itertools
import json
import os
import queue
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from tests.chatapp.server_processes import PATIENCE
from tests.chatapp.visitors import Visitor
from tests.faults import app, nursery
from tests.processes import ROOT
from tests.standin.server import Standin

WORD = re.compile(r"\bw\d+\b")
_numbers = itertools.count(1)

IDLE = "IDLE"


def words(count: int) -> str:
    """Return words that no other text has."""
    return " ".join(f"w{next(_numbers)}" for _ in range(count))


class Server:
    """A server on one folder, which comes back after each kill; to be used as a context manager."""

    def __init__(self, data: Path, standin: Standin) -> None:
        self.data = data
        self.standin = standin
        # When the drafts were read that were stored last: what was shown by then is there.
        self.kept_until = 0.0
        self.port = 0
        self.pid = 0
        self.said: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Self:
        """Get ready for the first life."""
        self._errors = self.data / "stderr.txt"
        with self._errors.open("w") as errors:
            self._nursery = subprocess.Popen(
                [sys.executable, "-m", nursery.__name__],
                cwd=ROOT,
                env={
                    "PATH": os.environ["PATH"],
                    "DATA_DIR": str(self.data),
                    "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
                    "ANTHROPIC_API_KEY": "sk-test",
                    "ANTHROPIC_BASE_URL": self.standin.url,
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it for good."""
        self.kill()
        assert self._nursery.stdin
        self._nursery.stdin.close()
        self._listener.join(PATIENCE)
        self._nursery.wait(PATIENCE)

    def start(self) -> str:
        """Start it, and return the link that signs in."""
        # A fault is for one life only.
        (self.data / app.FILE).unlink(missing_ok=True)
        self._live("serve")
        link = self._until("http://")
        self.origin = link.partition("/sign-in/")[0]
        # Pages find it again under the same address.
        self.port = int(self.origin.rpartition(":")[2])
        return link

    def run(self, command: str) -> tuple[int, str]:
        """Do a command of the project's instead, and return its exit code and what it complains."""
        self._live(command)
        code = int(self._until(nursery.DIED).split()[1])
        self.pid = 0
        return code, self._errors.read_text()

    def _live(self, command: str) -> None:
        assert self._nursery.stdin
        asked = json.dumps({"command": command, "port": self.port})
        print(asked, file=self._nursery.stdin, flush=True)
        self.pid = int(self._until(nursery.BORN).split()[1])

    def _listen(self) -> None:
        assert self._nursery.stdout
        with self._nursery.stdout as lines:
            for line in lines:
                if line.startswith(app.DRAFTED):
                    self.kept_until = float(line.split()[1])
                self.said.put(line.strip())

    def _until(self, *words: str) -> str:
        """Return the next line that begins with one of these words."""
        try:
            while not (line := self.said.get(timeout=PATIENCE)).startswith(words):
                pass
        except queue.Empty:
            raise AssertionError(self._errors.read_text()) from None
        return line

    def until_drafted(self) -> None:
        """Return once drafts were stored."""
        self._until(app.DRAFTED)

    def until_in_tool(self) -> None:
        """Return once a tool runs that does not end."""
        self._until(app.IN_TOOL)

    def until_stands(self, *, or_idle: bool = False) -> None:
        """Return once it stands still, or a conversation has come to an end."""
        self._until(app.STANDS, *([IDLE] if or_idle else []))

    @staticmethod
    def now() -> float:
        """Return this moment, as frames and drafts are timed."""
        return time.monotonic()

    def kill(self) -> None:
        """End it as a power cut does, if it lives."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self._until(nursery.DIED)
            self.pid = 0

    def arm(self, pattern: str, *, number: int = 1, after: bool = False) -> None:
        """Let it stand still before or ``after`` a statement, of those that match from now on."""
        fault = {"pattern": pattern, "number": number, "after": after}
        draft = self.data / "fault.draft"
        draft.write_text(json.dumps(fault))
        draft.rename(self.data / app.FILE)

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows of its database."""
        with closing(
            sqlite3.connect(self.data / "palimpsest.sqlite3", timeout=PATIENCE)
        ) as database:
            rows = database.execute(sql, values).fetchall()
            database.commit()
        return rows

    def count(self, rows: str) -> int:
        """Return how many rows there are."""
        return int(self.ask(f"SELECT count(*) FROM {rows}")[0][0])  # noqa: S608 - names of our own


class Talk:
    """Somebody's conversation: what was sent in it, and what was shown, and when."""

    def __init__(self, server: Server, visitor: Visitor) -> None:
        """Begin one."""
        self.server = server
        self.visitor = visitor
        visitor.origin = server.origin
        visitor.post("/c/new/")
        self.path = urllib.parse.urlsplit(visitor.address).path
        self.id = uuid.UUID(self.path.strip("/").rpartition("/")[2])
        self.shown: list[tuple[float, set[str]]] = []
        self.last: dict[str, Any] = {}
        self._opened = ExitStack()

    def open(self) -> None:
        """Open its page."""
        self.visitor.origin, self.visitor.address = self.server.origin, self.path
        self.close()
        self.socket = self._opened.enter_context(self.visitor.open_socket())
        self.frames: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, args=(self.socket,), daemon=True).start()
        self.until("snapshot")

    def close(self) -> None:
        """Close its page."""
        self._opened.close()

    def _read(self, socket: ClientConnection) -> None:
        try:
            for text in socket:
                now = time.monotonic()
                self.shown.append((now, set(WORD.findall(str(text)))))
                frame = json.loads(text)
                self.frames.put(frame)
                if frame["type"] == "status.changed" and not frame["turn"]:
                    self.server.said.put(IDLE)
        except ConnectionClosed:
            pass

    def send(self, type_: str, **fields: Any) -> None:
        """Send a command, and remember it."""
        self.last = {"type": type_, **fields}
        self.socket.send(json.dumps(self.last))

    def say(self, text: str) -> None:
        """Send a message."""
        self.send("message.send", text=text, nonce=str(uuid.uuid4()))

    def again(self) -> None:
        """Send the last command once more, as a page does that got no answer."""
        self.socket.send(json.dumps(self.last))

    def take_up(self, how: str) -> None:
        """Continue, or try again."""
        self.send(f"turn.{how}", nonce=str(uuid.uuid4()), seq=0)

    def until(self, *types: str, **fields: object) -> dict[str, Any]:
        """Return the next frame of one of these types with these fields."""
        while True:
            frame = self.frames.get(timeout=PATIENCE)
            if frame["type"] in types and fields.items() <= frame.items():
                return frame

    def until_accepted(self, nonce: str, *, idle: bool) -> None:
        """Return once what was sent is stored, and where it began something, that is over."""
        accepted = False
        while not accepted or idle:
            frame = self.frames.get(timeout=PATIENCE)
            accepted |= frame["type"] == "message.accepted" and frame["nonce"] == nonce
            idle &= frame["type"] != "status.changed" or bool(frame["turn"])

    def hear(self, count: int) -> None:
        """Return after so many frames, or when nothing runs any more."""
        for _ in range(count):
            frame = self.until("text.streamed", "status.changed")
            if not frame.get("turn", "some"):
                return

    def until_idle(self) -> None:
        """Return once nothing runs any more."""
        self.until("status.changed", turn="")

    def seen_before(self, moment: float) -> set[str]:
        """Return the words that were shown by then."""
        return set().union(*(some for when, some in self.shown if when < moment))

    def stored(self) -> list[str]:
        """Return the words of what the model said, in the order of writing."""
        rows = self.server.ask(
            "SELECT content FROM chatapp_message WHERE conversation_id = ? AND role = 'assistant' "
            "ORDER BY seq",
            self.id.hex,
        )
        return [word for (content,) in rows for word in WORD.findall(content)]

    def drafts(self) -> list[str]:
        """Return what is stored of replies that are not finished."""
        sql = (
            "SELECT p.call_id, p.at, p.text FROM chatapp_draftpiece p JOIN chatapp_modelcall c "
            "ON c.id = p.call_id WHERE c.conversation_id = ? ORDER BY p.id"
        )
        drafts: dict[int, str] = {}
        for call, at, text in self.server.ask(sql, self.id.hex):
            drafts[call] = drafts.get(call, "")[:at] + text
        return [*drafts.values()]

    def knows(self, nonce: str) -> bool:
        """Whether what was sent under this nonce is stored."""
        sql = "SELECT 1 FROM chatapp_turn WHERE nonce = ?"
        return bool(self.server.ask(sql, uuid.UUID(nonce).hex))

    def turn(self) -> tuple[str, str]:
        """Return status and origin of the newest turn."""
        rows = self.server.ask(
            "SELECT status, origin FROM chatapp_turn WHERE conversation_id = ? "
            "ORDER BY started_at DESC LIMIT 1",
            self.id.hex,
        )
        return rows[0] if rows else ("", "")

    def page(self) -> str:
        """Return its page."""
        self.visitor.origin = self.server.origin
        return self.visitor.read(self.path)
