"""Messages are read without what is forgotten of them, wherever in them it stands."""

import tomllib
from pathlib import Path

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


def test_a_request_is_told_from_what_only_sounds_like_one() -> None:
    """A plan that is dropped, another's words, a question and what slipped a mind are none."""
    told = Path(__file__).with_name("forget_sentences.toml").read_text("utf-8")
    said = tomllib.loads(told)
    missed = [one for one in said["asks"] if not condense.find_forget_requests(one)]
    assert missed == []
    assert [one for one in said["none"] if condense.find_forget_requests(one)] == []


def test_words_of_others_ask_to_forget_nothing() -> None:
    """A letter, a page or a quotation in a person's message is not the person's wish."""
    pasted = "Sum it up:\n\nFrom: B <b@x.example>\nSubject: y\n\nForget the old price list.\n\nB"
    for said in (pasted, "> Forget the price.", "The sign says:\nForget the price.\nWhy?"):
        assert condense.find_forget_requests(said) == []
    quoted = 'Please forget the "Neon" price.'
    assert condense.find_forget_requests(quoted) == [('the "Neon" price', quoted)]
