"""The texts that the engine writes to a model, one per file."""

from functools import cache
from importlib import resources


@cache
def load_prompt(name: str) -> str:
    """Return the text of ``name.md`` in this folder, without surrounding white space."""
    return resources.files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()


def summary_system() -> str:
    """Return the system prompt of a summary call: summarise, answer in text, call no tools."""
    return load_prompt("summary_system")


def summary_preface() -> str:
    """Return the words that tell the model what the summary it reads stands for."""
    return load_prompt("summary_preface")


def condense_instruction(custom: str = "", focus: str = "") -> str:
    """Return the instruction that ends a summary request.

    ``custom`` replaces the nine-section prompt unless it is blank; ``focus`` is what this run
    should keep above all.
    """
    instruction = custom.strip() or load_prompt("condense")
    if not focus.strip():
        return instruction
    return f"{instruction}\n\n{load_prompt('focus').format(focus=focus.strip())}"


def aligned_instruction(instruction: str) -> str:
    """Return the instruction for a request that still has the conversation's prompt and tools."""
    return f"{load_prompt('aligned')}\n\n{instruction}"


def part_instruction(instruction: str, number: int, count: int) -> str:
    """Return the instruction that ends part ``number`` of ``count`` of a conversation."""
    return f"{load_prompt('part').format(number=number, count=count)}\n\n{instruction}"


def merge_instruction(instruction: str) -> str:
    """Return the instruction that ends a request made of summaries of parts."""
    return f"{load_prompt('merge')}\n\n{instruction}"
