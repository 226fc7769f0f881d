"""Attachments: the ledger and folded files beside a summary, and the ``after`` hooks for them."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass

from condense.budget.situation import Addition, Reduction, Situation
from condense.facts.notebook import budget_in, ledger
from condense.folded_files.files_read import files_read
from condense.folded_files.results import Folded
from condense.folded_files.sections import LIMIT, fold_files
from condense.folded_files.workspace import Ignore
from condense.messages import Message, TextBlock
from condense.tokens.counters import TokenCounter

# Characters for each token of the window: all of Roo Code's 50,000 in the 200,000 tokens that most
# models had when it chose them, where they take some 7 %, and as much of a smaller window.
PER_TOKEN_OF_WINDOW = 0.25
# Characters for each token gained: a token of code is three or four, so two thirds stay gained.
PER_TOKEN_GAINED = 1

FACTS = "the facts of the hidden messages, copied by rule"
FILES = "the signatures of files that were read"


async def attach_ledger(situation: Situation, reduction: Reduction) -> Addition:
    """Return the facts of what a summary by a model hides, copied by rule.

    They take 4 % of the window at most, of a small one up to a tenth. A ledger that is itself the
    summary, and a truncation's marker, carry theirs already.
    """
    if reduction.kind != "condensed" or not reduction.prompt:
        return Addition()
    facts = await facts_of(reduction.hidden_among(situation.effective), situation)
    return Addition(blocks=facts, what=FACTS)


async def facts_of(
    hidden: Sequence[Message],
    situation: Situation,
    *,
    counter: TokenCounter | None = None,
) -> tuple[TextBlock, ...]:
    """Return the ledger of hidden messages, as large as the window allows, copied in a thread."""
    budget = budget_in(situation.budget.window)
    return await asyncio.to_thread(ledger, hidden, budget_tokens=budget, counter=counter)


@dataclass(frozen=True, slots=True)
class AttachFoldedFiles:
    """Adds the files that a summary hides the reading of, as signatures, and says so on record.

    ``root`` is the workspace; ``ignore`` tells which paths in it are not shown, in place of its
    ``.rooignore``. The last read comes first. All of them take 50,000 characters at most, less in
    a window under 200,000 tokens, and a third of what was gained. A truncation gets none.
    """

    root: str | os.PathLike[str]
    ignore: Ignore | None = None

    async def __call__(self, situation: Situation, reduction: Reduction) -> Addition:
        """Return one block for each file; nothing where none was read."""
        if reduction.kind != "condensed":
            return Addition()
        return await asyncio.to_thread(self._fold, situation, reduction)

    def _fold(self, situation: Situation, reduction: Reduction) -> Addition:
        paths = files_read(reduction.hidden_among(situation.effective))
        if not paths:
            return Addition()
        gained = reduction.tokens_before.value - reduction.tokens_after.value
        of_window = int(situation.budget.window * PER_TOKEN_OF_WINDOW)
        room = max(0, min(LIMIT, of_window, gained * PER_TOKEN_GAINED))
        folded = self.fold(paths, room)
        return Addition(blocks=tuple(map(TextBlock, folded.sections)), folded=folded, what=FILES)

    def fold(self, paths: Sequence[str], limit: int) -> Folded:
        """Return the signatures of these files in so many characters, wherever they are kept."""
        return fold_files(paths, self.root, limit=limit, ignore=self.ignore)
