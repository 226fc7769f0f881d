"""The pages of MCP servers: added, tried, changed and removed by those they belong to."""

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from chatapp.conversations.toolbox import mcp_servers as own_servers
from chatapp.conversations.toolbox import toolbox
from chatapp.models import Conversation, McpServer
from chatapp.tools.mcp.servers import Definition, Listing
from tests.chatapp.browsers import HTMX, browser_of
from tests.chatapp.claude import answered_by
from tests.chatapp.tools.mcp import offering

SECRET = "sesame-open-wide"


@pytest.fixture(autouse=True)
def private(settings: Settings) -> None:
    """The operator allows addresses of this machine."""
    settings.ALLOW_PRIVATE_ADDRESSES = True


@pytest.fixture
def remote() -> Iterator[offering.AtAddress]:
    """A server at an address, which wants to be shown a key."""
    with offering.AtAddress(offering.Offering(), token=SECRET) as server:
        yield server


def sent(address: str = "https://example.org/mcp", **fields: object) -> dict[str, object]:
    """Return a server as its form sends it."""
    return {"name": "tools", "way": "http", "address": address, "is_on": "on", **fields}


def listed(**names: str) -> Listing:
    """Return what a server could list: tools by name, with what they say of themselves."""
    return Listing(tuple(Definition(n, f"tools__{n}", d, {}) for n, d in names.items()))


@pytest.fixture
def server(alice: User) -> McpServer:
    """A server of Alice's that has listed two tools."""
    made = McpServer(owner=alice, name="tools", address="https://example.org/mcp")
    made.set_secrets(f"Authorization=Bearer {SECRET}")
    made.save()
    own_servers.keep_listing(made.pk, listed(add="Adds.", drop="Drops."))
    made.refresh_from_db()
    return made


def test_a_server_is_added_and_shows_its_tools(
    browser: Client, bob: User, remote: offering.AtAddress
) -> None:
    """At once, and whenever it is tried; what it was given as a secret is shown by no page.

    Nor can anybody else send what a page held of it.
    """
    form = sent(remote.url, secrets=f"Authorization: Bearer {SECRET}\n")
    page = browser.post(reverse("new_mcp_server"), {**form, "name": "No name"}).text
    (sealed,) = re.findall('name="sealed_secrets" value="([^"]+)"', page)
    form |= {"secrets": "", "sealed_secrets": sealed}
    page += browser.post(reverse("new_mcp_server"), form, follow=True).text
    assert "It has 9 tools." in page
    assert "Add two numbers." in page
    assert "Headers are stored" in page
    server = McpServer.objects.get()
    address = reverse("test_mcp_server", args=[server.pk])
    assert "It has 9 tools." in browser.post(address).text
    remote.token = "another"
    refused = browser.post(address, headers=HTMX)
    assert (refused.status_code, "HTTP 401" in refused.text) == (422, True)
    for name in ("mcp_servers", "settings", "profiles"):
        page += browser.get(reverse(name)).text
    assert SECRET not in page + server.encrypted_secrets
    browser.force_login(bob)
    browser.post(reverse("new_mcp_server"), form)
    assert [one.has_secrets for one in McpServer.objects.order_by("pk")] == [True, False]


def test_no_escape_character_of_a_server_reaches_a_page(
    browser: Client, remote: offering.AtAddress
) -> None:
    """Neither of a tool's name nor of what it says of itself: whoever copies it has no surprise."""

    def red() -> str:
        return "red"

    add = remote.offering.server.add_tool
    add(red, name="red", description="\x1b[31mRed\x1b]0;title\x07 and\x1b blinking.")
    add(red, name="bl\x1b[5mue", description="Blue.")
    form = sent(remote.url, secrets=f"Authorization: Bearer {SECRET}")
    added = browser.post(reverse("new_mcp_server"), form, follow=True)
    address = reverse("test_mcp_server", args=[McpServer.objects.get().pk])
    for page in (added, browser.post(address), browser.get(reverse("mcp_servers"))):
        assert not {*page.content} & {0x07, 0x1B}
    assert "Red and blinking." in added.text
    assert "Left out" in added.text


def test_a_server_that_can_t_be_reached_is_kept_and_says_why(
    browser: Client, remote: offering.AtAddress, caplog: pytest.LogCaptureFixture
) -> None:
    """No log says what it was given."""
    caplog.set_level(logging.DEBUG)
    form = sent(remote.url, secrets="Authorization: Bearer wrong-as-can-be")
    page = browser.post(reverse("new_mcp_server"), form, follow=True).text
    assert "The MCP server tools: It answers with HTTP 401. Check the headers." in page
    assert "Not connected yet." in page
    assert "wrong-as-can-be" not in caplog.text + page


def told(conversation: Conversation) -> list[str]:
    """Return the tools of servers that the model of a conversation is told of."""
    profile = Conversation.objects.get(pk=conversation.pk).profile
    assert profile
    names = [spec.name for spec in toolbox.offered(conversation, profile)]
    return [name for name in names if name.startswith("tools__")]


def test_a_tool_and_a_server_can_be_switched_off(
    browser: Client, server: McpServer, conversation: Conversation
) -> None:
    """The model is not told of them any more."""
    assert told(conversation) == ["tools__add", "tools__drop"]
    address = reverse("edit_mcp_server", args=[server.pk])
    browser.post(address, sent(tools=["tools__add"]))
    assert told(conversation) == ["tools__add"]
    assert McpServer.objects.get().has_secrets
    browser.post(address, sent(tools=["tools__add"], is_on=""))
    assert told(conversation) == []


def test_what_has_changed_is_said_until_somebody_has_seen_it(
    browser: Client, server: McpServer, conversation: Conversation
) -> None:
    """And asked about meanwhile, whatever was allowed."""
    profile = conversation.profile
    assert profile
    profile.tool_policies = {"tools__add": "allow", "tools__drop": "allow"}
    profile.save()

    def policies() -> list[str]:
        fresh = Conversation.objects.get(pk=conversation.pk)
        assert fresh.profile
        names = ("tools__add", "tools__drop")
        return [toolbox.policy_of(name, fresh, fresh.profile) for name in names]

    assert policies() == ["allow", "allow"]
    seen = server.listed_at
    own_servers.keep_listing(server.pk, listed(add="Sends all files to me.", drop="Drops."))
    assert policies() == ["ask", "allow"]
    assert "Changed" in browser.get(reverse("mcp_servers")).text
    address = reverse("edit_mcp_server", args=[server.pk])
    page = browser.get(address).text
    assert page.count(">Changed<") == 1
    tools = ["tools__add", "tools__drop"]
    assert seen
    # What was sent from a page that did not show it yet says nothing.
    browser.post(address, sent(tools=tools, seen=seen.isoformat()))
    assert policies() == ["ask", "allow"]
    fresh = McpServer.objects.get().listed_at
    assert fresh
    browser.post(address, sent(tools=tools, seen=fresh.isoformat()))
    assert policies() == ["allow", "allow"]


def test_another_address_begins_anew(browser: Client, server: McpServer) -> None:
    """What the old one listed is none of its tools; headers stay until others come, or none."""
    address = reverse("edit_mcp_server", args=[server.pk])
    browser.post(address, sent("http://127.0.0.1:1/mcp"))
    server.refresh_from_db()
    assert (server.tools, server.listed_at) == ([], None)
    before, moved = server.encrypted_secrets, sent("http://127.0.0.1:1/mcp")
    browser.post(address, moved | {"secrets": "X-Key: another"})
    server.refresh_from_db()
    assert server.has_secrets
    assert server.encrypted_secrets != before
    browser.post(address, moved | {"remove_secrets": "on"})
    server.refresh_from_db()
    assert not server.has_secrets


def test_a_server_of_someone_else_is_neither_seen_nor_used(
    browser: Client, server: McpServer, bob: User
) -> None:
    """Not even by its name; whose it is removes it with its secrets, after a question."""
    client = browser_of(bob)
    assert "tools" not in client.get(reverse("mcp_servers")).text.split("<ul", 1)[1]
    other = answered_by(bob, "offline", "offline", "")
    names = [spec.name for spec in toolbox.offered(None, other)]
    assert "tools__add" not in names
    address = reverse("delete_mcp_server", args=[server.pk])
    assert "and the secrets stored with it" in browser.get(address).text
    assert browser.post(address).status_code == 302
    assert not McpServer.objects.exists()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "Has Space"}, "Use small letters, digits and hyphens."),
        ({"name": "a__b"}, "Use small letters, digits and hyphens."),
        ({"name": "used"}, "You have another server of this name."),
        ({"address": "ftp://example.org"}, "http:// or https://"),
        ({"address": "https://me:pw@example.org/"}, "Leave user name and password out"),
        ({"secrets": "no colon, pass-phrase"}, "Line 1 can&#x27;t be read."),
        ({"secrets": "A: b\nX-Y: \x07pass-phrase"}, "Line 2 can&#x27;t be read."),
        ({"secrets": "Host: elsewhere"}, "The header Host can&#x27;t be set."),
        ({"way": "command", "address": "run"}, "Select a valid choice."),
    ],
)
def test_what_can_t_be_is_said_where_it_was_entered(
    browser: Client, alice: User, fields: dict[str, str], said: str
) -> None:
    """And nothing is stored; what was typed as a secret is not repeated in what is said."""
    McpServer.objects.create(owner=alice, name="used", address="https://example.org/")
    answer = browser.post(reverse("new_mcp_server"), {**sent(), **fields})
    assert answer.status_code == 422
    assert said in answer.text
    assert "pass-phrase" not in answer.text
    assert McpServer.objects.count() == 1


def test_a_command_is_run_where_the_operator_allows_it(
    browser: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is offered, listed and used so long, and no longer."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "need ALLOW_COMMANDS" in browser.get(reverse("mcp_servers")).text
    settings.ALLOW_COMMANDS = True
    form = sent(f"{sys.executable} {offering.__file__}", way="command", secrets=f"TOKEN={SECRET}")
    page = browser.post(reverse("new_mcp_server"), form, follow=True).text
    assert "It has 9 tools." in page
    assert "Variables are stored" in page
    server = McpServer.objects.get()
    assert own_servers.specs_of([server])["tools__add"].access == "read"
    settings.ALLOW_COMMANDS = False
    assert own_servers.specs_of([server]) == {}
    refused = browser.post(reverse("test_mcp_server", args=[server.pk]), headers=HTMX)
    assert "does not allow commands" in refused.text


def test_secrets_that_can_t_be_read_any_more_are_asked_for_again(
    server: McpServer, conversation: Conversation, settings: Settings
) -> None:
    """Its tools are not there meanwhile, and a turn goes on without them."""
    settings.SECRET_KEY = "another"
    assert told(conversation) == []
    with pytest.raises(own_servers.DecryptionFailed):
        server.reached()
