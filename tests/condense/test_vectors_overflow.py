"""Recorded provider errors: which of them say that the context window is exceeded."""

from typing import Any

from condense.summaries.summary_failures import is_context_overflow
from tests.condense.roo import Case, each


class RecordedError(Exception):
    """An exception with recorded attributes; reading ``broken`` raises."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields.get("message", ""))
        self.__dict__.update(fields)


def throwing(name: str) -> object:
    """Return an object of which one property raises when it is read."""

    def fail(_: object) -> None:
        raise RuntimeError(name)

    return type("Throwing", (), {name: property(fail)})()


def built(descriptor: dict[str, Any]) -> object:
    """Return the recorded error as a Python object."""
    match descriptor["kind"]:
        case "undefined":
            return None
        case "throwing-getter":
            return throwing(descriptor["property"])
        case "circular":
            value = dict(descriptor["value"])
            return value | {"self": value, "error": value.get("error", value)}
        case "value":
            return descriptor["value"]
        case kind:
            name = kind.rsplit(".", 1)[-1]
            error_class = type(name, (RecordedError,), {})
            return error_class(descriptor.get("fields", {}))


NO_STATUS = "in mid-stream or rewrapped: no status that Roo looks at"
TOO_LARGE = "HTTP 413 says it too"
OTHER_WORDS = "a vendor's own words for it"
PARAMETER = "a parameter or credential is at fault: a smaller context would mend nothing"

# Recorded errors that the engine takes for an overflow and Roo does not, and the other way round.
FOUND_HERE = {
    "status null": NO_STATUS,
    'status " 400"': NO_STATUS,
    "code shadows error.status": NO_STATUS,
    "provider shape: openrouter mid-stream error object (status lost)": NO_STATUS,
    "provider shape: mistral wrapped (status lost)": NO_STATUS,
    "provider shape: bedrock generic wrap": NO_STATUS,
    "anthropic nested request_too_large: Request exceeds the maximum size": TOO_LARGE,
    "anthropic SDK: request_too_large 413": TOO_LARGE,
    'status 400 message "reduce the length of the messages"': OTHER_WORDS,
    "anthropic SDK wrapped by handleProviderError: prompt too long": OTHER_WORDS,
    "anthropic SDK wrapped by handleProviderError: input + max_tokens exceed": OTHER_WORDS,
    "provider shape: groq-like wrapped": OTHER_WORDS,
}
FOUND_BY_ROO = {
    "anthropic nested invalid_request_error: max_tokens_to_sample": PARAMETER,
    "anthropic nested invalid_request_error: max_tokens: 128000 > 64000, the limit": PARAMETER,
    "openai SDK: code 400 numeric and 'token' in the message (unrelated)": PARAMETER,
}


@each("checkContextWindowExceededError")
def test_an_overflow_is_recognised_where_roo_recognises_one(case: Case) -> None:
    """And where vendors say it in words or places that Roo does not look at."""
    differs = case["name"] in FOUND_BY_ROO if case["output"] else case["name"] in FOUND_HERE
    found = is_context_overflow(built(case["input"]["error"]))
    assert found is (case["output"] is not differs)
