"""Whatever is done to a history, nothing is lost, and what the model sees is a valid request."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from condense.history.boundaries import safe_cuts, unread_tail
from condense.history.effective_history import effective_history
from condense.messages import Message
from condense.requests.request import shape_request
from tests.condense.api_rules import assert_valid_request
from tests.condense.history.changes import OPERATIONS, Conversation
from tests.condense.roo import cases, messages, said

STEPS = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 99)), max_size=40)


@given(STEPS)
def test_no_sequence_of_operations_loses_or_edits_a_message(
    steps: list[tuple[Callable[[Conversation, int], None], int]],
) -> None:
    """Each operation keeps every message with its content, and undo is exact."""
    talk = Conversation()
    for operation, pick in steps:
        before = {item.id: item.content for item in talk.history}
        operation(talk, pick)
        after = {item.id: item.content for item in talk.history}
        assert before == {item_id: after.get(item_id) for item_id in before}
        assert_valid_if_any(effective_history(talk.history))


def assert_valid_if_any(seen: tuple[Message, ...]) -> None:
    """Fail unless the shaped request is valid; an empty history gives none."""
    request = [item.to_api() for item in shape_request(seen)]
    assert bool(request) == bool(seen)
    if request:
        assert_valid_request(request)


def test_any_recorded_history_becomes_a_valid_request_that_is_not_shaped_again() -> None:
    """Also tag soup; sent again byte for byte, it finds a prompt cache warm."""
    for case in cases("getEffectiveApiHistory"):
        seen = effective_history(messages(case["input"]["messages"]))
        assert_valid_if_any(seen)
        once = shape_request(seen)
        assert said(shape_request(once)) == said(once), case["name"]
        assert unread_tail(seen) in safe_cuts(seen), case["name"]
