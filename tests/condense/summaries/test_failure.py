"""What a failed call leaves for a bug report: all that is known, and no secret."""

import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest

from condense.summaries.summary_failures import (
    MAX_DETAILS,
    describe,
    is_context_overflow,
    make_safe,
    named_window,
)


class VendorError(Exception):
    """An error with whatever attributes a vendor gives it."""

    def __init__(self, message: str, **attributes: object) -> None:
        """Set the attributes."""
        super().__init__(message)
        self.__dict__.update(attributes)


class HostileError(Exception):
    """An error whose status cannot be read."""

    @property
    def status(self) -> int:
        """Raise instead of answering."""
        raise RuntimeError("no status")


def test_a_failure_is_described_by_all_that_can_be_read() -> None:
    """What raises is left out, what is no JSON is named; the order is Roo's."""
    assert describe(ValueError("bad")) == "Error: bad"
    error = VendorError("bad", response=object())
    assert describe(error) == "Error: bad\n\nAPI Response: [Unable to serialize]"
    assert describe(HostileError("bad")) == "Error: bad"
    error = VendorError("bad", status=529, details="HTTP status: 529\nrequest id: 7")
    assert describe(error) == "Error: bad\n\nHTTP status: 529\nrequest id: 7"
    safe = make_safe("x" * (MAX_DETAILS + 5))
    assert len(safe) < MAX_DETAILS + 50
    assert safe.endswith("[5 more characters]")
    error = VendorError("bad", status=400, code="too_long", response={"x": [1]}, body={"e": "ü"})
    assert describe(error) == (
        "Error: bad\n\nHTTP Status: 400\nError Code: too_long\n\n"
        'API Response:\n{\n  "x": [\n    1\n  ]\n}\n\nResponse Body:\n{\n  "e": "ü"\n}'
    )


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "Authorization: Bearer abcdefghijkl.mnop",
        '{"x-api-key": "abcdefghijkl"}',
        "{'api_key': 'abcdefghijkl'}",
    ],
)
def test_keys_are_blotted_out(secret: str) -> None:
    """Details are stored, shown and copied."""
    safe = make_safe(f"before {secret} after")
    assert "abcdefghijkl" not in safe
    assert safe.startswith("before ")
    assert safe.endswith(" after")


TOO_LONG = "prompt is too long: 213462 tokens > 200000 maximum"
REQUEST = httpx2.Request("POST", "https://example.org/v1/messages")

# What vendors say of an overflow, and errors of theirs that are none.
ERRORS = json.loads((Path(__file__).parent / "vendor_errors.json").read_text("utf-8"))
SAYINGS, NOT_OVERFLOWS = ERRORS["overflows"], ERRORS["others"]


@cache
def client(sdk: str) -> Any:
    """Return the client of a vendor's SDK; to import one takes a second, for which few wait."""
    made = {"anthropic": "Anthropic", "openai": "OpenAI"}[sdk]
    return getattr(import_module(sdk), made)(api_key="none")


def anthropic_error(status: int, kind: str, message: str) -> Exception:
    """Return what the anthropic SDK raises for an answer, or for an event within a stream."""
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return _raised("anthropic", status, body)


def openai_error(status: int, message: str, code: str | None = None) -> Exception:
    """Return what the openai SDK raises for an answer."""
    body = {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    return _raised("openai", status, body)


def _raised(sdk: str, status: int, body: object) -> Exception:
    """Return what a vendor's client raises for an answer with this body."""
    response = httpx2.Response(status, request=REQUEST, json=body)
    said = f"Error code: {status} - {body}"
    error: Exception = client(sdk)._make_status_error(said, body=body, response=response)
    return error


def stream_error(message: str, body: object) -> Exception:
    """Return what the openai SDK raises in a stream."""
    error: Exception = import_module("openai").APIError(message, REQUEST, body=body)
    return error


@pytest.mark.parametrize("body", [{"error": TOO_LONG}, TOO_LONG], ids=["field", "text"])
def test_a_body_without_an_error_object_is_recognised(body: object) -> None:
    """LM Studio and proxies answer so, and the openai SDK keeps the words in the body only."""
    response = httpx2.Response(400, request=REQUEST, json=body)
    error = client("openai")._make_status_error_from_response(response)
    assert TOO_LONG not in str(error)
    assert is_context_overflow(error)
    assert is_context_overflow(stream_error("An error occurred during streaming", TOO_LONG))


@pytest.mark.parametrize("message", SAYINGS.values(), ids=SAYINGS)
def test_a_vendors_words_are_recognised_with_and_without_a_status(message: str) -> None:
    """As an HTTP 400 of an SDK, as a bare body, and rewrapped in an exception."""
    assert is_context_overflow(openai_error(400, message))
    assert is_context_overflow({"error": {"message": message}})
    assert is_context_overflow(RuntimeError(f"Provider error: {message}"))


# Names of sayings that name no window, or only in other units than tokens.
WITHOUT_WINDOW = {
    *("openai responses", "cerebras", "ollama", "ollama embed", "vllm nothing left"),
    *("lm studio size", "lm studio keep", "bedrock", "bedrock characters", "bedrock range"),
    *("gemini bytes", "zai", "minimax", "volcengine", "sum over limit", "z.ai short", "spark"),
    *("zhipu chinese", "context chinese", "llama.cpp batch", "qianfan", "qianfan tokens"),
    *("databricks", "hunyuan", "transformers", "writer", "baichuan", "copilot chat", "jamba"),
    *("kimi size", "seq len", "azure short", "chinese prompt", "japanese", "korean"),
    *("german", "spanish", "french", "russian", "exllamav3", "litellm's class"),
    *("a limit without a number", "ik_llama", "bedrock limit"),
}


@pytest.mark.parametrize(("name", "message"), SAYINGS.items(), ids=SAYINGS)
def test_the_window_is_read_from_a_vendors_words(name: str, message: str) -> None:
    """It is the limit, and neither what was asked for nor a code; some say none."""
    window = named_window({"error": {"message": message}})
    numbers = [int(one) for one in re.findall(r"\d{4,}", message)]
    if name in WITHOUT_WINDOW:
        assert window is None
    else:
        assert window in numbers
        assert window == min(numbers) or name in {
            *("anthropic with max_tokens", "bedrock titan", "vllm sum", "tensorrt")
        }
    assert named_window({"message": "maximum context length is 128,000 tokens"}) == 128_000
    assert named_window(RuntimeError("prompt is too long: 9250 tokens > 9000 maximum")) == 9_000


@pytest.mark.parametrize("error", NOT_OVERFLOWS.values(), ids=NOT_OVERFLOWS)
def test_other_errors_are_not_taken_for_an_overflow(error: dict[str, Any]) -> None:
    """Condensing would cost money and mend nothing."""
    assert not is_context_overflow(error)


def test_the_sdks_errors_are_recognised() -> None:
    """As an answer, by code alone, as too large a request, and in a stream that began with 200."""
    by_code = {"message": "Sorry.", "code": "context_length_exceeded"}
    overflows = [
        anthropic_error(400, "invalid_request_error", TOO_LONG),
        anthropic_error(413, "request_too_large", "Request exceeds"),
        anthropic_error(200, "invalid_request_error", TOO_LONG),
        openai_error(400, "Sorry.", "context_length_exceeded"),
        stream_error("Sorry.", by_code),
    ]
    others = [
        anthropic_error(429, "rate_limit_error", "tokens per minute"),
        anthropic_error(200, "overloaded_error", "Overloaded"),
        openai_error(429, "tokens per min", "rate_limit_exceeded"),
    ]
    assert all(map(is_context_overflow, overflows))
    assert not any(map(is_context_overflow, others))


def test_a_reply_that_stopped_because_the_window_was_full_is_an_overflow() -> None:
    """Anthropic says so instead of raising, also in a stream's event and through Bedrock."""
    full = "model_context_window_exceeded"
    types = import_module("anthropic.types")
    delta = types.raw_message_delta_event.Delta(stop_reason=full)
    usage = types.MessageDeltaUsage(output_tokens=1)
    assert is_context_overflow({"stop_reason": full})
    event = types.RawMessageDeltaEvent(type="message_delta", delta=delta, usage=usage)
    assert is_context_overflow(event)
    assert is_context_overflow({"stopReason": full})
    assert is_context_overflow({"choices": [{"finish_reason": full, "delta": {}}]})


def test_an_overflow_is_found_in_causes_and_gateways() -> None:
    """Not in what a reply talks about, nor in what is no error."""
    text = {"role": "assistant", "content": f"It said: {TOO_LONG}"}
    assert not is_context_overflow({"choices": [{"finish_reason": "stop", "message": text}]})
    error = RuntimeError("The model call failed.")
    error.__cause__ = openai_error(400, TOO_LONG)
    assert is_context_overflow(error)
    raw = f'{{"error": {{"message": "{TOO_LONG}"}}}}'
    error = {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": raw}}}
    assert is_context_overflow(error)


def test_the_words_of_an_error_stand_at_its_beginning_or_end() -> None:
    """All between may be a prompt, or any number of layers, and is not searched."""
    prompt = "word " * 10_000
    for said in (f"{TOO_LONG} {prompt}", f"{prompt} {TOO_LONG}"):
        assert is_context_overflow({"message": said})
    assert not is_context_overflow({"message": f"{prompt} {TOO_LONG} {prompt}"})
    assert not is_context_overflow({"errors": [{} for _ in range(2_000)] + [{"message": TOO_LONG}]})


def test_an_aws_error_is_read_and_its_throttling_is_not_an_overflow() -> None:
    """Both speak of too many tokens."""

    def aws(code: str, message: str, status: int) -> dict[str, Any]:
        answer = {"Error": {"Code": code, "Message": message}}
        return {"response": {**answer, "ResponseMetadata": {"HTTPStatusCode": status}}}

    assert is_context_overflow(aws("ValidationException", "Input is too long", 400))
    throttled = "Too many tokens, please wait before trying again."
    assert not is_context_overflow(aws("ThrottlingException", throttled, 429))


def test_an_error_that_cannot_be_read_is_no_overflow() -> None:
    """Properties and texts that raise, bodies that contain themselves, and text from anywhere."""

    class Broken(Exception):
        @property
        def status(self) -> int:
            raise RuntimeError

        def __str__(self) -> str:
            raise RuntimeError

    body: dict[str, Any] = {"message": "no"}
    body["error"] = body
    for error in (Broken(), body, None, "context length exceeded", 400):
        assert not is_context_overflow(error)
