"""Echoes: histories that come back otherwise than they were stored are the same conversation."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from chatapp.models import (
    ApiToken,
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Profile,
    Rewind,
    Turn,
)
from chatapp.operations import background_jobs
from tests.chatapp.gateway.programs import body_of, talks, visit
from tests.standin.raw_server import RawServer, Script

Item = Mapping[str, Any]
MESSAGES, CHAT, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
HEADERS = ("content-type: application/json",)


def user(content: Any) -> Item:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def model(content: Any, **more: Any) -> Item:
    """Return a message of the model."""
    return {"role": "assistant", "content": content, **more}


def call(name: str, **more: Any) -> Item:
    """Return a call of a tool in the Messages API."""
    return {"type": "tool_use", "id": name, "name": "read", "input": {"path": "a.py"}, **more}


def system(content: str) -> Item:
    """Return a message of the system."""
    return {"role": "system", "content": content}


def output(number: int, text: str) -> Item:
    """Return a message as the Responses API has it."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [part]}


def script(path: str, number: int, answer: Any) -> Script:
    """Return an answer of an API: a text, or its content, output or message."""
    if path == MESSAGES:
        content = [{"type": "text", "text": answer}] if isinstance(answer, str) else answer
        told = {"type": "message", "id": f"msg_{number}", "content": content}
        told |= {"stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    elif path == CHAT:
        said = {"content": answer} if isinstance(answer, str) else answer
        told = {"id": f"c{number}", "choices": [{"message": said, "finish_reason": "stop"}]}
    else:
        items = [output(number, answer)] if isinstance(answer, str) else answer
        told = {"object": "response", "id": f"resp_{number}", "status": "completed"}
        told |= {"output": items}
    return Script([json.dumps(told).encode()], headers=HEADERS)


async def play(
    upstream: RawServer, token: str, path: str, requests: Sequence[tuple[Any, Any]]
) -> None:
    """Send requests, each with its answer."""
    for number, (items, answer) in enumerate(requests):
        upstream.script.append(script(path, number, answer))
        about = dict(items) if isinstance(items, dict) else {}
        about.setdefault("input" if path == RESPONSES else "messages", items)
        name = "claude-opus-5" if path == MESSAGES else "gpt-6.1-sol"
        body = body_of(model=name, **about)
        answered = await visit(path, token, body)
        # A summary may be asked for meanwhile.
        assert body in upstream.bodies
        assert [answered.body] == script(path, number, answer).chunks


SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
TEXT = {"type": "text", "text": "Looking."}
DONE = {"type": "text", "text": "Found."}
NOTE = "<environment_details>\nIt is {}.\n</environment_details>"
LONG = "I read the file first, and then we see what it says."
RESULT = {"type": "tool_result", "content": "text"}
FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f"}
FUNCTION |= {"arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "42"}
SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "zzz"}
# By its kind: the API, its requests with their answers, and the words of each message that the only
# conversation shows in the end.
CASES: dict[str, tuple[str, list[tuple[Any, Any]], list[str]]] = {
    "the oldest messages are left out": (
        CHAT,
        [
            ([user("A")], "To A."),
            ([user("A"), model("To A."), user("B")], "To B."),
            ([user("B"), model("To B."), user("C")], "To C."),
            ([user("C"), model("To C."), user("D")], "To D."),
        ],
        ["A", "To A.", "B", "To B.", "C", "To C.", "D", "To D."],
    ),
    "the client has begun the answer": (
        MESSAGES,
        [
            ([user("A"), model("{")], '"a": 1}'),
            ([user("A"), model('{"a": 1}'), user("B")], "To B."),
        ],
        ["A", "{", '"a": 1}', "B", "To B."],
    ),
    "the provider paused its answer": (
        MESSAGES,
        [
            ([user("A")], [TEXT, SEARCH]),
            ([user("A"), model([TEXT, SEARCH])], [FOUND, DONE]),
            ([user("A"), model([TEXT, SEARCH]), model([FOUND, DONE]), user("B")], "To B."),
        ],
        ["A", "Looking.", "Found.", "B", "To B."],
    ),
    "a library adds fields to a tool of the server": (
        MESSAGES,
        [
            ([user("A")], [SEARCH, FOUND, DONE]),
            ([user("A"), model([SEARCH | {"caller": {}}, FOUND, DONE]), user("B")], "To B."),
        ],
        ["A", "Found.", "B", "To B."],
    ),
    "thinking in the text is left out": (
        CHAT,
        [
            ([user("A")], "<think>\nHm.\n</think>\n\nTo A."),
            ([user("A"), model("To A."), user("B")], "To B."),
        ],
        ["A", "<think>\nHm.\n</think>\n\nTo A.", "B", "To B."],
    ),
    "details of the environment are in the newest message alone": (
        CHAT,
        [
            ([user("A\n" + NOTE.format(1))], "To A."),
            ([user("A"), model("To A."), user("B\n" + NOTE.format(2))], "To B."),
        ],
        ["A\n" + NOTE.format(1), "To A.", "B\n" + NOTE.format(2), "To B."],
    ),
    "an answer is cut off": (
        MESSAGES,
        [
            ([user("A")], LONG),
            ([user("A"), model(LONG[:30]), user("B")], "To B."),
            ([user("A"), model(LONG[:30]), user("B"), model("To B."), user("C")], "To C."),
        ],
        ["A", LONG[:30], "B", "To B.", "C", "To C."],
    ),
    "calls have other names": (
        MESSAGES,
        [
            ([user("A")], [call("toolu_1")]),
            ([user("A"), model([call("x")]), user([RESULT | {"tool_use_id": "x"}])], "To A."),
        ],
        ["A", "", "", "To A."],
    ),
    "a result has neither content nor an error": (
        MESSAGES,
        [
            ([user("A")], [call("1")]),
            (
                [
                    user("A"),
                    model([call("1")]),
                    user([{"type": "tool_result", "tool_use_id": "1", "is_error": None}]),
                ],
                "To A.",
            ),
        ],
        ["A", "", "", "To A."],
    ),
    "an answer was empty": (
        MESSAGES,
        [([user("A")], []), ([user("A"), model([]), user("B")], "To B.")],
        ["A", "B", "To B."],
    ),
    "the system speaks in mid-conversation": (
        CHAT,
        [
            ([system("R"), system("S"), user("A")], "To A."),
            (
                [system("R"), system("S"), user("A"), model("To A."), system("T"), user("B")],
                "To B.",
            ),
        ],
        ["A", "To A.", "T", "B", "To B."],
    ),
    "answers are only referred to": (
        RESPONSES,
        [
            ([user("A")], [FUNCTION]),
            ([user("A"), {"type": "item_reference", "id": "fc_1"}, OUTPUT], "To A."),
            (
                [
                    user("A"),
                    {"type": "item_reference", "id": "fc_1"},
                    OUTPUT,
                    {"type": "item_reference", "id": "msg_1"},
                    user("B"),
                ],
                "To B.",
            ),
        ],
        ["A", "", "", "To A.", "B", "To B."],
    ),
    "the provider holds the conversation": (
        RESPONSES,
        [
            ({"input": "A", "conversation": "conv_1"}, [FUNCTION]),
            ({"input": [OUTPUT], "conversation": {"id": "conv_1"}}, "To A."),
            ({"input": [user("B")], "conversation": "conv_1"}, "To B."),
        ],
        ["A", "", "", "To A.", "B", "To B."],
    ),
    "the provider has sealed what was before": (
        RESPONSES,
        [
            ([user("A")], [SEALED, output(0, "To A.")]),
            ([SEALED, output(0, "To A."), user("B")], "To B."),
        ],
        ["A", "To A.", "B", "To B."],
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_history_in_another_form_continues_its_conversation(
    upstream: RawServer, token: str, case: str
) -> None:
    """Nothing of it is missing, and no row says so; another form of an answer is a version."""
    path, requests, expected = CASES[case]
    await play(upstream, token, path, requests)
    assert [[text for _role, text in one] for one in await talks()] == [expected]
    assert not await Turn.objects.aexists()
    versions = case in {"an answer is cut off", "calls have other names"}
    assert await Rewind.objects.acount() == versions
    measured = ModelCall.objects.filter(usage_measured=True)
    assert await measured.acount() == len(requests) * (path == MESSAGES)


STRANGERS: dict[str, list[tuple[Any, Any]]] = {
    "two have cut off answers to the same question": [
        ([user("A")], LONG),
        ([user("A")], LONG + " Now."),
        ([user("A"), model(LONG[:30]), user("B")], "To B."),
    ],
    "the end is a short exchange that others have had": [
        ([user("A")], "To A."),
        ([user("A"), model("To A."), user("Go on.")], "Done."),
        ([user("X"), model("To X."), user("Go on."), model("Done."), user("B")], "To B."),
    ],
    "the same question has had another answer": [
        ([user("A")], "It is the first of them."),
        ([user("A"), model("Nothing like that one."), user("B")], "To B."),
    ],
}


@pytest.mark.parametrize("case", STRANGERS)
async def test_a_history_that_may_be_another_ones_begins_a_conversation(
    upstream: RawServer, token: str, case: str
) -> None:
    """It is in none that was there."""
    await play(upstream, token, MESSAGES, STRANGERS[case])
    newest = await Conversation.objects.alatest("created_at")
    assert [one.seq async for one in newest.messages.all()][-1] == len(STRANGERS[case][-1][0]) + 1


BUILT_IN: dict[str, tuple[str, Any, list[Item]]] = {
    "chat's own tools": (
        CHAT,
        {
            "content": None,
            "tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
        },
        [{"role": "tool", "tool_call_id": "1", "content": "a.py"}],
    ),
    "tools of the provider": (
        RESPONSES,
        [
            {
                "type": "web_search_call",
                "id": "1",
                "action": {"type": "search", "query": "full moon"},
            },
            {
                "type": "file_search_call",
                "id": "2",
                "queries": ["the sun"],
                "results": [{"text": "It shines."}],
            },
            {"type": "code_interpreter_call", "id": "3", "code": "1 + 1", "outputs": []},
            {"type": "mcp_call", "id": "4", "name": "roll", "arguments": "{}", "output": "six"},
        ],
        [],
    ),
    "tools of a machine": (
        RESPONSES,
        [
            {"type": "local_shell_call", "call_id": "1", "action": {"command": ["ls"]}},
            {"type": "shell_call", "call_id": "2", "action": {"commands": ["pwd"]}},
            {"type": "apply_patch_call", "call_id": "3", "operation": {"diff": "+1"}},
        ],
        [
            {"type": "local_shell_call_output", "call_id": "1", "output": "a.py"},
            {"type": "shell_call_output", "call_id": "2", "output": [{"stdout": "/home"}]},
            {"type": "apply_patch_call_output", "call_id": "3", "output": "applied"},
        ],
    ),
}


@pytest.mark.parametrize("case", BUILT_IN)
async def test_tools_of_any_kind_are_on_record(upstream: RawServer, token: str, case: str) -> None:
    """Their calls are the model's, and results that the client sends are in the user's turn."""
    path, answer, results = BUILT_IN[case]
    echo = [model(None, tool_calls=answer["tool_calls"])] if path == CHAT else answer
    await play(upstream, token, path, [([user("A")], answer)])
    if results:
        await play(upstream, token, path, [([user("A"), *echo, *results], "Done.")])
    stored = [one async for one in Message.objects.order_by("seq")]
    said = {
        role: json.dumps([one.content for one in stored if one.role == role])
        for role in ("user", "assistant")
    }
    for word in ("ls", "moon", "sun", "1 + 1", "six", "pwd", "+1"):
        assert (word in said["assistant"]) == (word in json.dumps(answer))
    for word in ("a.py", "/home", "applied"):
        assert (word in said["user"]) == (word in json.dumps(results))
    assert not await Turn.objects.aexists()
    assert await Conversation.objects.acount() == 1


async def test_a_conversation_whose_provider_reports_no_usage_is_folded(
    upstream: RawServer, token: str
) -> None:
    """Its size is estimated."""
    profile = await Profile.objects.aget(provider="openai")
    await ApiToken.objects.aupdate(mode="condense", profile=profile)
    await Profile.objects.aupdate(context_window=8_000)
    upstream.default = lambda _body: script(CHAT, 2, "In short.")
    long = "river stone " * 4_000
    await play(upstream, token, CHAT, [([user(long), model("To A."), user("B")], "To B.")])
    await background_jobs.close()
    assert await Condensation.objects.aexists()
