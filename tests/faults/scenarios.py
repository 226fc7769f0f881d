"""What people do in a conversation while its server is killed."""

import re
import uuid
from collections.abc import Callable
from dataclasses import replace

from tests.faults.app import HELD
from tests.faults.harness import Server, Talk, words
from tests.standin.behaviours import Failure, Gate, Reply, ToolCall

LONG = " ".join(map(str, range(100, 1_000)))
SUMMARY = "<analysis>Short.</analysis><summary>What was said so far, in short.</summary>"
NO_SUMMARY = Failure(400, "invalid_request_error", "This model writes no summaries")
LOOK = ToolCall("list_files")

Scenario = Callable[[Server, Talk], None]


def answer(server: Server, talk: Talk) -> None:
    """Ask something that takes a while to be answered."""
    server.standin.then(Reply(words(60), pace=0.01))
    talk.say("Say something.")


def use_tools(server: Server, talk: Talk) -> None:
    """Ask something for which two tools are used."""
    server.standin.then(Reply(words(6), tools=(LOOK, LOOK)), Reply(words(9)))
    talk.say("Look around.")


def condense(server: Server, talk: Talk) -> None:
    """Condense by hand."""
    server.standin.then(Reply(SUMMARY))
    talk.send("condense.start", nonce=str(uuid.uuid4()))


def copy_facts(server: Server, talk: Talk) -> None:
    """Say more than fits, where the model fails to summarise: the facts are copied instead."""
    server.standin.then(NO_SUMMARY, Reply(words(9)))
    talk.say(LONG)


def truncate(server: Server, talk: Talk) -> None:
    """Say more than fits into a window that is only truncated."""
    server.standin.then(Reply(words(9)))
    talk.say(LONG)


# What a scenario takes that needs another window than the rest.
WINDOWS: dict[Scenario, int] = {copy_facts: 8_400, truncate: 7_900}


def make_room(server: Server, scenario: Scenario) -> None:
    """Let the window be as a scenario needs it, before the server stands and keeps all waiting."""
    if window := WINDOWS.get(scenario):
        set_window(server, window)


def set_window(server: Server, tokens: int) -> None:
    """Let the profile's window be so large."""
    server.ask("UPDATE chatapp_profile SET context_window = ?, max_output = 400", tokens)


def fill(server: Server, talk: Talk) -> None:
    """Say enough to be condensed."""
    for _ in range(3):
        server.standin.then(Reply(words(5)))
        talk.say(LONG)
        talk.until_idle()


def hold_before_the_first_word(server: Server, talk: Talk) -> Gate:
    """Ask, and return once the provider has the request."""
    gate = Gate()
    server.standin.then(Reply(words(9), hold=gate))
    talk.say("Say something.")
    assert gate.wait_until_reached()
    return gate


def hold_in_mid_stream(server: Server, talk: Talk) -> Gate:
    """Ask, and return once the first words are stored."""
    gate = Gate()
    server.standin.then(Reply(words(30), gate=gate))
    talk.say("Say something.")
    talk.until("text.streamed")
    while not [row for row in talk.drafts() if "w" in row]:
        server.until_drafted()
    return gate


def hold_while_it_thinks(server: Server, talk: Talk) -> Gate:
    """Ask, and return once the first thoughts are stored."""
    return _hold_in(server, talk, "thinking", Reply(words(6), thinking=words(9)))


def hold_while_a_call_is_written(server: Server, talk: Talk) -> Gate:
    """Ask, and return once the words before a call, and half of it, are stored."""
    call = ToolCall("read_file", {"path": words(9)})
    return _hold_in(server, talk, "tool_use", Reply(words(6), tools=(call,)))


def _hold_in(server: Server, talk: Talk, block: str, reply: Reply) -> Gate:
    gate = Gate()
    server.standin.then(replace(reply, gate=gate, gate_in=block))
    talk.say("Say something.")
    while not [row for row in talk.drafts() if re.search(f'"{block}".+w\\d', row)]:
        server.until_drafted()
    return gate


def hold_in_a_tool(server: Server, talk: Talk) -> Gate:
    """Have three tools called, and return while the second one runs."""
    held = ToolCall("read_file", {"path": HELD})
    server.standin.then(Reply(words(6), tools=(LOOK, held, LOOK)))
    talk.say("Look around.")
    server.until_in_tool()
    return Gate()


def hold_in_a_summary(server: Server, talk: Talk) -> Gate:
    """Condense by hand, and return while the summary is written."""
    fill(server, talk)
    gate = Gate()
    server.standin.then(Reply(SUMMARY, gate=gate))
    talk.send("condense.start", nonce=str(uuid.uuid4()))
    assert gate.wait_until_reached()
    return gate
