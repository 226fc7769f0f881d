"""Shaping: an effective history becomes a request that the Messages API accepts."""

from condense.requests.content_blocks import IMAGE_TEXT, replace_images
from condense.requests.request import OPENING, merge_consecutive, shape_request
from condense.requests.tool_pairs import INTERRUPTED, inject_synthetic_results, repair_tool_pairs
from condense.requests.tools_as_text import tool_result_to_text, tool_use_to_text, tools_to_text

__all__ = [
    "IMAGE_TEXT",
    "INTERRUPTED",
    "OPENING",
    "inject_synthetic_results",
    "merge_consecutive",
    "repair_tool_pairs",
    "replace_images",
    "shape_request",
    "tool_result_to_text",
    "tool_use_to_text",
    "tools_to_text",
]
