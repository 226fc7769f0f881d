"""Servers to connect to, and the tools that a model has of them."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from chatapp.agent.ports import NO_LINE, Line, ToolOutcome
from chatapp.project.network import Guard
from chatapp.tools import WorkspaceToolbox
from chatapp.tools.long_outputs import Outputs
from chatapp.tools.mcp.pool import CallContext, RemoteTool, list_tools, pool
from chatapp.tools.mcp.servers import Listing, Server, Way
from tests.chatapp.tools.mcp import offering, small_server

SECRET = "correct-horse"


class User:
    """Whoever has a server: its tools as they were listed, and what is heard of it since."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.outputs = folder.parent / "outputs"
        self.guard = Guard(allow_private=True)
        self.listing = Listing(())
        self.heard: list[Listing] = []

    async def list(self) -> Listing:
        """List the server's tools, and know them from now on."""
        self.listing = await list_tools(self.server, self.folder, self.guard)
        return self.listing

    async def call(self, tool: str, line: Line = NO_LINE, **arguments: object) -> ToolOutcome:
        """Call a tool as the model does."""
        if not self.listing.definitions:
            async with pool().use(self.server, self.folder, self.guard) as connection:
                self.listing = connection.listing
        return await self.toolbox().run(f"{self.server.name}__{tool}", arguments, line)

    async def failure(self, tool: str, **arguments: object) -> str:
        """Call a tool, and return what is said of its failure."""
        outcome = await self.call(tool, **arguments)
        assert outcome.is_error
        return outcome.text

    def toolbox(self) -> WorkspaceToolbox:
        """Return the model's tools."""
        place = CallContext(self.folder, self.outputs, self.guard, self._hear)
        tools = [RemoteTool(self.server, one, place) for one in self.listing.definitions]
        return WorkspaceToolbox(
            self.folder,
            offers={Outputs: lambda _line: Outputs(self.outputs)},
            foreign={tool.definition.name: tool for tool in tools},
        )

    async def _hear(self, _key: int, listing: Listing) -> None:
        self.heard.append(listing)


def command(address: str = "") -> Server:
    """Return a server that is a command; the small one, unless told."""
    own = f"{sys.executable} -IS {small_server.__file__}"
    return Server(1, "local", Way.COMMAND, address or own, (("TOKEN", SECRET),))


@pytest.fixture
async def local(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncIterator[User]:
    """A server that is a command, out of any sandbox, in which the tests' Python is not."""
    monkeypatch.setenv("PATH", str(tmp_path))
    yield User(command(), folder)
    await pool().close()


@pytest.fixture
def remote() -> Iterator[offering.AtAddress]:
    """A server at an address, which wants to be shown the secret."""
    with offering.AtAddress(offering.Offering(), token=SECRET) as server:
        yield server


@pytest.fixture
async def web(folder: Path, remote: offering.AtAddress) -> AsyncIterator[User]:
    """Whoever has it."""
    secrets = (("Authorization", f"Bearer {SECRET}"),)
    yield User(Server(2, "web", Way.HTTP, remote.url, secrets), folder)
    await pool().close()


@pytest.fixture(params=["local", "web"])
def user(request: pytest.FixtureRequest) -> User:
    """Whoever has either."""
    found: User = request.getfixturevalue(request.param)
    return found
