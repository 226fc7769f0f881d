"""Turn an effective history into a request that the Messages API accepts."""

from condense.shaping.cleaning import IMAGE_TEXT, replace_images
from condense.shaping.merging import merge_consecutive
from condense.shaping.pairing import (
    INTERRUPTED,
    inject_synthetic_results,
    repair_tool_pairs,
)
from condense.shaping.request import OPENING, shape_request
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
