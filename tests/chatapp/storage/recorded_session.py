"""A conversation of which every request is on record."""

import random
from collections.abc import Sequence
from typing import Any

import condense
from chatapp.agent.events import SentRequest
from chatapp.agent.ports import Model, ModelRequest, ToolSpec
from chatapp.models import Conversation, Manifest, ModelCall, message_store
from chatapp.models.database import next_key, together
from chatapp.storage.request_log import RequestLog, unpack

MODEL = Model("claude-opus-5-5", 200_000, 1_000)
TOOLS = (ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {}}),)
SYSTEM = "You are kind."
WORDS = [f"word{number}" for number in range(2_000)]


class Session:
    """A conversation of which every request is recorded, as a run does it."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.begin()

    def begin(self) -> None:
        """Begin another run."""
        # It imports an SDK, for which no other test waits.
        from chatapp.providers.anthropic.request import AnthropicRequestWriter  # noqa: PLC0415

        self.writer = AnthropicRequestWriter(MODEL)
        self.log = RequestLog(self.conversation.pk)

    def say(self, role: condense.Role, *content: condense.Block) -> None:
        """Store a message."""
        message = condense.Message(role, content)
        message_store.append_message(self.conversation.pk, message, tokens=10)

    def use_tool(self, number: int, answer: str) -> None:
        """Store a call of a tool and its result."""
        use = condense.ToolUseBlock(f"call_{number}", "read_file", {"path": f"src/f{number}.py"})
        self.say("assistant", condense.TextBlock(f"I look at file {number}."), use)
        self.say("user", condense.ToolResultBlock(use.id, answer))

    def history(self) -> tuple[condense.Message, ...]:
        """Return what the model sees."""
        rows = message_store.effective_rows(self.conversation.pk)
        self.log.learn(rows)
        return condense.effective_history([message_store.to_engine(row) for row in rows])

    def send(self, messages: Sequence[condense.Message] | None = None) -> SentRequest:
        """Record a request of these messages, or of all the model sees."""
        shaped = condense.shape_request(self.history() if messages is None else messages)
        sent = self.writer.write(ModelRequest(SYSTEM, shaped, TOOLS))
        self.record(sent)
        return sent

    def record(self, sent: SentRequest) -> None:
        """Record a request."""
        compared = self.log.compare(sent)
        key, stored = together(next_key(ModelCall), self.log.looking(compared))
        names = {"purpose": "chat", "profile_name": "p", "model": "m"}
        call = ModelCall(pk=key, conversation=self.conversation, **names)
        self.log.written = self.log.store(call, sent, compared, stored)

    def added(self) -> list[Any]:
        """Return the items of the newest record."""
        items, _ = unpack(bytes(self.last().data))
        return [*items]

    def last(self) -> Manifest:
        """Return the newest record."""
        return Manifest.objects.latest("pk")


def text(count: int, seed: int) -> str:
    """Return some words, not the same for another seed."""
    return " ".join(random.Random(seed).choices(WORDS, k=count))  # noqa: S311 - no secret
