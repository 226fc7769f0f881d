"""What operators let members use, and what new users begin with."""

import asyncio
from collections.abc import Callable
from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from chatapp.conversations.toolbox.toolbox import workspace_of
from chatapp.models import Conversation, McpServer, Preferences, ServerSettings, accounts
from tests.chatapp.claude import answered_by
from tests.chatapp.sockets import Page, open_page
from tests.chatapp.turns.approval_steps import answer, until_asked
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

Read = Callable[[], str]
ALL = ["apply_diff", "fetch_url", "run_command", "write_file"]
ALLOWED = {"write_file": "allow"}
WRITE = Reply(tools=[ToolCall("write_file", {"path": "a.txt", "content": "A"})])


def save(operator: Client, **sent: object) -> None:
    """Save the server's page."""
    limits = {"storage_megabytes": "", "turns_at_once": "", "requests_per_minute": ""}
    answer = operator.post(reverse("server"), limits | {"tools": ALL, "begin_with": ""} | sent)
    assert answer.status_code == 302


def test_operators_tick_what_members_may_use(operator: Client) -> None:
    """All of it at first; what only reads is not asked about."""
    page = operator.get(reverse("server")).text
    assert page.count("checked") == len(ALL) + 1
    assert 'value="read_file"' not in page
    save(operator, tools=["fetch_url"], servers_allowed="on")
    stored = ServerSettings.read()
    assert sorted(stored.denied_tools) == ["apply_diff", "run_command", "write_file"]
    assert stored.servers_allowed


@pytest.fixture
def written(conversation: Conversation) -> Read:
    """Return what is in the file that the model wants to write."""
    file = workspace_of(conversation) / "a.txt"
    return lambda: file.read_text() if file.exists() else ""


def deny(*tools: str) -> None:
    """Deny members these tools."""
    ServerSettings(pk=1, denied_tools=tools).save()


@pytest.mark.django_db(transaction=True)
async def test_a_tool_that_is_denied_is_neither_offered_nor_run(
    conversation: Conversation, alice: User, written: Read, anthropic_standin: Standin
) -> None:
    """Whatever the member decided, and whatever the model calls; operators have it."""
    await sync_to_async(deny)("write_file")
    await Conversation.objects.filter(pk=conversation.pk).aupdate(tool_policies=ALLOWED)
    anthropic_standin.then(WRITE, Reply("No."), WRITE, Reply("Done."))

    def offered() -> bool:
        tools = anthropic_standin.requests[-1].body["tools"]
        return "write_file" in {one["name"] for one in tools}

    async with open_page(conversation, alice) as page:
        await page.ask("Write")
        assert not written()
        assert not offered()
        await User.objects.filter(pk=alice.pk).aupdate(is_superuser=True)
        await page.ask("Write")
        assert written() == "A"
        assert offered()


@pytest.mark.django_db(transaction=True)
async def test_a_tool_that_is_denied_while_a_turn_runs_runs_no_more(
    conversation: Conversation, written: Read, anthropic_standin: Standin, page: Page
) -> None:
    """Although the turn began when it was allowed."""
    await Conversation.objects.filter(pk=conversation.pk).aupdate(tool_policies=ALLOWED)
    gate = Gate()
    anthropic_standin.then(Reply("I do.", tools=WRITE.tools, gate=gate), Reply("Done."))
    await page.say("Write")
    assert await asyncio.to_thread(gate.wait_until_reached)
    await sync_to_async(deny)("write_file")
    gate.open()
    await page.until_idle()
    assert not written()


@pytest.mark.django_db(transaction=True)
async def test_an_approval_runs_no_tool_that_is_denied_since_it_was_asked_for(
    browser: Client, written: Read, anthropic_standin: Standin, page: Page
) -> None:
    """A question may wait for days."""
    anthropic_standin.then(WRITE, Reply("Done."))
    await page.say("Write")
    question = await until_asked(page)
    await sync_to_async(deny)("write_file")
    await answer(browser, question, "once")
    await page.until_idle()
    assert not written()


def test_settings_say_what_is_denied(
    browser: Client, conversation: Conversation, settings: Settings
) -> None:
    """In place of a choice: for a profile, a conversation, and commands."""
    settings.ALLOW_COMMANDS = True
    deny("run_command", "write_file")
    assert conversation.profile
    for name, pk in (("edit_profile", conversation.profile.pk), ("tool_policies", conversation.pk)):
        page = browser.get(reverse(name, args=[pk])).text
        assert "Not allowed by this server’s operators" in page
        assert 'name="tool-write_file"' not in page
        assert 'name="tool-fetch_url"' in page
    assert "allow members no shell commands" in browser.get(reverse("settings")).text


def test_members_add_no_servers_where_they_may_not(browser: Client, alice: User) -> None:
    """Those that they have are not used, tried or changed, and can be removed."""
    server = McpServer.objects.create(owner=alice, name="maps", address="http://127.0.0.1:1")
    profile = accounts.preferences_of(alice).default_profile
    assert profile
    assert profile.mcp_servers == [server]
    ServerSettings(pk=1, servers_allowed=False).save()
    assert type(profile).objects.get(pk=profile.pk).mcp_servers == []
    sent = {"name": "other", "way": "http", "address": "https://example.org/mcp", "is_on": "on"}
    for place in (reverse("new_mcp_server"), reverse("edit_mcp_server", args=[server.pk])):
        assert "allow members no MCP servers" in browser.post(place, sent, follow=True).text
    tried = browser.post(reverse("test_mcp_server", args=[server.pk]), follow=True)
    assert "allow members no MCP servers" in tried.text
    assert [one.name for one in McpServer.objects.all()] == ["maps"]
    browser.post(reverse("delete_mcp_server", args=[server.pk]))
    assert not McpServer.objects.exists()


def test_no_command_is_a_members_server_where_they_run_none(
    browser: Client, alice: User, settings: Settings
) -> None:
    """It is neither stored nor started."""
    settings.ALLOW_COMMANDS = True
    own = McpServer.objects.create(owner=alice, name="own", way="command", address="touch /x")
    profile = accounts.preferences_of(alice).default_profile
    assert profile
    assert profile.mcp_servers == [own]
    deny("run_command")
    assert type(profile).objects.get(pk=profile.pk).mcp_servers == []
    sent = {"name": "other", "way": "command", "address": "echo", "is_on": "on"}
    answer = browser.post(reverse("new_mcp_server"), sent)
    assert answer.status_code == 422
    tried = browser.post(reverse("test_mcp_server", args=[own.pk]), follow=True)
    assert "does not allow commands" in tried.text
    assert McpServer.objects.count() == 1


def test_new_users_begin_as_an_operator_says(
    operator: Client, alice: User, bob: User, anthropic_standin: Standin
) -> None:
    """With the settings of one at that time, and a profile that is shared; others stay as built."""
    profile = answered_by(alice, "anthropic", "claude-opus-5", anthropic_standin.url)
    accounts.share(profile)
    chosen = {"threshold": 60, "auto_condense": False, "condensing_prompt": "Be brief."}
    chosen |= {"month_budget": Decimal(5)}
    hers = Preferences.objects.filter(owner=alice)
    hers.update(**chosen, default_profile=profile)
    first = accounts.preferences_of(bob)
    assert (first.threshold, first.auto_condense) == (100, True)
    hers.update(language="de")
    save(operator, begin_with=alice.pk, profiles=[profile.pk])
    hers.update(offered_providers=["x"])
    new = User.objects.create_user("new")
    begun = accounts.preferences_of(new)
    begun.refresh_from_db()
    for name, value in chosen.items():
        assert getattr(begun, name) == value
    assert begun.default_profile == new.profiles.get(origin=profile)
    assert "x" not in begun.offered_providers
    # Which language somebody reads is their own affair.
    assert begun.language == ""
    hers.update(threshold=70)
    begun.refresh_from_db()
    assert begun.threshold == 60


def test_who_is_no_operator_can_not_be_begun_with(operator: Client, bob: User) -> None:
    """A member's settings are theirs."""
    answer = operator.post(reverse("server"), {"begin_with": bob.pk, "tools": ALL})
    assert answer.status_code == 422
