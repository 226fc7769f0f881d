"""The agent's prompts say what no model can know of this chat."""

from chatapp.agent.prompts import SYSTEM_PROMPT, TITLE_WANTED


def test_the_model_knows_that_messages_are_hidden_and_how_to_find_them() -> None:
    """It looks before it says that it does not know."""
    assert "hidden" in SYSTEM_PROMPT
    assert "search_history" in SYSTEM_PROMPT
    assert "{question}" in TITLE_WANTED
