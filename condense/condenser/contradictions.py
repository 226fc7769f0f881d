"""Contradictions: a model compares a summary with the facts of the hidden messages."""

import json
import re
from dataclasses import replace

from condense.budget.situation import Reduction, Situation, Verdict
from condense.errors import CondenseError
from condense.facts.texts import Shown, one_line, plain
from condense.messages import Message
from condense.prompts import load_prompt
from condense.reduction.carryover import facts_of
from condense.sentences import noop, say
from condense.summaries.summarizer import Kit, SummaryRequest, budget_of, ignore, transcribe

VALIDATOR_NAME = noop("contradictions")
CONTRADICTS = noop("The summary says “{said}”, the facts say “{fact}”")
CHECK_UNREADABLE = noop("The check's answer could not be read")
CHECK_FAILED = noop("The check failed: {error}")
LONGEST, MOST = 200, 20  # characters of a quote; contradictions that are listed
# Models put their JSON into a block of code.
_ANSWER = re.compile(r"(?:```(?:json)?\s*)?(\{.*\})(?:\s*```)?", re.DOTALL)


async def find_contradictions(made: Reduction, situation: Situation, kit: Kit) -> Verdict:
    """Reject a summary that contradicts the facts; quote both sides.

    A call that fails, and an answer in another form or with words that neither side has, are
    issues that reject nothing.
    """
    blocks = await facts_of(made.hidden_among(situation.effective), situation)
    if not (facts := "\n\n".join([block.text for block in blocks])):
        return Verdict(name=VALIDATOR_NAME)
    asked = f"<facts>\n{facts}\n</facts>\n\n<summary>\n{made.summary}\n</summary>"
    request = SummaryRequest(
        load_prompt("contradictions"),
        (Message("user", asked),),
        budget_of(kit.summarizer, situation.budget).reserved,
        is_check=True,
    )
    try:
        answer = await transcribe(request, replace(kit, on_text=ignore))
    except CondenseError as error:
        return Verdict(name=VALIDATOR_NAME, issues=(CHECK_FAILED.format(error=error),))
    whole = "" if answer.is_cut or answer.called else answer.text
    issues = _issues_in(whole, made.summary, facts)
    if issues is None:
        return Verdict(name=VALIDATOR_NAME, issues=(CHECK_UNREADABLE,))
    return Verdict(name=VALIDATOR_NAME, issues=issues, rejects=bool(issues))


def _issues_in(answer: str, summary: str, facts: str) -> tuple[str, ...] | None:
    """Return the contradictions that an answer proves by quotes; None if it can't be read."""
    found = _ANSWER.fullmatch(answer)
    try:
        claimed = json.loads(found[1] if found else "")["contradictions"]
        if not isinstance(claimed, list):
            return None
        pairs = [(one["summary"], one["fact"]) for one in claimed]
        sides, issues = (Shown(summary), Shown(facts)), dict[str, None]()
        for said, fact in pairs:
            if plain(said) != plain(fact) and sides[0].has(said) and sides[1].has(fact):
                short = one_line(said.strip(), LONGEST), one_line(fact.strip(), LONGEST)
                issues[say(CONTRADICTS, said=short[0], fact=short[1])] = None
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return None
    return tuple(issues)[:MOST] if issues or not pairs else None
