"""Heavy input holds up nobody else: the loop's beats come in time while it is worked on."""

import json
import os
import re
import signal
import sqlite3
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.chatapp.records.importers.exports import node
from tests.chatapp.server_processes import PATIENCE
from tests.chatapp.visitors import TOKEN, Visitor
from tests.first_start import FirstStart
from tests.processes import started

pytestmark = pytest.mark.soak

# Seconds of the processor that a beat may be late, and that an answer of /healthz may take; MB
# that an import may take; seconds of SAFE_POINT, and of the rest of a stop.
LATE, ANSWER, MEMORY, SAFE_POINT, STOP = 0.1, 1.0, 300, 5, 5
# Seconds that an import of ten thousand conversations may take on a busy machine.
LONGEST = 3_600


def tree(*texts: str) -> dict[str, Any]:
    """A conversation of ChatGPT."""
    nodes: dict[str, Any] = {}
    for at, text in enumerate(texts):
        role = ("user", "assistant")[at % 2]
        nodes |= node(f"n{at}", f"n{at - 1}" if at else None, role, text)
    return {"title": "Talk", "mapping": nodes, "current_node": f"n{len(texts) - 1}"}


def libre() -> dict[str, Any]:
    """A conversation of LibreChat of 61 MB."""
    ids, text = [f"m{at}" for at in range(56_000)], "lorem ipsum dolor sit amet, " * 36
    said = [
        {"messageId": own, "parentMessageId": parent, "text": text, "isCreatedByUser": at % 2 == 0}
        for at, (parent, own) in enumerate(zip(["", *ids], ids, strict=False))
    ]
    return {"conversationId": "c", "title": "Talk", "messages": said}


def talk(*texts: str) -> list[dict[str, str]]:
    """A list of messages."""
    return [
        {"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)
    ]


TABLE = "| a | b | c |\n|---|---|---|\n" + "| 1 | lorem **b** | `c` |\n" * 30_000
# What is sent, as a file or typed.
BATTERY: dict[str, Callable[[], Any]] = {
    "40 MB of one letter": lambda: [tree("Look.", "a" * 40_000_000)],
    "27 MB of one letter": lambda: [tree("Look.", "a" * 27_000_000)],
    "1 MB without a space": lambda: [tree("x9" * 500_000, "I see.")],
    "1,000,000 spaces": lambda: [tree("a" + " " * 1_000_000 + "b", "I see.")],
    "200,000 nodes": lambda: [tree(*["hi"] * 200_000)],
    "61 MB in one object": libre,
    "50,000 messages": lambda: talk(*[f"lorem ipsum {at}" for at in range(50_000)]),
    "a table of 30,000 rows": lambda: talk("A table?", TABLE, "Thanks.", "You are welcome."),
    "10,000 conversations": lambda: [tree("lorem?", "ipsum.")] * 10_000,
    "40 million values": lambda: [{**tree("a", "b"), "x": [[]] * 20_000_000}],
    "500,000 characters typed": lambda: "a" * 500_000,
    "a list of 125,000 items typed": lambda: "- a\n" * 125_000,
}


class Server:
    """A server whose loop beats, and somebody who is signed in."""

    def __init__(self, pid: int, link: str, data: Path) -> None:
        self.pid, self.data, self.visitor = pid, data, Visitor(link)
        self.late: dict[str, float] = {}
        self.answers: dict[str, float] = {}
        self._doing, self._over = "", threading.Event()
        threading.Thread(target=self._ask_for_health, daemon=True).start()

    @property
    def cpu(self) -> float:
        """Seconds of the processor that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, name: str) -> int:
        """Return the MB that it holds (VmRSS), or held at most (VmHWM)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(rf"{name}:\s+(\d+)", status)[0]) >> 10

    def ask(self, sql: str) -> list[Any]:
        """Return what its database has."""
        with closing(sqlite3.connect(self.data / "palimpsest.sqlite3", timeout=60)) as database:
            return database.execute(sql).fetchall()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Note how late the loop was while this was done, by the processor's time."""
        beats = self.data / "beats"
        before, self._doing = len(beats.read_text()), name
        yield
        time.sleep(0.2)
        rows = [line.split() for line in beats.read_text()[before:].splitlines()]
        # What the clock says counts only as far as this process has computed meanwhile.
        self.late[name] = max([min(float(one[1]), float(one[2])) for one in rows], default=0)

    def _ask_for_health(self) -> None:
        while not self._over.wait(0.2):
            try:
                began, cpu = time.monotonic(), self.cpu
                with urllib.request.urlopen(f"{self.visitor.origin}/healthz", timeout=PATIENCE):
                    took = min(time.monotonic() - began, self.cpu - cpu)
            except OSError:
                # It has ended, or says nothing.
                took = PATIENCE
            self.answers[self._doing] = max(self.answers.get(self._doing, 0), took)

    def stop(self) -> float:
        """Stop it, and return the seconds that it took: by the clock, as far as it computed."""
        self._over.set()
        began = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        while Path(f"/proc/{self.pid}/exe").exists():
            time.sleep(0.05)
        return time.monotonic() - began

    def send_file(self, content: Any) -> None:
        """Import a file to its end."""
        visitor, boundary = self.visitor, uuid.uuid4().hex
        visitor.read("/import/")
        parts = {
            'name="csrfmiddlewaretoken"': TOKEN.findall(visitor.read("/import/"))[0].encode(),
            'name="files"; filename="a.json"': json.dumps(content).encode(),
        }
        body = b"".join(
            f"--{boundary}\r\nContent-Disposition: form-data; {name}\r\n\r\n".encode()
            + data
            + b"\r\n"
            for name, data in parts.items()
        )
        visitor.send("/import/", body + f"--{boundary}--".encode(), boundary)
        until = time.monotonic() + LONGEST
        while not self.ask("SELECT 1 FROM chatapp_importrun WHERE finished_at IS NOT NULL"):
            assert time.monotonic() < until
            time.sleep(0.5)

    def say(self, frame: dict[str, Any]) -> None:
        """Send a frame, and return when the turn has ended."""
        with self.visitor.open_socket() as socket:
            socket.recv(PATIENCE)
            socket.send(json.dumps(frame | {"nonce": str(uuid.uuid4())}))
            began = False
            while True:
                told = json.loads(socket.recv(LONGEST))
                began = began or bool(told.get("turn"))
                ended = told["type"] == "status.changed" and began and not told["turn"]
                if ended or told["type"] == "refused":
                    return


@pytest.mark.parametrize("name", BATTERY)
def test_nothing_holds_up_the_loop(tmp_path: Path, first_start: FirstStart, name: str) -> None:
    """Import, message, pages, search, exports and condensations; memory, health and a stop."""
    data, content = first_start.copy(tmp_path), BATTERY[name]()
    known = {"DATA_DIR": str(data), "PORT": "0", "SAFE_POINT": str(SAFE_POINT)}
    with started("-m", "tests.heartbeat", **known) as (pid, link):
        server = Server(pid, link, data)
        idle = server.memory("VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        message = {"type": "message.send", "text": "hello"}
        if isinstance(content, str):
            server.visitor.post("/c/new/")
            with server.step("type"):
                server.say(message | {"text": content})
        else:
            with server.step("import"):
                server.send_file(content)
            taken = server.memory("VmHWM") - idle
            print(f"{name}: {taken} MB", file=sys.stderr)
            assert taken <= MEMORY
        if found := server.ask(
            "SELECT id FROM chatapp_conversation WHERE deleted_at IS NULL ORDER BY last_seq DESC"
        ):
            path = f"/c/{uuid.UUID(found[0][0])}/"
            for page in ("", "inspector/", "find/?q=lorem", "export/", "export/markdown/",
                         "export/html/"):  # fmt: skip
                with server.step(page or "page"):
                    server.visitor.read(path + page)
            with server.step("search"):
                server.visitor.read("/search/?q=lorem")
            server.visitor.read(path)
            with server.step("send"):
                server.say(message)
            with closing(sqlite3.connect(data / "palimpsest.sqlite3", timeout=60)) as database:
                database.execute("UPDATE chatapp_profile SET context_window = 20000")
                database.commit()
            with server.step("send in a small window"):
                server.say(message)
            with server.step("condense"):
                server.say({"type": "condense.start"})
        print(name, server.late, server.answers, file=sys.stderr)
        assert {step for step, late in server.late.items() if late > LATE} == set()
        assert {step for step, took in server.answers.items() if took > ANSWER} == set()
        assert server.stop() <= SAFE_POINT + STOP


@pytest.mark.parametrize(
    ("name", "begun"),
    [
        ("50,000 messages", "SELECT 1 FROM chatapp_message"),
        ("40 million values", "SELECT 1 FROM chatapp_importrun WHERE form <> ''"),
    ],
)
def test_a_stop_in_the_middle_of_an_import_ends_in_time(
    tmp_path: Path, first_start: FirstStart, name: str, begun: str
) -> None:
    """While it stores and while it reads; what is stored is removed at the next start."""
    data = first_start.copy(tmp_path)
    known = {"DATA_DIR": str(data), "PORT": "0", "SAFE_POINT": "0"}
    with started("-m", "tests.heartbeat", **known) as (pid, link):
        server = Server(pid, link, data)
        content = BATTERY[name]()
        threading.Thread(target=server.send_file, args=(content,), daemon=True).start()
        while not server.ask(begun):
            time.sleep(0.05)
        assert server.stop() <= STOP
