"""Shaping: an effective history becomes a request that the Messages API accepts."""

from condense.shaping.blocks import IMAGE_TEXT, replace_images
from condense.shaping.request import OPENING, merge_consecutive, shape_request
from condense.shaping.tool_pairs import INTERRUPTED, inject_synthetic_results, repair_tool_pairs
from condense.shaping.tool_text import tool_result_to_text, tool_use_to_text, tools_to_text

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
