"""MCP servers: programs of others, whose tools the agent may use."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from chatapp.conversations.toolbox import mcp_servers
from chatapp.models import McpServer, ServerSettings, errors
from chatapp.project.languages import in_words
from chatapp.project.sentences import in_a_row
from chatapp.project.sentences import translate as _
from chatapp.tools.mcp.servers import Listing
from chatapp.turns import actions
from chatapp.web.forms.mcp_servers import McpServerForm
from chatapp.web.views.common import UserRequest, command_mode, refuse, signed_in

# Names that are shown of tools that can't be offered.
TOLD = 5


@signed_in("GET")
def list_servers(request: UserRequest) -> HttpResponse:
    """List the user's servers, with the number of tools that each offers."""
    allowed = ServerSettings.binding(request.user).servers_allowed
    servers = request.user.mcp_servers.all()
    context = {"servers": servers, "allowed": allowed, "commands": command_mode(request.user)}
    return render(request, "mcp_servers/page.html", context)


@signed_in("GET", "POST")
def edit_server(request: UserRequest, pk: int | None = None) -> HttpResponse:
    """Add or change a server, and test its connection if that changed.

    A secret is never shown: it can only be replaced or removed.
    """
    server = McpServer(owner=request.user)
    if pk is not None:
        server = get_object_or_404(request.user.mcp_servers, pk=pk)
    if not ServerSettings.binding(request.user).servers_allowed:
        return refuse(request, _("The operators of this server allow members no MCP servers."))
    sent = request.POST if request.method == "POST" else None
    form = McpServerForm(sent, instance=server)
    if sent is None or not form.is_valid():
        context = {"form": form, "server": server, "commands": command_mode(request.user)}
        return render(request, "mcp_servers/form.html", context, status=422 if form.errors else 200)
    columns = form.columns()
    mcp_servers.save_server(server=server, columns=columns)
    messages.success(request, _("“{name}” was saved.", name=server))
    if server.is_on and {"address", "encrypted_secrets"} & {*columns}:
        try:
            messages.success(request, describe(mcp_servers.try_server(server=server)))
        except errors.Refused as reason:
            # The server is saved all the same.
            messages.error(request, in_words(str(reason)))
    actions.announce_changes(request.user.pk)
    return redirect("edit_mcp_server", server.pk)


@signed_in("POST")
def try_server(request: UserRequest, pk: int) -> HttpResponse:
    """Connect to a stored server, and show its list of tools."""
    server = get_object_or_404(request.user.mcp_servers, pk=pk)
    listing = mcp_servers.try_server(server=server)
    server.refresh_from_db()
    actions.announce_changes(request.user.pk)
    context = {"form": McpServerForm(instance=server), "server": server, "said": describe(listing)}
    return render(request, "mcp_servers/_tools.html", context)


@signed_in("GET", "POST")
def delete_server(request: UserRequest, pk: int) -> HttpResponse:
    """Ask, then remove a server and its secrets."""
    server = get_object_or_404(request.user.mcp_servers, pk=pk)
    if request.method == "POST":
        mcp_servers.remove_server(server=server)
        actions.announce_changes(request.user.pk)
        messages.success(request, _("“{name}” was removed.", name=server))
        return redirect("mcp_servers")
    return render(request, "mcp_servers/delete.html", {"server": server})


def describe(listing: Listing) -> str:
    """Return a sentence on the number of tools, and the names of those left out."""
    said = _("It has {count:,} tool.", "It has {count:,} tools.", count=len(listing.definitions))
    if not listing.left_out:
        return said
    names = in_a_row(listing.left_out[:TOLD])
    more = " …" if len(listing.left_out) > TOLD else ""
    left_out = _(
        "Left out, since a model could not be told of them: {names}{more}.", names=names, more=more
    )
    return f"{said} {left_out}"
