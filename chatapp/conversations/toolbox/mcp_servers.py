"""A user's MCP servers: a conversation's tools from them, and their latest lists."""

import asyncio
import logging
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chatapp.agent.errors import ServerFailed
from chatapp.agent.ports import ToolSpec
from chatapp.models import McpServer, ServerSettings
from chatapp.models.errors import DecryptionFailed, Refused
from chatapp.project.network import Guard
from chatapp.project.sentences import translate as _
from chatapp.tools.mcp import pool
from chatapp.tools.mcp.pool import CallContext, RemoteTool, list_tools
from chatapp.tools.mcp.servers import Listing, Way

log = logging.getLogger(__name__)


def may_run(server: McpServer) -> bool:
    """Return True if the operator allows the server; for a command, ALLOW_COMMANDS decides."""
    return server.way == Way.HTTP or bool(settings.ALLOW_COMMANDS)


def specs_of(servers: Iterable[McpServer]) -> dict[str, ToolSpec]:
    """Return the tools of servers by name, as the model sees them."""
    return {
        one.name: one.spec(server.described())
        for server in servers
        if may_run(server)
        for one in server.offered
    }


def tools_of(
    servers: Iterable[McpServer], folder: Path, outputs: Path, *, commands: bool
) -> Mapping[str, RemoteTool]:
    """Return the tools of servers, by name; servers whose secrets are lost are left out.

    Unless ``commands`` may run in the folder, only servers that have an address are there.
    """
    guard = Guard(settings.ALLOW_PRIVATE_ADDRESSES)
    place = CallContext(folder, outputs, guard, sync_to_async(keep_listing))
    tools: dict[str, RemoteTool] = {}
    for row in servers:
        if not may_run(row) or not (commands or row.way == Way.HTTP):
            continue
        try:
            server = row.reached()
        except DecryptionFailed:
            log.warning("the secrets of MCP server %s can't be read", row.pk)
            continue
        tools |= {one.name: RemoteTool(server, one, place) for one in row.offered}
    return tools


@transaction.atomic
def keep_listing(key: int, listing: Listing) -> None:
    """Store a server's list of tools, for the next turn.

    Tools that its owner has not seen so are marked, unless all are new.
    """
    row = McpServer.objects.select_for_update(no_key=True).filter(pk=key).first()
    if row is None:
        return
    known = {one.tool: one for one in row.definitions}
    news = {one.tool for one in listing.definitions if known.get(one.tool) != one}
    if row.listed_at:
        row.unseen = sorted(news.union(row.unseen) & {one.tool for one in listing.definitions})
    row.tools = [asdict(one) for one in listing.definitions]
    row.listed_at = timezone.now()
    row.save(update_fields=["tools", "unseen", "listed_at"])


def save_server(*, server: McpServer, columns: list[str]) -> None:
    """Store a server, or these columns of a known one; a new address drops its tools."""
    if server.pk and "address" in columns:
        server.tools, server.unseen, server.listed_at = [], [], None
        columns = [*columns, "tools", "unseen", "listed_at"]
    server.save(update_fields=columns if server.pk else None)
    pool.forget(server.pk)


def remove_server(*, server: McpServer) -> None:
    """Remove a server and its secrets, and close the connections to it."""
    pk = server.pk
    server.delete()
    pool.forget(pk)


def try_server(*, server: McpServer) -> Listing:
    """Return a server's list of tools, and keep it; refused with the problem of the server.

    A command runs in a folder of its own, which is empty.
    """
    binding = ServerSettings.binding(server.owner)
    if not binding.servers_allowed:
        raise Refused(_("The operators of this server allow members no MCP servers."))
    if not may_run(server) or not (server.way == Way.HTTP or binding.commands_allowed):
        raise Refused(_("The operator of this server does not allow commands."))
    try:
        reached = server.reached()
        with tempfile.TemporaryDirectory() as folder:
            guard = Guard(settings.ALLOW_PRIVATE_ADDRESSES)
            listing = asyncio.run(list_tools(reached, Path(folder).resolve(), guard))
    except DecryptionFailed as error:
        raise Refused(_("What is stored can't be read any more: enter it again.")) from error
    except ServerFailed as error:
        raise Refused(str(error)) from error
    keep_listing(server.pk, listing)
    return listing
