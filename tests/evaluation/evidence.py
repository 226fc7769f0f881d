"""Evidence: of the messages that answer a benchmark's questions, those in the request that asks."""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from condense.messages import BESIDE, Message
from condense.recall.passages import MOST_PASSAGES, MOST_TOKENS, recalled_block
from condense.recall.ranking import MemoryRecall
from tests.evaluation.benchmarks import Asked, Benchmark
from tests.evaluation.contents import text_of, words_in
from tests.evaluation.figures import Shown, pieces_of
from tests.evaluation.questions import COUNTER, Search
from tests.evaluation.replay import Replay
from tests.evaluation.scores import Course

COLUMNS = ("found", "recall", "ledger", "tail", "request", "words", "FTS", "last")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Limits:
    """The passages that are found for a question, and the tokens of those that are recalled."""

    passages: int = MOST_PASSAGES
    tokens: int = MOST_TOKENS


async def find_evidence(
    benchmark: Benchmark,
    limits: Limits = Limits(),
    course: Course | None = None,
    search: Search = MemoryRecall,
) -> dict[str, Counter[str]]:
    """Return for each type of question how much evidence there is, and how much of it is where.

    The chat is condensed to its ledger at each cut, without a model, and each question is asked by
    itself after the last.
    """
    chat = benchmark.chat
    course = course or Course()
    replay = Replay("ledger", COUNTER, course.window)
    step = [step async for step in replay.run(chat, course.cuts(chat) or chat.cuts)][-1]
    cut = step.cut
    ledger, tail = Shown(text_of(step.after)), chat.messages[cut.at :]
    find = search(chat.messages[: cut.at])
    words = by_full_text(chat.messages, [one.words for one in benchmark.asked], limits.passages)
    kept = COUNTER.count(ledger.text) + sum(one.tokens or 0 for one in tail)
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one, by_words in zip(benchmark.asked, words, strict=True):
        evidence = {benchmark.places[name] for name in one.evidence}
        passages = find(one.words, limits.passages)
        block = recalled_block(passages, counter=COUNTER, limit=limits.tokens)
        recalled = {p["seq"] - 1 for p in block.extra[BESIDE]["passages"]} if block else set()
        tokens = COUNTER.count(block.text) if block else 0
        telling = {at: _telling(chat.messages[at].text, one) for at in evidence}
        request = Shown("\n".join((ledger.text, block.text if block else "", text_of(tail))))
        places = {
            "found": {passage.seq - 1 for passage in passages},
            "recall": recalled,
            "ledger": {at for at in evidence if ledger.has(telling[at])},
            "tail": {at for at in evidence if at >= cut.at},
            "words": {at for at in evidence if request.has(telling[at])},
            "FTS": by_words,
            "last": set(_newest(chat.messages, kept + tokens)),
        }
        places["request"] = places["recall"] | places["ledger"] | places["tail"]
        shares = {name: len(evidence & places[name]) for name in COLUMNS}
        counts = {"asked": 1, "evidence": len(evidence), "tokens": tokens}
        found[one.kind].update({**shares, **counts, "whole": evidence <= places["request"]})
    return dict(found)


def _telling(text: str, asked: Asked) -> str:
    """Return the piece of a message that has most of the words that a reply should have."""
    words = {word.lower() for word in words_in(asked.statement)}
    pieces = [*pieces_of(text)] or [text]
    return max(pieces, key=lambda one: len(words & {word.lower() for word in words_in(one)}))


def _newest(messages: Sequence[Message], tokens: int) -> Iterable[int]:
    """Yield the indices of the newest messages that have so many tokens together."""
    for at in reversed(range(len(messages))):
        tokens -= messages[at].tokens or 0
        if tokens < 0:
            return
        yield at


def by_full_text(
    messages: Sequence[Message], questions: Sequence[str], most: int
) -> list[set[int]]:
    """Return for each question the messages that SQLite's own search ranks best, as indices."""
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE said USING fts5 (text, tokenize='porter')")
        texts = [(at, one.text) for at, one in enumerate(messages)]
        index.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", texts)
        query = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT ?"
        any_of = [" OR ".join(f'"{word}"' for word in _WORD.findall(one)) for one in questions]
        return [{at for (at,) in index.execute(query, (words, most))} for words in any_of]


def format_evidence(chats: Iterable[Mapping[str, Counter[str]]]) -> str:
    """Return a line for each type of question over all chats, and one for all together."""
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for chat in chats:
        for kind, found in chat.items():
            kinds[kind] += found
    kinds = defaultdict(Counter, sorted(kinds.items()))
    kinds["all"] = sum(kinds.values(), Counter())
    lines = [
        f"{'':24} asked evidence" + "".join(f"{name:>9}" for name in (*COLUMNS, "whole", "tokens"))
    ]
    for kind, found in kinds.items():
        shares = [found[name] / max(1, found["evidence"]) for name in COLUMNS]
        shares.append(found["whole"] / max(1, found["asked"]))
        cells = "".join(f"{share:9.1%}" for share in shares)
        mean = found["tokens"] / max(1, found["asked"])
        lines.append(f"{kind:24} {found['asked']:5} {found['evidence']:8}{cells}{mean:9.0f}")
    return "\n".join(lines)
