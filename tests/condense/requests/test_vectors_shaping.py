"""Recorded message shaping: merging, images, tool text, tool results, command blocks."""

from condense.history.effective_history import effective_history, messages_since_last_summary
from condense.messages import Message, block_from_api, content_from_api
from condense.reduction.carryover import extract_command_blocks
from condense.requests.request import inject_synthetic_results, merge_consecutive, replace_images
from condense.requests.tools_as_text import tool_result_to_text, tool_use_to_text, tools_to_text
from tests.condense.roo import Case, each, expected, message, messages, said

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
    """Where Roo throws on it, a message without a role passes through."""
    given = messages(case["input"]["messages"])
    ours = [tools_to_text(item) for item in given]
    assert said(ours) == said(expected(case["output"]["messages"], given))


@each("injectSyntheticToolResults")
def test_missing_results_are_appended_as_in_roo(case: Case) -> None:
    """One message at the end, or the same object when nothing is missing."""
    given = messages(case["input"]["messages"])
    ours = inject_synthetic_results(given, DEFERRED)
    assert said(ours) == said(expected(case["output"]["messages"], given))
    assert (ours is given) == case["output"]["sameReference"]


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
    assert said(ours) == said(expected(case["output"]["messages"], given))


@each("extractCommandBlocks")
def test_command_blocks_are_found_as_in_roo(case: Case) -> None:
    """From an opening tag to the next closing one."""
    assert extract_command_blocks(message(case["input"]["message"])) == case["output"]
