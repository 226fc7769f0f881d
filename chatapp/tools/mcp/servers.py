"""An MCP server as its owner describes it, and why it can't be used."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from chatapp.agent.errors import ToolError

# Bytes of one message of a server, which is parsed while nothing else runs and may be the largest
# image; and of all that it sends before it is asked again.
MAX_MESSAGE = 5 * 1024 * 1024
MAX_ANSWER = 16 * 1024 * 1024
TOO_MUCH = "It sends more than this server takes. Ask it for less at once."

HIDDEN = "[hidden]"
# Characters; what is shorter is no secret, and would be found in other words.
_LEAST_SECRET = 6


class Way(enum.StrEnum):
    """How a server is reached."""

    HTTP = "http"
    COMMAND = "command"


class ServerFailed(ToolError):
    """A server could not do what was asked; the text is a sentence, for people and the model."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server: its ``address`` is a URL or a command, its ``secrets`` headers or variables.

    ``key`` tells it from all others; where the rest of it changes, connections are made anew.
    """

    key: int
    name: str
    way: Way
    address: str
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        """Return what the server said without its own secrets."""
        for secret in self._secret_words():
            text = text.replace(secret, HIDDEN)
        return text

    def _secret_words(self) -> Iterator[str]:
        """Yield the values, and their parts: of "Bearer abc" a server may repeat the second."""
        for _name, value in self.secrets:
            parts = [value.strip(), *value.split()]
            yield from (part for part in parts if len(part) > _LEAST_SECRET)
