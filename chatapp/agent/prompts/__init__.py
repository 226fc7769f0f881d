"""The agent's system prompt and what else it is told, and the environment block of a message."""

import re
from importlib import resources


def _read(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()


SYSTEM_PROMPT = _read("system")
_PROJECT = _read("project")
# What stands between two tags can't end itself.
_CLOSING = re.compile(r"<(?=/\s*(?:project_instructions|environment_details))", re.IGNORECASE)
_BROKEN = r"<\\"

TITLE_SYSTEM = "You name conversations. You answer with a title and nothing else."
TITLE_WANTED = _read("title")

CONTINUE = "Continue. Your last answer broke off: go on where it stopped, and repeat nothing of it."

NOT_RUN_RESULT = "Not run: the turn was stopped before this tool's turn came."


def compose_system(own: str = "", instructions: str = "") -> str:
    """Return the system prompt: a person's ``own`` or the default, and the project's instructions.

    Where those would end before they are over, that is taken out of them.
    """
    text = own or SYSTEM_PROMPT
    if not instructions:
        return text
    return f"{text}\n\n" + _PROJECT.format(text=_CLOSING.sub(_BROKEN, instructions))


def describe_environment(*, now: str, files: str, todo: str = "", context: str = "") -> str:
    """Return the environment details that go beside a message, and into an automatic summary."""
    parts = {
        "Current time": now,
        "Files in the workspace": files,
        "To-do list": todo,
        "Context window": context,
    }
    told = "\n".join([f"# {name}\n{text}" for name, text in parts.items() if text])
    return f"<environment_details>\n{_CLOSING.sub(_BROKEN, told)}\n</environment_details>"
