"""MCP servers: saved, tried and removed; what is connected to one that changed is closed."""

import asyncio
import tempfile
from pathlib import Path

from django.utils.translation import gettext as _

from chatapp.context import servers
from chatapp.models import McpServer
from chatapp.models.crypto import DecryptionFailed
from chatapp.services.errors import Refused
from chatapp.tools.mcp import pool
from chatapp.tools.mcp.definitions import Listing
from chatapp.tools.mcp.remote import list_tools
from chatapp.tools.mcp.servers import ServerFailed


def save_server(*, server: McpServer, columns: list[str]) -> None:
    """Store a server, of one that is known only these columns; a new address begins anew."""
    if server.pk and "address" in columns:
        server.tools, server.unseen, server.listed_at = [], [], None
        columns = [*columns, "tools", "unseen", "listed_at"]
    server.save(update_fields=columns if server.pk else None)
    pool.forget(server.pk)


def remove_server(*, server: McpServer) -> None:
    """Remove a server and its secrets, and end what runs of it."""
    pk = server.pk
    server.delete()
    pool.forget(pk)


def try_server(*, server: McpServer) -> Listing:
    """Return what a server lists, and keep it; refused with what is wrong with it.

    A command runs in a folder of its own, which is empty.
    """
    if not servers.may_run(server):
        raise Refused(_("The operator of this server does not allow commands."))
    try:
        reached = server.reached()
        with tempfile.TemporaryDirectory() as folder:
            listing = asyncio.run(list_tools(reached, Path(folder), servers.guard()))
    except DecryptionFailed as error:
        raise Refused(_("What is stored can't be read any more: enter it again.")) from error
    except ServerFailed as error:
        raise Refused(str(error)) from error
    servers.keep_listing(server.pk, listing)
    return listing
