"""Real programs work through the gateway, and each session of theirs is one conversation.

CLIENTS names the folder in which these were installed: ``npm install @anthropic-ai/claude-code
@openai/codex opencode-ai``. Whatever else they would reach is behind a proxy that nobody runs.
"""

import asyncio
import itertools
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, override

import pytest
from aiohttp import web
from asgiref.sync import sync_to_async
from backports import zstd
from django.contrib.auth.models import User
from django.test import Client as Browser

from chatapp.gateway import recording
from chatapp.gateway.application import gateway
from chatapp.models import (
    ApiToken,
    ClientConversation,
    Condensation,
    Conversation,
    Message,
    ModelCall,
)
from chatapp.operations import background_jobs
from tests.chatapp.gateway.agents import HEADING, Agent, Claude, Codex, page_of, press, start
from tests.chatapp.gateway.clients import mains, told_by
from tests.chatapp.gateway.streams import event
from tests.standin.behaviours import Behaviour, Reply
from tests.standin.raw_server import RawServer, Script
from tests.standin.server import Standin

pytestmark = pytest.mark.soak

# Its sandbox needs a helper that it does not install below /tmp.
CODEX = """model_provider = "here"
model = "gpt-6.1-sol"
model_auto_compact_token_limit = 60000
sandbox_mode = "danger-full-access"
[model_providers.here]
name = "Here"
base_url = "{base}/v1"
env_key = "TOKEN"
wire_api = "responses"
"""
# By the name of its file: how each is asked, and asked again in the same session.
PROGRAMS = {
    "claude": (["-p"], ["--continue", "-p"]),
    "codex": (
        ["exec", "--skip-git-repo-check"],
        ["exec", "--skip-git-repo-check", "resume", "--last"],
    ),
    "opencode": (["run"], ["run", "--continue"]),
}
# Words that have it read a file.
READS = {
    "claude": ['call Read {"file_path":"PLACE"}'],
    "codex": ["""call exec {"input":"text(await tools.exec_command({cmd:'cat PLACE'}))"}"""],
    "opencode": ["call", "read", '{"filePath":"PLACE"}'],
}
WINDOWS = {"claude": 48_000, "codex": 36_000, "opencode": 32_000}


def events(*told: Mapping[str, Any]) -> list[bytes]:
    """Return events as either API writes them."""
    return [
        event(one["type"], **{name: value for name, value in one.items() if name != "type"})
        for one in told
    ]


def answer_with(text: str, body: bytes) -> Script:
    """Return an answer in the API of a request, which reads a note first if it is to."""
    told = json.loads(body if body[:1] == b"{" else zstd.decompress(body))
    if "input" in told:
        item = {"type": "message", "role": "assistant", "id": "m", "status": "completed"}
        item |= {"content": [{"type": "output_text", "text": text, "annotations": []}]}
        response: dict[str, Any] = {"id": f"r {text}", "output": [item], "usage": None}
        return Script(
            events(
                {"type": "response.created", "response": {"id": f"r {text}"}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            )
        )
    last = json.dumps(told["messages"][-1])
    tools = [one["name"] for one in told.get("tools", ()) if one.get("name") in {"Read", "read"}]
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": text}
    if tools and "note.txt" in last and "tool_result" not in last:
        path = {"file_path": "note.txt", "filePath": "note.txt"}
        block = {"type": "tool_use", "id": f"toolu_{text}", "name": tools[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(path)}
    start = {"id": f"msg {text}", "type": "message", "role": "assistant", "content": []}
    start |= {"model": told["model"], "usage": {"input_tokens": 9, "output_tokens": 1}}
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    return Script(
        events(
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason},
                "usage": {"output_tokens": 2},
            },
            {"type": "message_stop"},
        )
    )


async def serve(request: web.Request) -> web.StreamResponse:
    """Have the gateway answer a request from a socket."""
    path = request.rel_url.raw_path
    scope = {"type": "http", "method": request.method, "path": path, "client": ("127.0.0.1", 1)}
    scope |= {"headers": request.raw_headers, "query_string": request.query_string.encode()}
    body, answer = await request.read(), web.StreamResponse()
    messages = iter([{"type": "http.request", "body": body}])

    async def receive() -> Any:
        return next(messages, None) or await asyncio.Event().wait()

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.set_status(message["status"])
            for name, value in message["headers"]:
                if name.lower() != b"content-length":
                    answer.headers.add(name.decode(), value.decode("latin1"))
            await answer.prepare(request)
        else:
            await answer.write(message.get("body", b""))

    await gateway(scope, receive, send)
    return answer


@pytest.fixture
async def base() -> AsyncIterator[str]:
    """The gateway's address on a port of its own."""
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/{path:.*}", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/gateway"
    await runner.cleanup()


def found(name: str) -> str:
    """Return the path of a program."""
    folder = Path(os.environ.get("CLIENTS", "/nowhere"))
    files: Iterator[Path] = folder.glob(f"node_modules/**/{name}")
    path = next((str(one) for one in files if one.is_file() and os.access(one, os.X_OK)), "")
    if not path:
        pytest.skip(f"CLIENTS names no folder with {name}.")
    return path


def home(folder: Path, base: str, token: str) -> dict[str, str]:
    """Return the environment of a program that is set up in a folder."""
    options = {"baseURL": f"{base}/v1", "apiKey": token}
    model = {"limit": {"context": 64_000, "output": 4_000}}
    providers = {"anthropic": {"options": options, "models": {"claude-opus-5": model}}}
    for name, text in {
        ".codex/config.toml": CODEX.format(base=base),
        ".config/opencode/opencode.json": json.dumps(
            {"model": "anthropic/claude-opus-5", "autoupdate": False, "provider": providers}
        ),
        "note.txt": "a note",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "TOKEN": token,
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_AUTH_TOKEN": token,
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000",
        "ANTHROPIC_MODEL": "claude-opus-5",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_program_is_answered_and_recorded(
    upstream: RawServer, token: str, base: str, tmp_path: Path, name: str
) -> None:
    """Asked, and asked again in the same session; a tool runs where it has one for the note."""
    program, numbers = found(name), itertools.count(1)
    upstream.default = lambda body: answer_with(f"Answer {next(numbers)}.", body)
    how = {"cwd": tmp_path, "env": home(tmp_path, base, token), "stdin": subprocess.DEVNULL}
    asked = ("What is in note.txt?", "And what else?")
    for options, words in zip(PROGRAMS[name], asked, strict=True):
        done = await asyncio.to_thread(
            subprocess.run, [program, *options, words], capture_output=True, text=True, **how
        )
        assert done.returncode == 0, done.stderr
        assert "Answer" in done.stdout
    await recording.settle()

    def read() -> list[list[tuple[str, str]]]:
        return [told_by(one) for one in mains()]

    (shown,) = await sync_to_async(read)()
    for words in asked:
        assert len([text for _role, text in shown if words in text]) == 1
    assert shown[-1][0] == "assistant"
    assert shown[-1][1].startswith("Answer")
    assert await ModelCall.objects.filter(status="succeeded").acount() == len(upstream.bodies)


class Thinker(Standin):
    """A strict server whose answers begin with a thought, if it ``thinks``."""

    thinks = True

    @override
    def next(self, body: Mapping[str, Any]) -> Behaviour:
        behaviour = super().next(body)
        is_own = self.thinks and isinstance(behaviour, Reply)
        return replace(behaviour, thinking="Hm.") if is_own else behaviour


@pytest.fixture
def anthropic_standin() -> Iterator[Standin]:
    """A server with a large window."""
    with Thinker(window=2_000_000) as standin:
        yield standin


@dataclass
class Session:
    """A program's session in a folder, with the token of an agent."""

    name: str
    agent: Agent
    folder: Path
    base: str
    asked: int = 0

    async def read_file(self) -> Sequence[Any]:
        """Have it read another file; return its newest request as its provider reads it."""
        place, options = self.folder / f"{self.asked}.txt", PROGRAMS[self.name][self.asked > 0]
        place.write_text("\n".join([self.agent.words(12) for _number in range(250)]))
        words = [one.replace("PLACE", str(place)) for one in READS[self.name]]
        how: Any = {"cwd": self.folder, "env": home(self.folder, self.base, self.agent.token)}
        how |= {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        program = [found(self.name), *options, *words]
        done = await asyncio.to_thread(subprocess.run, program, **how)
        assert (done.returncode, self.agent.standin.problems) == (0, []), done.stderr
        assert "The tool answered" in done.stdout
        self.asked += 1
        await recording.settle()
        await background_jobs.close()
        self.agent.session = (await ClientConversation.objects.aget(parent=None)).session
        # All others are for a title or a summary.
        raw = [one.raw for one in self.agent.standin.requests if b'"tools":' in one.raw]
        newest = [one for one in raw if b"<summary>" not in one][-1]
        return self.agent.read(json.loads(newest)[self.agent.key])


@pytest.fixture(params=PROGRAMS)
async def session(
    standin: Standin, alice: User, base: str, tmp_path: Path, request: Any
) -> Session:
    """A session of each program, whose token condenses."""
    found(request.param)
    kind = Codex if request.param == "codex" else Claude
    agent = await start(kind, standin, alice, window=WINDOWS[request.param])
    return Session(request.param, agent, tmp_path, base)


async def test_a_program_goes_on_with_a_fold_and_its_undo(
    session: Session, browser: Browser
) -> None:
    """Its provider, which binds thinking to all before it, refuses nothing."""
    while not await Condensation.objects.acount():
        await session.read_file()
    folded = await session.read_file()
    assert HEADING in str(folded)
    await press(browser, session.agent, "undo")
    assert HEADING not in str(await session.read_file())
    await press(browser, session.agent, "redo")
    again = await session.read_file()
    # On a busy machine the second summary may be there by now.
    assert again[: len(folded)] == folded or await Condensation.objects.acount() > 1
    assert HEADING in str(again)


async def test_a_programs_own_compaction_is_a_row_with_the_originals(
    session: Session, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It follows from the usage that its provider reports."""
    # What the programs keep of their history has thinking that was bound to all of it.
    monkeypatch.setattr(Thinker, "thinks", False)
    await ApiToken.objects.aupdate(mode="record")
    for _number in range(2):
        await session.read_file()
    server = session.agent.standin
    for factor in (7.0, 1.0):
        server.factor = server.cache.factor = factor
        await session.read_file()
    assert "The client replaced its history" in await page_of(session.agent, alice)
    assert await ModelCall.objects.filter(purpose="summary", status="succeeded").acount()
    assert await Message.objects.exclude(rewind_parent=None).acount() > 4
    assert await Conversation.objects.filter(client__parent=None).acount() == 1
