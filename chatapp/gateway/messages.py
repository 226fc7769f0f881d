"""The Messages API: its requests and streams."""

from typing import Any, override

import condense
from chatapp.agent.tool_arguments import read_arguments
from chatapp.gateway.dialects import KINDS, Dialect, Json, RequestFacts
from chatapp.providers.anthropic.reply import AnthropicReply
from chatapp.records.importers.claude_code import Session
from chatapp.records.transfer.source_texts import fields, joined, listed


class _MessagesTranscript(Session):
    """The history of a request, item by item."""

    @override
    def take(self, index: int, item: Any, /) -> None:
        is_told = fields(item).get("role") == "system"
        if message := self.checked(index, {**item, "role": "user"} if is_told else item):
            blocks = self.mark(message["role"], message["content"])
            if is_told:
                blocks = [one | {condense.USER_WORDS: ""} for one in blocks]
            last = self.messages[-1] if self.messages else {}
            if message["role"] == "assistant" == last.get("role"):
                last["content"] += blocks
            else:
                self.add_message({"role": message["role"], "content": blocks})


def _read(body: Json) -> RequestFacts:
    named = fields(body.get("metadata")).get("user_id")
    return RequestFacts(
        items=listed(body.get("messages")),
        system=joined(body.get("system")),
        tools=[str(fields(one).get("name")) for one in listed(body.get("tools"))],
        session=_session_in(named) if isinstance(named, str) else "",
        keeps_thinking=fields(body.get("thinking")).get("type") == "enabled",
    )


def _session_in(name: str) -> str:
    """Return the session in a user id of Claude Code, in its form of today or the one before."""
    told = read_arguments(name) if name.startswith("{") else {}
    before, _, session = name.rpartition("_session_")
    return str(told.get("session_id") or (session if before else ""))


def _refuse(status: int, said: str) -> Json:
    return {"type": "error", "error": {"type": KINDS.get(status, "api_error"), "message": said}}


DIALECT = Dialect(
    name="messages",
    provider="anthropic",
    history="messages",
    paths=frozenset({"/v1/messages"}),
    beside=frozenset({"/v1/messages/count_tokens"}),
    counting=frozenset({"/v1/messages/count_tokens"}),
    read=_read,
    transcript=_MessagesTranscript,
    reply=AnthropicReply,
    refuse=_refuse,
    # Programs write a text as a string or as a block, from one request to the next.
    merged=False,
    bound=frozenset({"thinking", "redacted_thinking"}),
)
