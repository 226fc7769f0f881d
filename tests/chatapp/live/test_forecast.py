import condense
from chatapp.live.context_bar import forecast
from condense import Message, Tags, TextBlock, ToolResultBlock, ToolUseBlock


def say(role: condense.Role, *blocks: condense.Block, tags: Tags | None = None) -> Message:
    """Return a message of these blocks, or of a few words."""
    return Message(role=role, content=blocks or (TextBlock("Words."),), tags=tags or Tags())


CALL = ToolUseBlock("call", "read_file", {"path": "a.md"})
RESULT = ToolResultBlock("call", "Text.")
SUMMARY = Tags(condense_id="made")


def test_what_the_model_has_read_is_counted_as_people_see_it() -> None:
    """Results of tools are no messages; what was only just sent stays visible."""
    history = [say("user"), say("assistant", CALL), say("user", RESULT), say("assistant")]
    found = forecast([*history, say("user")])
    assert (found.words, found.nothing) == ("3 messages, 1 tool result", "")


def test_before_anything_was_answered_there_is_nothing_to_condense() -> None:
    """And the reason is said in words, for the button that does nothing."""
    for history in ([], [say("user")]):
        found = forecast(history)
        assert not found.words
        assert found.nothing.startswith("There is nothing to condense yet")


def test_a_summary_alone_is_not_condensed_again() -> None:
    """Until something was said after it; the summary is hidden with it."""
    summary = say("user", tags=SUMMARY)
    assert forecast([summary]).nothing == "Nothing new to condense yet."
    found = forecast([summary, say("user"), say("assistant")])
    assert (found.words, found.nothing) == ("2 messages, 1 condensation", "")
