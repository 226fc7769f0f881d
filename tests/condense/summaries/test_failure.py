"""What a failed call leaves for a bug report: all that is known, and no secret."""

import pytest

from condense.summaries.summary_failures import MAX_DETAILS, describe, make_safe


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


def test_a_plain_error_is_described_by_its_message() -> None:
    """There is nothing more to say."""
    assert describe(ValueError("bad")) == "Error: bad"


def test_status_code_response_and_body_follow_the_message() -> None:
    """In the order that users of Roo know."""
    error = VendorError("bad", status=400, code="too_long", response={"x": [1]}, body={"e": "ü"})
    assert describe(error) == (
        "Error: bad\n\nHTTP Status: 400\nError Code: too_long\n\n"
        'API Response:\n{\n  "x": [\n    1\n  ]\n}\n\nResponse Body:\n{\n  "e": "ü"\n}'
    )


def test_an_sdks_status_code_counts_as_the_status() -> None:
    """That is what Anthropic's and OpenAI's errors call it."""
    assert "HTTP Status: 529" in describe(VendorError("overloaded", status_code=529))


def test_what_cannot_be_written_as_json_is_named() -> None:
    """Describing a failure never fails."""
    error = VendorError("bad", response=object())
    assert describe(error) == "Error: bad\n\nAPI Response: [Unable to serialize]"


def test_an_attribute_that_raises_is_left_out() -> None:
    """A property of a vendor's error may itself raise."""
    assert describe(HostileError("bad")) == "Error: bad"


def test_details_that_an_error_carries_stand_for_its_attributes() -> None:
    """An adapter has gathered all that is known, so that nothing is said twice."""
    error = VendorError("bad", status=529, details="HTTP status: 529\nrequest id: 7")
    assert describe(error) == "Error: bad\n\nHTTP status: 529\nrequest id: 7"


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


def test_long_details_are_cut() -> None:
    """A response may echo the whole prompt."""
    safe = make_safe("x" * (MAX_DETAILS + 5))
    assert len(safe) < MAX_DETAILS + 50
    assert safe.endswith("[5 more characters]")
