"""Sessions of programs: what each sends, and what it believes was said."""

import json
import random
import uuid
from typing import Any

from chatapp.models import Conversation
from tests.chatapp.gateway.programs import body_of, said_in, visit
from tests.standin.raw_server import RawServer, Script

TOOLS = [
    {"name": name, "description": "x", "input_schema": {}} for name in ("Read", "Edit", "Task")
]
SYSTEM = [{"type": "text", "text": "You are an agent.\nBe brief.\nUse tools."}]


def reply_with(text: str) -> Script:
    """Return an answer of the Messages API that says a text."""
    content = [{"type": "text", "text": text}]
    told = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant"}
    told |= {"content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 1}}
    return Script([json.dumps(told).encode()], headers=("content-type: application/json",))


NAMES = {
    "claude": ["x-claude-code-session-id"],
    "opencode": ["x-session-affinity"],
    "webui": ["x-openwebui-chat-id"],
    "codex": ["session-id", "thread-id"],
}


class Client:
    """A session of a program: what it sends, and what it believes was said."""

    def __init__(self, upstream: RawServer, token: str, style: str, first: str = "") -> None:
        self.upstream, self.token, self.style = upstream, token, style
        self.session = str(uuid.uuid4())
        self.history: list[tuple[str, str]] = []
        self.first = first
        # The request for a title, which is all there is of some sessions.
        self.named: list[tuple[str, str]] = []

    @property
    def headers(self) -> dict[str, str]:
        """What names the session, if anything does."""
        return dict.fromkeys(NAMES.get(self.style, ()), self.session)

    def messages(self) -> list[dict[str, Any]]:
        """Return the history as this program writes it: marks and reminders move."""
        made = []
        for number, (role, text) in enumerate(self.history):
            block: dict[str, Any] = {"type": "text", "text": text}
            if number == len(self.history) - 1:
                block["cache_control"] = {"type": "ephemeral"}
            blocks = [block]
            if number == 0 and self.style == "claude":
                day = f"<system-reminder>\nIt is {random.random()}.\n</system-reminder>"  # noqa: S311
                blocks.insert(0, {"type": "text", "text": day})
            made.append({"role": role, "content": blocks})
        return made

    async def post(self, messages: list[dict[str, Any]], *, agent: str = "", **more: Any) -> str:
        """Send a request, and return the words of the answer; an agent's has its own thread."""
        about: dict[str, Any] = {"model": "claude-opus-5", "system": SYSTEM, "tools": TOOLS}
        if self.style == "metadata":
            name = json.dumps({"device_id": "d", "session_id": self.session})
            about["metadata"] = {"user_id": name}
        body = body_of(**about | more, messages=messages)
        own = {"codex": "thread-id", "claude": "x-claude-code-agent-id"}
        headers = self.headers | ({own[self.style]: agent} if agent else {})
        answer = await visit("/v1/messages", self.token, body, **headers)
        return str(json.loads(answer.body)["content"][0]["text"])

    async def say(self, text: str) -> None:
        """Go on with a message."""
        self.history.append(("user", text))
        self.history.append(("assistant", await self.post(self.messages())))

    async def retry(self) -> None:
        """Ask for the last answer again."""
        # Without a name, an answered question alone is anybody's.
        if self.history[2 * (self.style == "plain") :]:
            del self.history[-1]
            self.history.append(("assistant", await self.post(self.messages())))

    async def edit(self, text: str) -> None:
        """Go back to an earlier message, and say something else there."""
        # Without a name, all behind a first answer that others got, too, is anybody's.
        first = 4 if self.style == "plain" else 2
        places = [*range(first, len(self.history), 2)]
        if places:
            del self.history[random.choice(places) :]  # noqa: S311
            await self.say(text)

    async def compact(self, text: str) -> None:
        """Put a summary in place of the whole history."""
        if self.style == "opencode" and self.history:
            asked = f"Here is the conversation so far:\n\n<conversation>\n{text}\n</conversation>"
            await self.post([{"role": "user", "content": asked}], system="Summarise.", tools=[])
        if self.style != "plain" and self.history:
            said = f"This session is being continued from a previous conversation. {text}"
            self.history = [("user", said)]
            self.history.append(("assistant", await self.post(self.messages())))

    async def delegate(self, text: str) -> None:
        """Have an agent of the session do something, which goes on once."""
        if self.style in {"codex", "claude"} and self.history:
            told = [{"role": "user", "content": text}]
            said = await self.post(told, agent=text)
            told += [{"role": "assistant", "content": said}, {"role": "user", "content": "More."}]
            await self.post(told, agent=text)

    async def suggest(self, what: str) -> None:
        """Ask what the user may say next, with all of the talk."""
        if self.style == "claude" and self.history:
            asked = {"role": "user", "content": f"[SUGGESTION MODE: {what}]"}
            await self.post([*self.messages(), asked])

    async def title(self) -> None:
        """Ask for a title beside the talk, with its first words."""
        if self.style != "plain":
            asked = [{"role": "user", "content": self.first or "Name this."}]
            more: Any = {"system": "Name the talk.", "tools": [], "model": "claude-haiku-5"}
            self.named = [
                ("user", asked[0]["content"]),
                ("assistant", await self.post(asked, **more)),
            ]


def mains() -> list[Conversation]:
    """Return the conversations that stand beside no other."""
    return [*Conversation.objects.filter(client__parent=None).order_by("created_at")]


def told_by(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the words of a conversation as its client has them, without reminders."""
    said = said_in(conversation)
    return [(role, text.split("</system-reminder>")[-1].strip()) for role, text in said]
