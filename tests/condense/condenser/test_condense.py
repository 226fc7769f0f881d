"""A whole history is condensed in one call."""

from collections.abc import Sequence
from typing import Any

import pytest

from condense import (
    Condensed,
    DidNotShrink,
    Message,
    Trigger,
    condense,
    effective_history,
    shape_request,
    truncate,
    undo,
)
from condense.testing import EchoSummarizer, ScriptedSummarizer, WordCounter
from tests.condense.api_rules import assert_valid_request
from tests.condense.dialogues import (
    chat,
    numbered,
    user,
)


async def made_of(history: Sequence[Message], *replies: str, **rest: Any) -> Condensed:
    """Return a whole history after a condensation."""
    return await condense(
        history, summarizer=ScriptedSummarizer(*replies), counter=WordCounter(), **rest
    )


async def test_a_whole_history_is_condensed_without_losing_a_message() -> None:
    """Everything is still there, the model sees the summary, and undo brings it back."""
    history = numbered([*chat(10), user("and now?")])
    made = await made_of(history, "S")
    assert made.reduction is not None
    seen = effective_history(made.messages)
    assert [m.is_summary for m in seen] == [True, False]
    assert {m.id for m in history} < {m.id for m in made.messages}
    assert_valid_request([m.to_api() for m in shape_request(seen)])
    back = undo(made.messages, made.reduction.message.tags.condense_id or "")
    assert [m.id for m in effective_history(back)] == [m.id for m in history]


async def test_directives_that_a_truncation_hid_survive() -> None:
    """They are looked for in the whole history."""
    told = user('<command name="a">A</command>')
    history = truncate(numbered([*chat(2), told, *chat(9), user("go on")])).messages
    assert told.content not in [m.content for m in effective_history(history)]
    made = await made_of(history, "S")
    assert '<command name="a">A</command>' in effective_history(made.messages)[0].text


async def test_a_run_that_is_not_due_gives_the_same_history() -> None:
    """The very object, so that a caller knows there is nothing to store."""
    history = numbered(chat(4))
    made = await made_of(history, trigger=Trigger.AUTO)
    assert made.messages is history
    assert made.reduction is None


async def test_a_summary_that_repeats_its_input_is_refused() -> None:
    """The history stays as it was."""
    with pytest.raises(DidNotShrink):
        await condense(numbered(chat(6)), summarizer=EchoSummarizer(), counter=WordCounter())
