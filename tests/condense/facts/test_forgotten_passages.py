"""Messages are read without what is forgotten of them, wherever in them it stands."""

import condense


def test_no_part_of_a_message_has_it_left() -> None:
    """What only begins or ends like it stays, and so does a message of which nothing is."""
    said = "It is 47, not 4711 or a47."
    blocks = (
        condense.TextBlock(said, {condense.USER_WORDS: said}),
        condense.ToolUseBlock("t", "47", {"47": ["47", {"n": 47}]}),
        condense.ToolResultBlock("t", (condense.TextBlock(said),), extra={"user_words": said}),
        condense.ToolResultBlock("u", said),
        condense.ToolResultBlock("v"),
        condense.OpaqueBlock({"type": "thinking", "thinking": said, "signature": "47"}),
    )
    message = condense.Message("user", blocks, tokens=9)
    assert condense.without_forgotten(message, ()) is message
    left = condense.without_forgotten(message, ["47"])
    kept = "It is […], not 4711 or a47."
    assert left.blocks == (
        condense.TextBlock(kept, {condense.USER_WORDS: kept}),
        condense.ToolUseBlock("t", "47", {"47": ["[…]", {"n": 47}]}),
        condense.ToolResultBlock("t", (condense.TextBlock(kept),), extra={"user_words": kept}),
        condense.ToolResultBlock("u", kept),
        condense.ToolResultBlock("v"),
        condense.OpaqueBlock({"type": "thinking", "thinking": kept, "signature": "47"}),
    )
    assert (left.id, left.tokens, left.tags.unbound) == (message.id, None, True)
