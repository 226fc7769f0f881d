"""Questions that are asked weeks later: what a search finds, and what the request then contains."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from condense.messages import Message
from condense.recall.passages import MOST_PASSAGES, Recall, recalled_block, token_limit
from condense.recall.ranking import MemoryRecall
from condense.tokens.counters import CachedCounter, PromptCounter
from tests.evaluation.chats import read_chat, splice_chat
from tests.evaluation.contents import text_of
from tests.evaluation.recordings import Question, Recording
from tests.evaluation.replay import WINDOW, Replay

SIZE = 200_000  # tokens of a spliced chat
COUNTER = CachedCounter(PromptCounter())

# Makes a search of the messages that are hidden.
Search = Callable[[Sequence[Message]], Recall]


def spliced(path: Path, size: int) -> Recording:
    """Return a chat: among so many tokens of other talk if it has any, or as it is written."""
    if "\nSLOTS\n" in path.read_text("utf-8"):
        return splice_chat(path, COUNTER, size)
    return read_chat(path, COUNTER)


async def ask(recording: Recording, search: Search = MemoryRecall) -> Counter[str]:
    """Return how many questions there are, and of how many what holds; and the tokens recalled.

    The chat is condensed to its ledger at its cut, without a model.
    """
    (cut,) = recording.cuts
    (step,) = [step async for step in Replay("ledger", COUNTER).run(recording, (cut,))]
    shown = text_of([*step.after, *recording.messages[cut.at :]])
    find = search(recording.messages[: cut.at])
    found: Counter[str] = Counter()
    for question in recording.questions:
        passages = find(question.words, MOST_PASSAGES)
        places = [one.seq - 1 for one in passages]
        block = recalled_block(passages, counter=COUNTER, limit=token_limit(WINDOW))
        request = shown + (block.text if block else "")
        by = recording.messages[question.at].role
        found.update(
            {
                "questions": 1,
                "answer first": places[:1] == [question.at],
                "answer in the first five": question.at in places[:5],
                "answer in an excerpt": any(_answers(question, one.text) for one in passages[:5]),
                "answer in the request": _answers(question, request),
                "answer in the ledger": _answers(question, shown),
                f"asked of a {by}": 1,
                f"of a {by}, in the request": _answers(question, request),
                "tokens": COUNTER.count(block.text) if block else 0,
            }
        )
    return found


def _answers(question: Question, text: str) -> bool:
    return any(answer in text for answer in question.answers)


def format_answers(chats: Mapping[str, Counter[str]]) -> str:
    """Return a line for each chat, and one for all."""
    chats = {**chats, "all": sum(chats.values(), Counter())}
    lines = ["chat         asked  first  in 5  excerpt  request  ledger  user's  reply's  tokens"]
    for name, found in chats.items():
        asked = found["questions"]
        shares = [found[one] / asked for one in (
            "answer first", "answer in the first five", "answer in an excerpt",
            "answer in the request", "answer in the ledger")]  # fmt: skip
        shares += [
            found[f"of a {by}, in the request"] / max(1, found[f"asked of a {by}"])
            for by in ("user", "assistant")
        ]
        cells = "".join(f"{share:8.1%}" for share in shares)
        lines.append(f"{name:12} {asked:4} {cells} {found['tokens'] / asked:6.0f}")
    return "\n".join(lines)
