import json
import threading
from typing import Any

import httpx2
import pytest

from tests.standin.behaviours import OVERLOADED, Gate, Raw, Reply, ToolCall
from tests.standin.server import Standin

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21", "content-type": "application/json"}
TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]


def body(*texts: str, **more: Any) -> dict[str, Any]:
    """Return a request with messages that alternate, the user's first."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return {"model": "m", "max_tokens": 10, "messages": messages, **more}


def post(
    standin: Standin,
    sent: dict[str, Any],
    path: str = "/v1/messages",
    headers: dict[str, str] | None = None,
) -> tuple[int, Any]:
    """Return the status and the answer: JSON, or a list of events."""
    response = httpx2.post(standin.url + path, json=sent, headers=headers or HEADERS)
    streamed = sent.get("stream") and response.is_success
    return response.status_code, events(response.text) if streamed else response.json()


def events(text: str) -> list[dict[str, Any]]:
    """Return the data of server-sent events, whose names must agree with it."""
    found = []
    for event in text.strip().split("\n\n"):
        name, data = event.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def test_a_stream_is_the_sequence_of_the_real_one(anthropic_standin: Standin) -> None:
    """Start, blocks with their deltas, the stop reason with the usage, and stop."""
    anthropic_standin.reply("One two three four", thinking="Hm.", tools=(ToolCall("look"),))
    _, told = post(anthropic_standin, body("Hi", stream=True, tools=TOOLS))
    kinds = [
        event.get("delta", event)["type"] if "index" in event else event["type"] for event in told
    ]
    assert kinds == [
        "message_start",
        *("content_block_start", "ping", "thinking_delta", "signature_delta", "content_block_stop"),
        *("content_block_start", "text_delta", "text_delta", "content_block_stop"),
        *("content_block_start", *["input_json_delta"] * 3, "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert told[-2]["delta"]["stop_reason"] == "tool_use"
    assert told[-2]["usage"]["output_tokens"] > 0


def test_a_request_that_does_not_stream_gets_one_message(anthropic_standin: Standin) -> None:
    """The same blocks, in one piece."""
    status, message = post(anthropic_standin, body("Hi"))
    assert status == 200
    assert message["content"] == [{"type": "text", "text": "You said: Hi"}]
    assert message["usage"]["input_tokens"] > 0


def test_a_refusal_has_the_real_envelope_and_is_recorded(anthropic_standin: Standin) -> None:
    """The error names its type; the record says everything that was wrong."""
    status, error = post(anthropic_standin, body("", max_tokens=0))
    assert (status, error["type"]) == (400, "error")
    assert error["error"]["type"] == "invalid_request_error"
    assert error["request_id"].startswith("req_")
    assert len(anthropic_standin.problems) == 2


@pytest.mark.parametrize(
    ("left_out", "status", "words"),
    [("x-api-key", 401, "x-api-key"), ("anthropic-version", 400, "anthropic-version")],
)
def test_both_headers_are_needed(
    anthropic_standin: Standin, left_out: str, status: int, words: str
) -> None:
    """Key and version are asked for on every path."""
    headers = {key: value for key, value in HEADERS.items() if key != left_out}
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        code, error = post(anthropic_standin, body("Hi"), path, headers)
        assert code == status
        assert words in error["error"]["message"]


def test_a_wrong_key_or_version_is_refused(anthropic_standin: Standin) -> None:
    """Either header may carry the key; only versions that exist are taken."""
    anthropic_standin.key = "right"
    assert post(anthropic_standin, body("Hi"))[0] == 401
    bearer = {**HEADERS, "x-api-key": "", "authorization": "Bearer right"}
    assert post(anthropic_standin, body("Hi"), headers=bearer)[0] == 200
    bearer["anthropic-version"] = "2020-01-01"
    assert post(anthropic_standin, body("Hi"), headers=bearer)[0] == 400


def test_the_script_is_followed_and_then_sense_is_made(anthropic_standin: Standin) -> None:
    """One behaviour per request, in order; what is left can be asked."""
    anthropic_standin.then(OVERLOADED, Reply("Scripted"))
    assert anthropic_standin.unused == 2
    assert post(anthropic_standin, body("Hi"))[0] == 529
    assert post(anthropic_standin, body("Hi"))[1]["content"][0]["text"] == "Scripted"
    assert post(anthropic_standin, body("Hi"))[1]["content"][0]["text"] == "You said: Hi"
    assert len(anthropic_standin.requests) == 3


def test_unscripted_summaries_quote_the_user(anthropic_standin: Standin) -> None:
    """Analysis and nine sections, without the instruction among the user's messages."""
    asked = body("Fix the bug.", "Done.", "Write a <summary> block.")
    text = post(anthropic_standin, asked)[1]["content"][0]["text"]
    assert text.startswith("<analysis>")
    assert text.endswith("</summary>")
    assert "Fix the bug." in text
    assert "block." not in text
    assert all(f"{number}. " in text for number in range(1, 10))


def test_unscripted_tool_calls_can_be_asked_for(anthropic_standin: Standin) -> None:
    """A loop can run against the server without any script."""
    asked = body('call look {"path": "x"}', tools=TOOLS)
    call = post(anthropic_standin, asked)[1]["content"][0]
    assert (call["name"], call["input"]) == ("look", {"path": "x"})
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "seen"}
    asked["messages"] += [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    assert post(anthropic_standin, asked)[1]["content"][0]["text"] == "The tool answered: seen"


def test_the_window_is_enforced_and_counting_agrees(anthropic_standin: Standin) -> None:
    """The numbers in the refusal are those of the count."""
    sent = body("word " * 50)
    tokens = post(anthropic_standin, sent, "/v1/messages/count_tokens")[1]["input_tokens"]
    anthropic_standin.window = tokens
    assert post(anthropic_standin, sent)[0] == 200
    anthropic_standin.window = tokens - 1
    status, error = post(anthropic_standin, sent)
    expected = f"prompt is too long: {tokens} tokens > {tokens - 1} maximum"
    assert (status, error["error"]["message"]) == (400, expected)


def test_the_prompt_cache_knows_what_was_marked(anthropic_standin: Standin) -> None:
    """Written once, read after; a changed beginning or model is written anew."""
    long = [{"type": "text", "text": "word " * 2_000, "cache_control": {"type": "ephemeral"}}]

    def usage(model: str = "m", system: Any = long) -> tuple[int, int]:
        counts = post(anthropic_standin, body("Hi", system=system, model=model))[1]["usage"]
        assert counts["input_tokens"] > 0
        return counts["cache_creation_input_tokens"], counts["cache_read_input_tokens"]

    written, nothing = usage()
    assert written > 2_000
    assert nothing == 0
    assert usage() == (0, written)
    assert usage(model="other") == (written, 0)
    short = [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]
    assert usage(system=short) == (0, 0)


def test_thinking_is_bound_to_what_stood_before_it(anthropic_standin: Standin) -> None:
    """Unchanged it is taken; with another past it is refused, or dropped where that is asked."""
    anthropic_standin.reply("So.", thinking="Hm.")
    said = post(anthropic_standin, body("Why?"))[1]["content"]
    history = [{"role": "assistant", "content": said}, {"role": "user", "content": "On"}]
    same = body(
        messages=[{"role": "user", "content": [{"type": "text", "text": "Why?"}]}, *history]
    )
    other = body(messages=[{"role": "user", "content": "What?"}, *history])
    assert post(anthropic_standin, same)[0] == 200
    status, error = post(anthropic_standin, other)
    assert status == 400
    assert "bound to a different conversation" in error["error"]["message"]
    binding = {"prefix_mismatch_behavior": "drop_block"}
    asking = {**other, "thinking": {"type": "adaptive", "block_binding": binding}}
    assert post(anthropic_standin, asking)[0] == 400
    beta = {**HEADERS, "anthropic-beta": "thinking-binding-controls-2026-08-01"}
    assert post(anthropic_standin, asking, headers=beta)[0] == 200


def test_a_gate_holds_the_stream_open(anthropic_standin: Standin) -> None:
    """Nothing comes after the first piece until the test says so."""
    gate = Gate()
    anthropic_standin.reply("One two three four", gate=gate)
    answers: list[Any] = []
    asked = body("Hi", stream=True)
    listener = threading.Thread(target=lambda: answers.append(post(anthropic_standin, asked)))
    listener.start()
    assert gate.wait_until_reached()
    assert not answers
    gate.open()
    listener.join(10)
    assert answers[0][1][-1]["type"] == "message_stop"


@pytest.mark.parametrize("sent", [b"[", b"[]", b'{"max_tokens": NaN}', b'{"model": "\\ud800"}'])
def test_what_is_no_json_object_is_refused(anthropic_standin: Standin, sent: bytes) -> None:
    """Also a broken body gets an envelope, not a crash; so do NaN and half a surrogate."""
    response = httpx2.post(anthropic_standin.url + "/v1/messages", content=sent, headers=HEADERS)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert "JSON" in anthropic_standin.problems[0] or "object" in anthropic_standin.problems[0]


def test_a_stream_can_hold_what_no_documentation_mentions(anthropic_standin: Standin) -> None:
    """Any event, after the first piece of text."""
    anthropic_standin.reply("One two three four", extra=(Raw.event({"type": "x"}),))
    _, stream = post(anthropic_standin, body("Hi", stream=True))
    assert {"type": "x"} in stream
    assert stream[-1]["type"] == "message_stop"


def test_a_reply_can_hold_blocks_of_any_kind(anthropic_standin: Standin) -> None:
    """Before its text, as a server might that is not Anthropic's."""
    anthropic_standin.reply("Here.", blocks=({"type": "hologram", "data": "x"},))
    content = post(anthropic_standin, body("Hi"))[1]["content"]
    assert [block["type"] for block in content] == ["hologram", "text"]
