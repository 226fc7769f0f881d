"""The tool port: tools as the loop sees them, their approval, and the outcome of a call."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import condense
from chatapp.agent.annotated_blocks import result_block
from chatapp.agent.errors import ToolError


class Access(enum.StrEnum):
    """What a tool does to the world outside the conversation."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


class Policy(enum.StrEnum):
    """Whether a tool may run: always, when a person says so each time, or never."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told about it.

    ``tally`` tells people what was done: once, and ``{count}`` times to different things. Unless
    the tool names a ``policy``, reading is allowed and anything else is asked about.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict, hash=False)
    tally: tuple[str, str] | None = None
    access: Access = Access.READ
    policy: Policy | None = None

    @property
    def default_policy(self) -> Policy:
        """Whether it may run where nobody has said anything about it."""
        return self.policy or (Policy.ALLOW if self.access is Access.READ else Policy.ASK)

    def to_api(self) -> dict[str, Any]:
        """Return the tool in the Messages API's shape."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": dict(self.input_schema),
        }


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool answered; ``text`` goes to the model, and ``images`` after it.

    ``user_words`` are what of the text the user said: an answer, or the reason of a refusal.
    """

    text: str
    is_error: bool = False
    images: tuple[condense.ImageBlock, ...] = ()
    user_words: str = ""

    def answer(self, call: condense.ToolUseBlock) -> condense.ToolResultBlock:
        """Return it as the result of a call."""
        text = condense.TextBlock(self.text)
        content: condense.Content = (text, *self.images) if self.images else self.text
        return result_block(call, content, is_error=self.is_error, words=self.user_words)


class Line(Protocol):
    """What a call that runs may say to those who watch, and ask."""

    def show(self, output: str) -> None:
        """Show the end of what it has put out so far; returns at once."""

    async def ask(self, question: str, answers: Sequence[str], /) -> str:
        """Return what a person answers; waits as long as it takes."""


class NoLine:
    """Nobody watches."""

    def show(self, output: str) -> None:
        """Let it go."""

    async def ask(self, _question: str, _answers: Sequence[str]) -> str:
        """Refuse: there is nobody."""
        raise ToolError("There is nobody here who could be asked.")


NO_LINE = NoLine()


class Toolbox(Protocol):
    """The tools of one conversation."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools the model may call."""

    async def run(
        self, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
    ) -> ToolOutcome:
        """Run one call; every failure comes back as an outcome with ``is_error``."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Which call a person is asked about: message ``seq`` holds it at ``place``, from 0.

    Its id does not name it: some servers give the same in every reply, or twice in one.
    """

    call: condense.ToolUseBlock
    seq: int
    place: int


class ApprovalPort(Protocol):
    """Lets calls run, or not; asks a person where nobody has decided yet."""

    async def permit(self, asking: Asking) -> ToolOutcome | None:
        """Return what the model is told where a call may not run, None where it may."""

    async def ask(self, asking: Asking, question: str, answers: Sequence[str]) -> str:
        """Return what a person answers; raise LeftWaiting once nobody waits any more."""

    def leave(self) -> None:
        """Wait for nobody any more: what waits raises LeftWaiting."""
