"""Agents with tools, one for each API: what they send, and what reaches their provider."""

import gzip
import json
import random
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, override

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client as Browser

from chatapp.models import ApiToken, Condensation, Conversation
from chatapp.operations import background_jobs
from tests.chatapp.claude import answered_by
from tests.chatapp.gateway.programs import Answer, token_of, visit
from tests.standin.behaviours import Behaviour, Reply, ToolCall
from tests.standin.server import Standin
from tests.standin.thinking import unmarked

WINDOW = 10_000
# Begins each summary.
HEADING = "Conversation Summary"
WORDS = (
    *("river", "stone", "window", "garden", "paper", "candle"),
    *("mountain", "letter", "engine", "harbour", "silver", "meadow"),
)

Item = dict[str, Any]


@dataclass
class Agent(ABC):
    """A session of a program: its ``history`` as it would send it, in the items of its API."""

    standin: Standin
    token: str
    seed: int = 1
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    history: list[Item] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    # Each request as its provider has read it.
    requests: list[list[Any]] = field(default_factory=list)
    # What else this agent sends, and its newest request.
    about: Mapping[str, Any] = field(default_factory=dict)
    written: bytes = b""
    raw: bytes = b""
    # Every so many requests one is sent again.
    retries: int = 0

    path = "/v1/messages"
    key = "messages"
    tools: ClassVar[tuple[str, ...]] = ("read",)

    def __post_init__(self) -> None:
        """Say the same words in each run."""
        self.dice = random.Random(self.seed)  # noqa: S311

    @abstractmethod
    def user(self, text: str) -> list[Item]:
        """Return a message of the user."""

    @abstractmethod
    def result(self, name: str, text: str) -> list[Item]:
        """Return the result of a call, or add it to that of another one."""

    @abstractmethod
    def answer(self, body: Mapping[str, Any]) -> None:
        """Add an answer to the history, and note its calls."""

    def items(self) -> list[Item]:
        """Return the history as this request has it."""
        return self.history

    def body(self) -> dict[str, Any]:
        """Return all else of a request."""
        return {"model": "gpt-6.1-sol"}

    def words(self, count: int = 500) -> str:
        """Return words that nobody has said yet."""
        return " ".join([*self.dice.choices(WORDS, k=count), str(self.dice.random())])

    async def send(self, path: str = "", *, is_packed: bool = False, **more: Any) -> Answer:
        """Send the history; the answer is no part of it yet."""
        whole = self.body() | self.about | more | {self.key: self.items()}
        # Programs write JSON as they like.
        form: Any = [{}, {"indent": 1}, {"ensure_ascii": False, "separators": (",", ":")}]
        body = json.dumps(whole, **form[len(self.requests) % 3]).encode()
        self.written = body
        named = {"x_palimpsest_conversation": self.session, "anthropic_version": "2023-06-01"}
        if is_packed:
            body, named = gzip.compress(body), {**named, "content_encoding": "gzip"}
        return await visit(path or self.path, self.token, body, **named)

    async def say(self, text: str, *answers: Behaviour, waits: bool = True) -> None:
        """Go on with a message, and take the answer in; more answers are for what follows."""
        self.history += self.user(text)
        await self.go_on(*answers, waits=waits)

    async def use_tool(self, *answers: Behaviour, waits: bool = True) -> None:
        """Answer all calls, and take the next answer in."""
        calls, self.calls = self.calls, []
        for name in calls:
            self.history += self.result(name, self.words())
        await self.go_on(*answers, waits=waits)

    async def go_on(self, *answers: Behaviour, waits: bool = True) -> None:
        """Have the history answered, and wait until all that follows from that is stored."""
        if self.retries and len(self.requests) % self.retries == 0:
            # Its line broke, and nothing of the answer has arrived.
            self.standin.reply("Lost.", thinking="Lost, too.")
            await self.send()
            await background_jobs.close()
        self.standin.then(*(answers or [self.reply()]))
        known = len(self.standin.requests)
        answer = await self.send()
        assert answer.status == 200, answer.body
        self.answer(json.loads(answer.body))
        # A summary may be asked for behind it already.
        sent = next(one for one in self.standin.requests[known:] if one.path == self.path)
        self.requests.append(self.read(sent.body[self.key]))
        self.raw = sent.raw
        if waits:
            await background_jobs.close()

    def reply(self) -> Reply:
        """Return an answer, which may think or call tools."""
        calls = self.dice.choice([0, 0, 1, 2])
        names = (self.tools * 2)[:calls]
        tools = [ToolCall(name, {"path": self.words(3)}) for name in names]
        return Reply(self.words(200), tools=tools, thinking=self.words(50))

    async def grow(self) -> None:
        """Go on until another fold was made, not behind an answer that was lost."""
        made = Condensation.objects.filter(conversation__client__session=self.session)
        count = made.filter(message__rewind_parent=None).acount
        known = await count()
        while await count() == known:
            await self.turn()

    async def turn(self) -> None:
        """Say something, and have all tools answered."""
        await self.say(self.words())
        while self.calls:
            await self.use_tool()

    def sent(self) -> list[Any]:
        """Return the items that reached the provider last, as it reads them."""
        newest = [one for one in self.standin.requests if one.path == self.path][-1]
        return self.read(newest.body[self.key])

    def read(self, items: Sequence[Item]) -> list[Any]:
        """Return items without marks for a cache; a text is the same as a block of it."""
        told = unmarked(items)
        for one in told:
            if isinstance(one.get("content"), str):
                one["content"] = [{"type": "text", "text": one["content"]}]
        return list(told)


@dataclass
class Claude(Agent):
    """It speaks as Claude Code does: a text is a string, or a block with a mark that moves."""

    @override
    def user(self, text: str) -> list[Item]:
        told = {"role": "system", "content": f"Rules: {self.words(30)}"}
        return [{"role": "user", "content": text}, *([] if self.history else [told])]

    @override
    def result(self, name: str, text: str) -> list[Item]:
        block = {"type": "tool_result", "tool_use_id": name, "content": text}
        if self.history[-1]["role"] == "user":
            self.history[-1]["content"].append(block)
            return []
        return [{"role": "user", "content": [block]}]

    @override
    def answer(self, body: Mapping[str, Any]) -> None:
        self.history.append({"role": "assistant", "content": body["content"]})
        self.calls = [one["id"] for one in body["content"] if one["type"] == "tool_use"]

    @override
    def items(self) -> list[Item]:
        *before, last = self.history
        if last["role"] != "user" or not isinstance(last["content"], str):
            return self.history
        mark = {"cache_control": {"type": "ephemeral"}}
        return [*before, {**last, "content": [{"type": "text", "text": last["content"], **mark}]}]

    @override
    def body(self) -> dict[str, Any]:
        tool = {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}
        told = {"model": "claude-opus-5", "max_tokens": 400, "system": "You are an agent."}
        return {**told, "tools": [tool], "thinking": {"type": "adaptive"}}


@dataclass
class Chat(Agent):
    """It speaks chat completions."""

    path = "/v1/chat/completions"

    @override
    def user(self, text: str) -> list[Item]:
        rules = {"role": "system", "content": "You are an agent.\nBe brief.\nUse tools."}
        first = [] if self.history else [rules]
        return [*first, {"role": "user", "content": text}]

    @override
    def result(self, name: str, text: str) -> list[Item]:
        return [{"role": "tool", "tool_call_id": name, "content": text}]

    @override
    def answer(self, body: Mapping[str, Any]) -> None:
        said = body["choices"][0]["message"]
        self.history.append(said)
        self.calls = [one["id"] for one in said.get("tool_calls", ())]

    @override
    def body(self) -> dict[str, Any]:
        tool = {"name": "read", "parameters": {"type": "object", "properties": {}}}
        return {"model": "gpt-6.1-sol", "tools": [{"type": "function", "function": tool}]}


@dataclass
class Codex(Agent):
    """It speaks as Codex does: the Responses API, with tools and rules of the developer first."""

    path = "/v1/responses"
    key = "input"
    tools = ("read", "exec")

    @override
    def user(self, text: str) -> list[Item]:
        kinds = zip(("function", "custom"), self.tools, strict=True)
        offered = [{"type": kind, "name": name} for kind, name in kinds]
        space = {"type": "namespace", "name": "functions", "tools": offered}
        tools = {"type": "additional_tools", "role": "developer", "tools": [space]}
        rules = {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}
        said = {"role": "user", "content": [{"type": "input_text", "text": text}]}
        first = [] if self.history else [tools, {"type": "message", **rules}]
        return [*first, {"type": "message", **said}]

    @override
    def result(self, name: str, text: str) -> list[Item]:
        kinds = [one["type"] for one in self.history if one.get("call_id") == name]
        return [{"type": f"{kinds[0]}_output", "call_id": name, "output": text}]

    @override
    def answer(self, body: Mapping[str, Any]) -> None:
        self.history += body["output"]
        self.calls = [one["call_id"] for one in body["output"] if "call_id" in one]

    @override
    def body(self) -> dict[str, Any]:
        return {"model": "gpt-6.1-sol", "store": False}


AGENTS: tuple[type[Agent], ...] = (Claude, Chat, Codex)


async def start(
    kind: type[Agent],
    standin: Standin,
    owner: User,
    mode: str = "condense",
    window: int = WINDOW,
    **more: Any,
) -> Agent:
    """Return an agent with a token of its own; its model has a small window."""

    def make() -> str:
        is_claude = kind is Claude
        told = ("anthropic", "claude-opus-5") if is_claude else ("openai", "gpt-6.1-sol")
        url = standin.url if is_claude else f"{standin.url}/v1"
        token = token_of(owner, answered_by(owner, *told, url, context_window=window))
        ApiToken.objects.filter(digest=ApiToken.digest_of(token)).update(mode=mode)
        return token

    return kind(standin, await sync_to_async(make)(), **more)


async def talk_of(agent: Agent) -> Conversation:
    """Return the conversation of an agent."""
    return await Conversation.objects.aget(client__session=agent.session, client__parent=None)


async def press(browser: Browser, agent: Agent, button: str) -> None:
    """Undo or redo the fold of an agent, as the page offers it."""
    talk, made = await talk_of(agent), await Condensation.objects.aget()
    address = f"/c/{talk.pk}/condensations/{made.pk}/{button}/"

    def do() -> None:
        assert address in browser.get(f"/c/{talk.pk}/").content.decode()
        assert browser.post(address).status_code < 400

    await sync_to_async(do)()


async def page_of(agent: Agent, owner: User) -> str:
    """Return the page of an agent's conversation."""
    talk = await talk_of(agent)

    def read() -> str:
        browser = Browser()
        browser.force_login(owner)
        return browser.get(f"/c/{talk.pk}/").content.decode()

    return await sync_to_async(read)()
