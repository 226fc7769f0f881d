import pytest

import condense
from chatapp.conversations.context.sizes import hideable
from chatapp.page.live.status_panel import Forecast, forecast
from condense import Message, Tags, TextBlock, ToolResultBlock, ToolUseBlock


def say(role: condense.Role, *blocks: condense.Block, tags: Tags | None = None) -> Message:
    """Return a message of these blocks, or of a few words."""
    return Message(role=role, content=blocks or (TextBlock("Words."),), tags=tags or Tags())


CALL = ToolUseBlock("call", "read_file", {"path": "a.md"})
RESULT = ToolResultBlock("call", "Text.")
HISTORY = [say("user"), say("assistant", CALL), say("user", RESULT), say("assistant"), say("user")]
MADE = say("user", tags=Tags(condense_id="made"))
NONE = "There is nothing to condense yet: the model has not answered anything."


@pytest.mark.parametrize(
    ("history", "words", "nothing"),
    [
        (HISTORY, "3 messages and 1 tool result", ""),
        ([], "", NONE),
        ([say("user")], "", NONE),
        ([MADE], "", "Nothing new to condense yet."),
        ([MADE, say("user"), say("assistant")], "2 messages and 1 condensation", ""),
    ],
)
def test_what_the_model_has_read_is_counted_as_people_see_it(
    history: list[Message], words: str, nothing: str
) -> None:
    """Results of tools are no messages, and what was only just sent stays; or it says why."""
    hides, said_nothing = hideable(history)
    assert forecast(hides, said_nothing=said_nothing) == Forecast(words, nothing)
