"""What a receipt finds of hidden facts in what the model reads instead."""

import pytest
from hypothesis import given

from condense.facts.ledger import FileUse, Ledger, render
from condense.facts.notebook import ledger
from condense.facts.receipt import KINDS, MOST_FACTS, Receipt, receipt
from condense.facts.texts import Shown, plain
from condense.messages import Message, TextBlock
from condense.recall.passages import Passage
from condense.recall.ranking import MemoryRecall
from tests.condense.sessions import WORDS, Session, sessions, summary
from tests.growth import LINEAR, assert_cheap


def session() -> Session:
    """Return a session with one fact of each kind, and a few more."""
    made = Session().says(
        "Fix parser_core in under 250 ms, that is it. Never touch the public API!"
    )
    made.reads("/app/src/read_me.py").edits("/app/src/parser.py").reads("/app/src/parser.py")
    made.runs("make check", "error: a broken pipe", error=True).runs("grep -rn def src")
    made.runs("git log --oneline").runs("git -C web show")
    return made


def states(found: Receipt) -> dict[str, str]:
    """Return the state of each fact by its text."""
    return {one.needle if one.kind == "names" else one.text: one.verdict for one in found.findings}


def test_every_kind_of_fact_is_looked_for() -> None:
    """Edited and read files, commands but no look-ups, errors, rules, and names with numbers."""
    found = receipt(session().messages, "")
    kinds = {kind: [f.needle for f in found.findings if f.kind == kind] for kind in KINDS}
    assert kinds == {
        "edited_files": ["/app/src/parser.py"],
        "read_files": ["/app/src/read_me.py"],
        "commands": ["make check"],
        "errors": ["error: a broken pipe"],
        "constraints": ["Never touch the public API"],
        "names": ["parser_core", "250 ms"],
        "results": [],
    }
    ids = [message.id for message in session().messages]
    sources = {finding.needle: finding.source for finding in found.findings}
    assert sources["parser_core"] == ids[0]
    quotes = [finding.marked for finding in found.findings if finding.kind == "names"]
    assert quotes[0] == ("Fix ", "parser_core", " in under 250 ms")
    assert sources["error: a broken pipe"] == ids[8]


def test_what_the_summary_says_word_for_word_is_kept() -> None:
    """Where it has a name only, that is named: nobody knows what is said of it."""
    text = "Changed src/parser.py; run make check. Never touch the public API! read_me.py: 250 ms"
    assert states(receipt(session().messages, text)) == {
        "/app/src/parser.py": "kept",
        "/app/src/read_me.py": "named",
        "make check": "kept",
        "error: a broken pipe": "lost",
        "Never touch the public API!": "kept",
        "parser_core": "lost",
        "250 ms": "named",
    }


def test_a_fact_can_be_found_where_a_search_with_its_words_finds_its_message() -> None:
    """Among the first five; a word in common with a vague sentence is not enough."""
    hidden = session().messages
    text = "The public interface of it all stays, error or not."
    assert set(states(receipt(hidden, text, search=MemoryRecall(hidden))).values()) == {
        "recoverable"
    }
    seen: list[tuple[str, int]] = []

    def search(words: str, limit: int) -> list[Passage]:
        seen.append((words, limit))
        return [Passage(id_, 1, "", 1) for id_ in ("another", hidden[0].id)]

    first = receipt(hidden, "", search=search)
    assert ("make check", 5) in seen
    assert {one.kind for one in first.of("recoverable")} == {"constraints", "names"}
    assert set(states(receipt(hidden, "")).values()) == {"lost"}
    beside = TextBlock(hidden[0].text, {"beside": {"kind": "recalled"}})
    brought = [hidden[0], Message("user", (beside, TextBlock("Go on.")), id="brought")]
    again = receipt(brought, "", search=lambda _words, _limit: [Passage("brought", 2, "", 1)])
    assert set(states(again).values()) == {"lost"}
    on_disk = receipt(hidden, "", on_disk=lambda path: "parser" in path)
    assert [one.text for one in on_disk.of("recoverable")] == ["/app/src/parser.py"]


def test_a_file_is_kept_where_a_ledger_or_a_call_tells_what_was_done_with_it() -> None:
    """As edited it is kept, only read it is named; of another folder, it is another."""
    made = Session().edits("/app/web/index.js").edits("/app/api/index.js").edits("top.js")
    found = states(receipt(made.messages, "See web/index.js, top.js."))
    assert found == {"/app/web/index.js": "kept", "/app/api/index.js": "named", "top.js": "named"}
    made = Session().edits("/app/src/a.py").edits("/app/lib/b.py").edits("/app/c.py")
    block = TextBlock(
        render(Ledger(files=(FileUse("/app/src/a.py", True), FileUse("/app/lib/b.py"))))
    )
    kept = [summary(TextBlock("S"), block), *Session().edits("/app/c.py").messages]
    found = {"/app/src/a.py": "kept", "/app/lib/b.py": "named", "/app/c.py": "kept"}
    assert states(receipt(made.messages, kept)) == found
    found["/app/c.py"] = "lost"
    for text in (block.text, f"S\n\n{block.text}"):
        assert states(receipt(made.messages, text)) == found


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Never touch the “public” API!", 'never touch the "public" API'),
        ("Don't use tabs, it's 1,016 files.", "Don\u2019t use tabs, it\u2019s 1016 files."),
        ("Always keep `ledger.py` as it is", "Always keep ledger.py\nas   it is"),
        ("You must write a\\nb", "You must write a b"),
        ("Avoid 10\u201320 rows", "avoid 10-20 rows"),
        ("Never show &lt;b&gt;", "never show <b>"),
        ("Always say \ufb01le, at most 5 %", "always say file, at most 5%"),
    ],
)
def test_how_something_is_written_is_no_loss(said: str, kept: str) -> None:
    """Case, quotes, emphasis, escapes, dashes, entities, spaces and line breaks."""
    talk = Session().says("This is what you and I want.").says(said)
    found = receipt(talk.messages, f"The user: {kept}.")
    assert [one.state for one in found.findings if one.kind == "constraints"] == ["kept"]


def test_a_name_is_no_part_of_a_longer_one() -> None:
    """But where a script has no spaces; and numbers of a pasted log are no facts."""
    shown = Shown("store_test.go host-17x 端口8080号 a-b")
    assert all(map(shown.says, ("store_test", "8080", "a", "端口")))
    assert not any(map(shown.says, ("store", "host-17", "x", "")))
    log = Session().says(
        "Look at this:\n" + "\n".join(f"{n}000 rows in {n}15 ms" for n in range(40))
    )
    assert not receipt(log.messages, "").findings
    names = states(receipt(Session().says("It is €4,500 for host_17 by 2026.").messages, ""))
    assert [*names] == ["€4,500", "host_17", "2026"]


def test_the_kind_with_the_worst_score_comes_first() -> None:
    """A name counts as kept; a fact that was put back is kept, and nothing else changes."""
    found = receipt(session().messages, "Never touch the public API! See parser.py.")
    scores = [tally.score for tally in found.tallies.values()]
    assert scores == sorted(scores)
    assert found.tallies["constraints"].score == found.tallies["edited_files"].score == 1
    assert found.tallies["commands"].score == 0
    found = receipt(session().messages, "parser.py")
    index = next(place for place, one in enumerate(found.findings) if one.state == "lost")
    after = found.with_kept(index)
    assert after.findings[index].state == "kept"
    assert after.findings[index].text == found.findings[index].text
    assert after.total.kept == found.total.kept + 1
    assert after.total.total == found.total.total
    sources = {one.source for one in found.with_sources({"m1": "x"}).findings}
    assert "x" in sources
    assert "m1" not in sources


def test_a_receipt_of_an_earlier_release_can_be_read() -> None:
    """It knew of results, of denials, and of neither."""
    old = {"kind": "names", "text": "a", "needle": "a", "source": "", "folder": "", "state": "kept"}
    older = {**old, "kind": "results", "state": "named", "denied": True, "context": "a b"}
    found = Receipt.from_json([old, older])
    assert (found.total.kept, found.total.named, found.findings[1].denied) == (1, 1, True)
    assert Receipt.from_json(found.to_json()) == found


def test_facts_of_an_earlier_ledger_are_looked_for_again() -> None:
    """And the ledger that a condensation attaches keeps all of them."""
    carried = summary(TextBlock("S"), *ledger(session().messages))
    found = states(receipt([carried], "nothing"))
    assert found["/app/src/parser.py"] == "lost"
    assert found["parser_core"] == "lost"
    hidden = session().messages
    kept = summary(TextBlock("S"), *ledger(hidden))
    assert receipt(hidden, [kept]).total.score == 1


def test_only_the_newest_facts_of_a_kind_are_looked_up() -> None:
    """However many names a message has, and however long it is."""
    names = [f"name_{number}" for number in range(1_000)]
    found = receipt(Session().says(" ".join(names)).messages, "")
    assert len(found.findings) == MOST_FACTS
    many = Session().says(" ".join(f"name_{number}" for number in range(40_000))).messages
    few = Session().says(" ".join(f"name_{number}" for number in range(5_000))).messages
    assert_cheap(lambda: receipt(many, ""), lambda: receipt(few, ""), LINEAR)


@given(sessions(), WORDS)
def test_counts_add_up_and_nothing_is_kept_that_does_not_stand_there(
    messages: list[Message], text: str
) -> None:
    """For any session and any summary."""
    found = receipt(messages, text)
    total = found.total
    assert total.total == len(found.findings) == sum(t.total for t in found.tallies.values())
    assert total.kept == sum(tally.kept for tally in found.tallies.values())
    shown = plain(text)
    assert all(plain(one.needle).rpartition("/")[2] in shown for one in found.of("kept"))
