"""Connections to MCP servers: made once, kept for a while, and closed by everything that ends."""

import asyncio

import pytest

from chatapp.agent.errors import ServerFailed
from chatapp.project.network import PRIVATE, Guard
from chatapp.tools.mcp import pool as pools
from chatapp.tools.mcp.pool import Pool, forget, pool
from chatapp.tools.mcp.servers import Server, Way
from tests.chatapp.tools.mcp.conftest import User
from tests.chatapp.tools.mcp.offering import AtAddress


async def test_a_connection_that_nobody_uses_is_closed(web: User) -> None:
    """After a while, not while a call goes on; at once where its server was removed."""
    own = Pool(idle=0)
    async with own.use(web.server, web.folder, web.guard) as connection:
        await connection.refresh()
        assert not connection.ended
    await asyncio.wait([connection._task])
    assert connection.ended
    await own.close()
    async with pool().use(web.server, web.folder, web.guard) as connection:
        pass
    await asyncio.to_thread(forget, web.server.key + 1)
    await asyncio.to_thread(forget, web.server.key)
    await asyncio.wait([connection._task])
    assert connection.ended


async def test_what_is_removed_while_it_is_connected_to_fails_that_call_alone(web: User) -> None:
    """The turn that waits for it was not stopped; a call after it connects anew, and once."""
    lent = [pool().use(web.server, web.folder, web.guard) for _ in range(2)]
    waiting = asyncio.create_task(lent[0].__aenter__())
    await asyncio.sleep(0)
    pool().forget(web.server.key)
    async with lent[1] as connection:
        with pytest.raises(ServerFailed, match="changed or removed"):
            await waiting
    async with pool().use(web.server, web.folder, web.guard) as again:
        assert again is connection


async def test_a_connection_that_ended_leaves_the_next_one_alone(web: User) -> None:
    """A call that is over late closes its own, which the settings of the server had replaced."""
    async with pool().use(web.server, web.folder, web.guard) as first:
        pool().forget(web.server.key)
        await asyncio.wait([first._task])
        late = pool().use(web.server, web.folder, web.guard)
        second = await late.__aenter__()
        assert second is not first
    async with pool().use(web.server, web.folder, web.guard) as again:
        assert again is second
    await late.__aexit__(None, None, None)
    assert not second.ended


async def test_the_end_of_the_server_closes_all_connections(local: User) -> None:
    """And ends what runs as a command."""
    async with pool().use(local.server, local.folder, local.guard) as connection:
        assert not connection.ended
    await pool().close()
    assert connection.ended
    assert connection._transport._process.returncode is not None


async def test_other_secrets_are_another_connection(web: User) -> None:
    """What was changed is not used as it was."""
    async with pool().use(web.server, web.folder, web.guard) as connection:
        pass
    other = Server(web.server.key, "web", Way.HTTP, web.server.address, (("Authorization", "no"),))
    with pytest.raises(ServerFailed, match="HTTP 401"):
        async with pool().use(other, web.folder, web.guard):
            pass
    async with pool().use(web.server, web.folder, web.guard) as again:
        assert again is connection


async def test_no_more_than_so_many_are_open(web: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that rests longest makes room; where none rests, that is said."""
    monkeypatch.setattr(pools, "MAX_OPEN", 1)
    other = Server(3, "other", Way.HTTP, web.server.address, web.server.secrets)
    async with pool().use(web.server, web.folder, web.guard) as first:
        with pytest.raises(ServerFailed, match="Too many"):
            async with pool().use(other, web.folder, web.guard):
                pass
    async with pool().use(other, web.folder, web.guard):
        await asyncio.wait([first._task])


async def test_no_server_of_this_network_is_called(web: User, remote: AtAddress) -> None:
    """Unless the operator allows it, wherever a name says to lead the next time."""
    for host in ("127.0.0.1", "rebinding.example"):

        async def inside(_host: str, _port: int) -> list[str]:
            return ["93.184.216.34", "127.0.0.1"]

        web.server = Server(2, "web", Way.HTTP, f"http://{host}:1/mcp")
        web.guard = Guard(resolve=inside)
        with pytest.raises(ServerFailed, match=PRIVATE):
            await web.list()
        assert not remote.headers


async def test_a_port_where_nobody_listens_says_so(web: User) -> None:
    """In words, and without what the machine is called inside."""
    web.server = Server(2, "web", Way.HTTP, "http://127.0.0.1:1/mcp")
    with pytest.raises(ServerFailed, match=r"web: It could not be reached\. Nothing answers"):
        await web.list()
