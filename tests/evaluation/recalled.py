"""Recalled: what recall adds for an agent, for each message that a user sent after a cut."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from condense.history.boundaries import pair_calls
from condense.messages import BESIDE, Message
from condense.recall.passages import MOST_PASSAGES, Passage, recalled_block, token_limit
from condense.recall.ranking import MemoryRecall, with_subject
from tests.evaluation.contents import actions_in, leaves, result_text, said_in, text_of
from tests.evaluation.figures import NEXT, Shown, flat, wants_of
from tests.evaluation.questions import COUNTER, Search
from tests.evaluation.recordings import Cut, Recording
from tests.evaluation.replay import WINDOW, Replay
from tests.evaluation.scores import Course


@dataclass(slots=True)
class Recalled:
    """Counts over all messages, and the tokens that were recalled for each."""

    counts: Counter[str] = field(default_factory=Counter)
    tokens: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the figures in lines."""
        sizes = self.tokens or [0]
        shares = [
            f"{name} {self.counts[name] / max(1, self.counts['needed']):.1%}"
            for name in ("in the ledger", "recalled", "recalled alone")
        ]
        return (
            f"users' messages {len(sizes)}, with passages {sum(map(bool, sizes))},"
            f" tokens {statistics.median(sizes):.0f} (median), {max(sizes)} (most)\n"
            f"needed items: {', '.join(shares)}\npassages {self.counts['passages']},"
            f" of files {self.counts['of files']}, stale {self.counts['stale']}"
        )


async def recall_for_agents(
    recordings: Iterable[Recording], course: Course, search: Search = MemoryRecall
) -> Recalled:
    """Return what is recalled of what the next twenty calls name and nobody sees any more."""
    told = Recalled()
    for one in recordings:
        steps = [step async for step in Replay("ledger", COUNTER).run(one, course.cuts(one))]
        ends = [*(step.cut.at for step in steps[1:]), len(one.messages)]
        for step, end in zip(steps, ends, strict=True):
            hidden = one.messages[: step.cut.at]
            find, held, ledger = search(hidden), Shown(text_of(hidden)), Shown(text_of(step.after))
            for at in range(step.cut.at, end):
                if not (said := said_in(one.messages[at])):
                    continue
                earlier = (said_in(message) for message in reversed(one.messages[:at]))
                asked = with_subject(said, partial(next, filter(None, earlier), ""))
                passages = find(asked, MOST_PASSAGES)
                block = recalled_block(passages, counter=COUNTER, limit=token_limit(WINDOW))
                text = block.text if block else ""
                seen = Shown(text_of(one.messages[step.cut.at : at + 1]))
                later = [*actions_in(one.messages[at:])][:NEXT]
                needed = {
                    item
                    for want in wants_of(held, later, one, Cut(at))
                    for item in want.unseen
                    if not seen.shows(item)
                }
                kept = {place["seq"] for place in block.extra[BESIDE]["passages"]} if block else ()
                files = [
                    _is_stale(passage, one.messages[:at])
                    for passage in passages if passage.seq in kept
                ]  # fmt: skip
                recalled = Shown(text)
                told.tokens.append(COUNTER.count(text))
                told.counts.update({
                    "needed": len(needed), "passages": len(files),
                    "in the ledger": sum(map(ledger.shows, needed)),
                    "recalled": sum(map(recalled.shows, needed)),
                    "recalled alone": sum(recalled.shows(x) > ledger.shows(x) for x in needed),
                    "of files": len(files) - files.count(None), "stale": files.count(True),
                })  # fmt: skip
    return told


def _is_stale(passage: Passage, messages: Sequence[Message]) -> bool | None:
    """Whether a passage is of a file that a later call is about; None where it is of no file."""
    actions = [*actions_in(messages)]
    uses = [use for message in messages for use in message.tool_uses]
    files = {id(use): one.files for use, one in zip(uses, actions, strict=True)}
    start = flat(passage.text)[:60]
    for pair in pair_calls(messages).answered:
        said = {
            pair.called_at: "\n".join(text for _, text in leaves(pair.call.input)),
            pair.answered_at: result_text(pair.result),
        }
        own = files[id(pair.call)]
        if own and start in flat(said.get(passage.seq - 1, "")):
            return any(own & one.files for one in actions if one.at > pair.called_at)
    return None
