"""Asks the person a question, and waits for the answer."""

from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import Line, ToolOutcome, ToolSpec
from chatapp.tools.arguments import argument

# Characters of a question, suggested answers, and characters of one.
MAX_QUESTION = 2_000
MAX_ANSWERS = 6
MAX_ANSWER = 200


@dataclass(frozen=True, slots=True)
class Arguments:
    """The question, and suggested answers."""

    question: str = argument("The question, in full.")
    answers: str = argument("Suggested answers, one a line.", default="")


SPEC = ToolSpec(
    name="ask_user",
    description=(
        "Ask the user where you can't go on without a decision or a fact that no file has. They "
        "choose a suggested answer or write their own."
    ),
    tally=condense.plural("Asked once", "Asked {count} times"),
)


async def run(line: Line, arguments: Arguments) -> ToolOutcome:
    """Return the person's answer."""
    question = arguments.question.strip()
    if not question or len(question) > MAX_QUESTION:
        raise ToolError(f"A question has 1 to {MAX_QUESTION:,} characters.")
    answers = [*filter(None, map(str.strip, arguments.answers.splitlines()))]
    if len(answers) > MAX_ANSWERS or any(len(one) > MAX_ANSWER for one in answers):
        raise ToolError(f"Suggest at most {MAX_ANSWERS} answers of {MAX_ANSWER} characters each.")
    said = await line.ask(question, answers)
    return ToolOutcome(said, user_words=said)
