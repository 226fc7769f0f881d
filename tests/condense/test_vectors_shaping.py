"""Recorded message shaping: merging, images, tool text, tool results, command blocks."""

from typing import Any

from condense.history.effective_history import effective_history, messages_since_last_summary
from condense.messages import Message, block_from_api, content_from_api
from condense.reduction.carryover import extract_command_blocks
from condense.requests.request import inject_synthetic_results, merge_consecutive, replace_images
from condense.requests.tools_as_text import tool_result_to_text, tool_use_to_text, tools_to_text
from tests.condense.roo import Case, assert_same, each, expected, message, messages, said
from tests.condense.test_vectors_history import VAGUE_SUMMARY

DEFERRED = "Context condensation triggered. Tool execution deferred."


@each("toolUseToText")
def test_a_tool_call_reads_as_in_roo(case: Case) -> None:
    """A header and a line for each input, nested values as JSON."""
    assert tool_use_to_text(block_from_api(case["input"]["block"])) == case["output"]


@each("toolResultToText")
def test_a_tool_result_reads_as_in_roo(case: Case) -> None:
    """A header, then each part on its own line."""
    assert tool_result_to_text(block_from_api(case["input"]["block"])) == case["output"]


@each("convertToolBlocksToText")
def test_content_reads_as_in_roo(case: Case) -> None:
    """Only tool blocks change."""
    content = content_from_api(case["input"]["content"])
    flat = tools_to_text(Message("user", content))
    assert flat.content == content_from_api(case["output"])


@each("transformMessagesForCondensing")
def test_messages_read_as_in_roo_and_a_standalone_reasoning_item_does_not_raise(case: Case) -> None:
    """Where Roo throws on a message without a role, it passes through."""
    given = messages(case["input"]["messages"])
    ours = [tools_to_text(item) for item in given]
    if "threw" in case["output"]:
        assert any("role" not in data for data in case["input"]["messages"])
    else:
        assert said(ours) == said(expected(case["output"]["messages"], given))


def asked_and_answered(case: Case) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the ids of calls and of results, each with the place of its message."""
    given = messages(case["input"]["messages"])
    calls = [(n, b.id) for n, m in enumerate(given) if m.role == "assistant" for b in m.tool_uses]
    by_user = [(n, one) for n, one in enumerate(given) if one.role == "user"]
    return calls, [(n, b.tool_use_id) for n, m in by_user for b in m.tool_results]


def never_answered(case: Case) -> list[str]:
    """Return the calls that no later message answers."""
    calls, results = asked_and_answered(case)
    missing = (id_ for at, id_ in calls if not any(i == id_ and n > at for n, i in results))
    return list(dict.fromkeys(missing))


def is_answered_too_early(case: Case) -> bool:
    """Whether the only result of a call stands before it."""
    return bool({id_ for _, id_ in asked_and_answered(case)[1]} & {*never_answered(case)})


def all_answered(case: Case) -> dict[str, Any]:
    """Return the history and a result for each call that no later message answers."""
    results = [
        {"type": "tool_result", "tool_use_id": id_, "content": DEFERRED}
        for id_ in never_answered(case)
    ]
    given = range(len(case["input"]["messages"]))
    return {"messages": [*given, {"role": "user", "content": results}], "sameReference": False}


@each("injectSyntheticToolResults")
def test_missing_results_are_appended_as_in_roo(case: Case) -> None:
    """One message at the end, or the same object when nothing is missing."""
    given = messages(case["input"]["messages"])
    ours = inject_synthetic_results(given, DEFERRED)
    # A call is answered after it was made: its id may have been used before.
    roos = all_answered(case) if is_answered_too_early(case) else case["output"]
    assert said(ours) == said(expected(roos["messages"], given))
    assert (ours is given) == roos["sameReference"]


@each("maybeRemoveImageBlocks")
def test_images_are_replaced_as_in_roo(case: Case) -> None:
    """A model without sight gets a placeholder."""
    given = messages(case["input"]["messages"])
    ours = given if case["input"]["supportsImages"] else replace_images(given)
    assert said(ours) == said(expected(case["output"]["messages"], given))


@each("mergeConsecutiveApiMessages")
def test_consecutive_messages_merge_as_in_roo(case: Case) -> None:
    """Summaries start anew and markers stand alone."""
    given = messages(case["input"]["messages"])
    ours = merge_consecutive(given, case["input"].get("roles", ["user"]))
    assert said(ours) == said(expected(case["output"]["messages"], given))


@each("apiRequestShaping")
def test_the_steps_before_a_request_add_up_as_in_roo(case: Case) -> None:
    """Effective history, merged user messages, no images."""
    given = messages(case["input"]["messages"])
    since = messages_since_last_summary(effective_history(given))
    ours = replace_images(merge_consecutive(since))
    roos = expected(case["output"]["messages"], given)
    assert_same(case, said(ours), said(roos), [VAGUE_SUMMARY])


@each("extractCommandBlocks")
def test_command_blocks_are_found_as_in_roo(case: Case) -> None:
    """From an opening tag to the next closing one."""
    assert extract_command_blocks(message(case["input"]["message"])) == case["output"]
