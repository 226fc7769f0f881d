"""The agent's system prompt, and its other texts for the model."""

import re
from importlib import resources


def _read(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()


SYSTEM_PROMPT = _read("system")
ABOUT = "About the user and how to answer, in the user's own words:\n\n{text}"
PROJECT = _read("project")
# A text between two tags can't end itself.
CLOSING = re.compile(r"<(?=/\s*(?:project_instructions|environment_details))", re.IGNORECASE)
BROKEN = r"<\\"

TITLE_SYSTEM = "You name conversations. You answer with a title and nothing else."
TITLE_WANTED = _read("title")

CONTINUE = "Continue. Your last answer broke off: go on where it stopped, and repeat nothing of it."

NOT_RUN_RESULT = "Not run: the turn was stopped before this tool's turn came."
