"""Which tools a conversation has."""

from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from chatapp.conversations import conversations
from chatapp.conversations.toolbox import mcp_servers, toolbox
from chatapp.models import Conversation
from chatapp.tools.mcp.servers import Definition, Listing

READING = {
    "ask_user", "list_files", "read_file", "read_message", "search_files", "search_history",
    "update_todo_list",
}  # fmt: skip


def offered(conversation: Conversation) -> set[str]:
    """Return the names of the tools that the model is told about."""
    return {spec.name for spec in toolbox.offered(conversation, conversation.profile)}


def test_commands_are_there_where_the_operator_allows_them(
    conversation: Conversation, settings: Settings
) -> None:
    """And pages where the user does; a policy for a tool that is gone is passed over."""
    assert offered(conversation) == READING | {"apply_diff", "write_file"}
    settings.ALLOW_COMMANDS = True
    conversation.tool_policies = {"fetch_url": "ask"}
    more = {"run_command", "read_output", "fetch_url"}
    assert offered(conversation) == READING | {"apply_diff", "write_file"} | more
    settings.ALLOW_COMMANDS = False
    conversation.tool_policies = {"gone": "allow", "write_file": "deny"}
    assert offered(conversation) == READING | {"apply_diff"}


def test_the_page_offers_what_the_model_is_offered(
    conversation: Conversation, browser: Client, settings: Settings
) -> None:
    """A tool that is off on this server says so, and keeps no decision from being saved."""
    page = reverse("tool_policies", args=[conversation.pk])
    for allowed, off in ((False, 2), (True, 0)):
        settings.ALLOW_COMMANDS = allowed
        shown = browser.get(page).text
        assert shown.count("off on this server") == off
        assert shown.count(" disabled") == off
    settings.ALLOW_COMMANDS = False
    sent = {"system_prompt": "", "tool-run_command": "allow", "tool-write_file": "deny"}
    assert browser.post(page, sent).status_code == 302
    conversation.refresh_from_db()
    assert conversation.tool_policies == {"write_file": "deny"}


def test_what_is_not_known_is_denied(conversation: Conversation, tmp_path: Path) -> None:
    """A tool that does not exist, and a decision that is none."""
    profile = conversation.profile
    assert profile
    conversation.tool_policies = {"read_file": "allowed", "write_file": {"allow": True}}
    assert offered(conversation) == (READING - {"read_file"}) | {"apply_diff"}
    box = toolbox.toolbox_for(tmp_path, conversation, profile)
    for name in ("read_file", "write_file", "rm"):
        assert toolbox.policy_of(name, conversation, profile) == "deny"
        assert box.policy(name) == "deny"
    assert box.access("rm") == "execute"


def test_files_that_several_users_see_are_changed_by_none_of_their_agents(
    alice: User, settings: Settings
) -> None:
    """Whatever is decided about tools; who runs the server may."""
    settings.ALLOW_COMMANDS = True
    shared = conversations.start_conversation(owner=alice, workspace=toolbox.SAMPLES)
    shared.tool_policies = {"write_file": "allow", "run_command": "allow"}
    assert offered(shared) == READING | {"read_output"}
    own = conversations.start_conversation(owner=alice, workspace=f"users/{alice.pk}/project")
    assert offered(own) >= {"write_file", "run_command"}
    alice.is_superuser = True
    assert offered(shared) >= {"write_file", "run_command"}


def test_servers_that_are_commands_need_the_operator_and_files_of_ones_own(
    alice: User, conversation: Conversation, settings: Settings
) -> None:
    """Those that have an address are there anyway, and none that is denied."""
    for name, way in (("web", "http"), ("local", "command")):
        row = alice.mcp_servers.create(name=name, way=way, address="https://example.org/mcp")
        definition = Definition("go", f"{name}__go", "", {}, read_only=True)
        mcp_servers.keep_listing(row.pk, Listing((definition,)))
    own = READING | {"apply_diff", "write_file", "read_output"}
    assert offered(fresh(conversation)) == own | {"web__go"}
    settings.ALLOW_COMMANDS = True
    assert offered(fresh(conversation)) == own | {"run_command", "web__go", "local__go"}
    shared = conversations.start_conversation(owner=alice, workspace=toolbox.SAMPLES)
    assert offered(fresh(shared)) == READING | {"read_output", "web__go"}
    denying = fresh(conversation)
    denying.tool_policies = {"web__go": "deny"}
    assert "web__go" not in offered(denying)


def fresh(conversation: Conversation) -> Conversation:
    """Return a conversation as it is stored."""
    return Conversation.objects.get(pk=conversation.pk)
