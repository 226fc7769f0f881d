"""What a receipt finds of hidden facts in what the model reads instead."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condense.messages import Message, TextBlock
from condense.notes.ledger import FileUse, Ledger
from condense.notes.ledger_text import render
from condense.notes.notebook import ledger
from condense.receipts.lookup import MOST, find, plain
from condense.receipts.probes import KINDS, probes_of
from condense.receipts.receipt import Receipt, receipt
from tests.condense.sessions import WORDS, Session, sessions, summary


def session() -> Session:
    """Return a session with one fact of each kind, and a few more."""
    made = Session().says("Fix parser_core in under 250 ms. Never touch the public API!")
    made.reads("/app/src/read_me.py").edits("/app/src/parser.py")
    return made.runs("make check", "error: broken pipe", error=True)


def states(found: Receipt) -> dict[str, str]:
    """Return the state of each fact by its text."""
    return {finding.probe.text: finding.state for finding in found.findings}


def test_every_kind_of_fact_is_looked_for() -> None:
    """Edited and read files, commands, errors, rules, names with numbers, and results."""
    made = session().replies("It takes 84 ms now, which is 12 % less.")
    found, figures = receipt(made.messages, ""), ("84 ms", "12 %")
    assert {
        kind: [f.probe.text for f in found.findings if f.probe.kind == kind] for kind in KINDS
    } == {
        "edited_files": ["/app/src/parser.py"],
        "read_files": ["/app/src/read_me.py"],
        "commands": ["make check"],
        "errors": ["error: broken pipe"],
        "constraints": ["Never touch the public API!"],
        "names": ["parser_core", "250 ms"],
        "results": [f"{figure}: It takes 84 ms now, which is 12 % less." for figure in figures],
    }


def test_a_number_is_looked_for_with_the_word_it_is_a_part_of() -> None:
    """Half of a name is no fact, and no second one."""
    talk = Session().says("Deploy QX-7781 to heliotrope-42, 3 times between 10-20 o'clock.")
    names = [one.probe.text for one in receipt(talk.messages, "").findings]
    assert {"QX-7781", "heliotrope-42", "10", "20"} <= set(names)
    assert not {"7781", "42"} & set(names)


def test_what_the_summary_says_word_for_word_is_kept() -> None:
    """Where it has a name only, that is named: nobody knows what is said of it."""
    text = "Changed parser.py; run make check. Never touch the public API! 250 ms."
    found = receipt(session().messages, text)
    assert {probe.text for probe in found.of("kept")} == {
        "make check",
        "Never touch the public API!",
    }
    assert {probe.text for probe in found.of("named")} == {"/app/src/parser.py", "250 ms"}


def test_what_can_be_searched_for_or_read_again_is_recoverable() -> None:
    """Where the model reads a word of it, or the file is there."""
    found = states(receipt(session().messages, "The public interface stays."))
    assert found["Never touch the public API!"] == "recoverable"
    assert found["make check"] == "missing"
    off = states(receipt(session().messages, "The public interface stays.", searchable=False))
    assert off["Never touch the public API!"] == "missing"
    found = receipt(session().messages, "", on_disk=lambda path: path.endswith("parser.py"))
    assert states(found)["/app/src/parser.py"] == "recoverable"
    assert states(found)["/app/src/read_me.py"] == "missing"


def test_files_are_told_apart_by_their_folders() -> None:
    """Two paths of one are one, and one of another folder is another."""
    made = Session().edits("/app/web/index.js").edits("/app/api/index.js")
    found = states(receipt(made.messages, "Edited web/index.js, and something in api."))
    assert found["/app/web/index.js"] == "named"
    assert found["/app/api/index.js"] in ("recoverable", "missing")
    unclear = states(receipt(made.messages, "Edited index.js.", searchable=False))
    assert set(unclear.values()) == {"missing"}
    made = Session().reads("/app/web/index.js").edits("web/index.js").reads("/app/api/index.js")
    found = states(receipt(made.messages, "See web/index.js.", searchable=False))
    assert found == {"/app/web/index.js": "named", "/app/api/index.js": "missing"}
    made = Session().edits("/app/web/index.js").messages
    assert states(receipt(made, "See lib/index.js."))["/app/web/index.js"] != "named"
    for told in ("index.js", "./index.js", "web/index.js", "/app/web/index.js", "~/index.js"):
        assert states(receipt(made, f"See {told}."))["/app/web/index.js"] == "named"


def test_a_file_is_kept_where_a_ledger_or_a_call_tells_what_was_done_with_it() -> None:
    """As edited; one that was only read is named."""
    made = Session().edits("/app/src/a.py").edits("/app/src/b.py").edits("/app/c.py")
    block = render(Ledger(files=(FileUse("/app/src/a.py", 1, 0), FileUse("/app/src/b.py", 0, 2))))
    kept = [summary(TextBlock(block)), *Session().edits("/app/c.py").messages]
    found = {"/app/src/a.py": "kept", "/app/src/b.py": "named", "/app/c.py": "kept"}
    assert states(receipt(made.messages, kept)) == found


def test_a_path_that_the_user_named_is_found_in_the_folders_of_a_ledger() -> None:
    """Where a file is listed below its folder."""
    paths = ("/app/src/web/index.js", "/app/src/web/view.js")
    block = render(Ledger(files=tuple(FileUse(path, 1, 0) for path in paths)))
    found = receipt(Session().says("Look at web/index.js").messages, block)
    assert states(found)["web/index.js"] == "named"


def test_a_denial_near_a_name_is_marked_unless_it_was_said_so() -> None:
    """In the same sentence, in any of the languages that rules are read in."""
    talk = Session().says("Deploy it to heliotrope-42 today.").messages
    for text, denied in {
        "The user does not want heliotrope-42.": True,
        "Nicht auf heliotrope-42 installieren.": True,
        "不能用heliotrope-42。": True,
        "It is not ready. Use heliotrope-42.": False,
        "Never heliotrope-41. And heliotrope-42 is fine; so is heliotrope-42.": False,
    }.items():
        (finding,) = (one for one in receipt(talk, text).findings if one.probe.kind == "names")
        assert (finding.state, finding.denied) == ("named", denied)
    never = Session().says("Never deploy it to heliotrope-42.").messages
    found = receipt(never, "It must not be heliotrope-42.").findings
    assert not any(one.denied for one in found)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Never touch the “public” API!", 'never touch the "public" API'),
        ("Don't use tabs, it's 1,016 files.", "Don\u2019t use tabs, it\u2019s 1016 files."),
        ("Always keep `ledger.py` as it is", "Always keep ledger.py\nas   it is"),
        ("You must write a\\nb", "You must write a b"),
        ("Avoid 10\u201320 rows", "avoid 10-20 rows"),
        ("Never show &lt;b&gt;", "never show <b>"),
        ("Always say \ufb01le", "always say file"),
    ],
)
def test_how_something_is_written_is_no_loss(said: str, kept: str) -> None:
    """Case, quotes, emphasis, escapes, dashes, entities, spaces and line breaks."""
    found = receipt(Session().says(said).messages, f"The user: {kept}.")
    (rule,) = (one for one in found.findings if one.probe.kind == "constraints")
    assert rule.state == "kept"


def test_what_is_told_in_other_words_is_named() -> None:
    """Most of its words stand near one another."""
    talk = Session().says("Never change the public interface of the parser module.").messages
    found = states(receipt(talk, "- The public interface of parser modules is never changed."))
    assert found["Never change the public interface of the parser module."] == "named"


@pytest.mark.parametrize(
    "rule",
    ["端口8080不能改", "Beträge niemals in Prozent", "昼間は電話を使わないでください",
     "لا يجوز تغيير المنفذ", "Ne jamais pousser sur main", "No footnotes", "You should use tabs"],
)  # fmt: skip
def test_rules_are_read_in_many_languages(rule: str) -> None:
    """And looked for as they are."""
    found = receipt(Session().says(f"OK. {rule}").messages, f"Rules: {rule}")
    assert [one.state for one in found.findings if one.probe.kind == "constraints"] == ["kept"]


@pytest.mark.parametrize(
    "text",
    [
        "I don't like it",
        "Commits don't get it",
        "Should we always do that?",
        "It returns only one row, I think.",
    ],
)
def test_a_question_or_an_opinion_is_no_rule(text: str) -> None:
    """It asks for nothing to be kept to."""
    assert "constraints" not in receipt(Session().says(text).messages, "").tallies


def test_what_was_pasted_or_numbers_lines_is_no_fact() -> None:
    """A date is one."""
    log = "\n".join(f'"worktree_{n}": {n}000,\n[main 35{n}c1b] Set 10{n}0 rows' for n in range(40))
    talk = Session().says(f"It fails since build 4711.\n{log}\nNever retry it 815 times.")
    names = {one.probe.text for one in receipt(talk.messages, "").findings}
    assert names == {"4711", "815", "Never retry it 815 times."}
    quoted = Session().says("Why?\n> Found 4711 rows\n+ 4712 added\n```\nx = 4713\n```")
    assert not receipt(quoted.messages, "").findings
    text = "See lines 366, 368-369 and line 1005, 9ebafbbe-fc3e-4094-b197-ec99c77392c6, at 12:43:25"
    assert not receipt(Session().says(text).messages, "").findings
    talk = Session().says("It is due on 2026-10-12. The log says 4711-12-0815-3 there.").messages
    assert [probe.text for probe in probes_of(talk)] == ["2026-10-12"]
    assert states(receipt(talk, "Due on 2026-10-12.")) == {"2026-10-12": "named"}
    log = [f"| {number} | state = {{1: 'open'}} |" for number in range(20)]
    pasted = [*log[:10], "The value must never be empty here.", *log[10:]]
    said = "\n".join(["Look at this.", *pasted, "And never touch that table."])
    rules = [p.text for p in probes_of(Session().says(said).messages) if p.kind == "constraints"]
    assert rules == ["And never touch that table."]


def test_what_people_say_in_results_gives_facts() -> None:
    """A reason for a refusal is a rule as well as any."""
    refusal = "The user doesn't want this. The user said:\nDon't commit to main"
    made = Session().runs("git commit -m x", refusal, error=True)
    found = receipt(made.messages, "Rule: don't commit to main.").findings
    assert [one.state for one in found if one.probe.kind == "constraints"] == ["kept"]


def test_an_error_that_was_settled_is_no_fact() -> None:
    """By the same command, the same file, or since nobody came back to it for long."""
    made = Session().runs("make check", "error: a", error=True).runs("make check")
    made.edits("/a.py", "error: b", error=True).edits("/a.py")
    assert "errors" not in receipt(made.messages, "").tallies
    made.runs("make all -j", "error: c", error=True)
    assert [one.text for one in receipt(made.messages, "").of("missing")][-1] == "error: c"
    for number in range(60):
        made.reads(f"/{number}.py")
    assert "errors" not in receipt(made.messages, "").tallies


def test_a_command_is_named_by_its_first_words_and_a_look_is_no_fact() -> None:
    """What a look-up found matters, not that it ran."""
    made = Session().runs("cd /app && make check 2>&1 | tail -5").runs("grep -rn x src")
    (finding,) = receipt(made.messages, "It passes make check.").findings
    assert (finding.probe.kind, finding.state) == ("commands", "named")
    added = Session().runs("git add cmd/web/index.js").messages
    assert not receipt(added, "In cmd/web/index.js something was added with git.").of("named")


@pytest.mark.parametrize(
    ("reply", "figures"),
    [
        ("Your booking number is LJ-5QX7.", ["LJ-5QX7"]),
        ("That is **38 %** of £312.40, due 2026-10-12.", ["38 %", "£312.40", "2026-10-12"]),
        ("Wir brauchen 142 Stimmen bis 27. Oktober.", ["142 Stimmen", "27. Oktober"]),
        ("一次备份大约要37分钟。", ["37分钟"]),
        ("I opened ticket #559102.", ["#559102"]),
        ("Shall I take 38 %?", []),
        ("I'm 100% sure there are 3 ways.", []),
    ],
)
def test_results_of_replies_are_looked_for(reply: str, figures: list[str]) -> None:
    """Amounts, percentages, dates, codes and numbers with a unit; no question is one."""
    found = [one.probe for one in receipt(Session().replies(reply).messages, "").findings]
    assert {one.kind for one in found} <= {"results"}
    assert [one.needle for one in found] == figures


def test_the_kind_with_the_worst_score_comes_first() -> None:
    """A name counts like what was kept: it still stands there."""
    found = receipt(session().messages, "Never touch the public API! See parser.py.")
    scores = [tally.score for tally in found.tallies.values()]
    assert scores == sorted(scores)
    assert found.tallies["constraints"].score == found.tallies["edited_files"].score == 1
    assert found.tallies["commands"].score == 0


def test_a_receipt_of_an_earlier_release_can_be_read() -> None:
    """It knew of no context and of no denial."""
    old = {"kind": "names", "text": "a", "needle": "a", "source": "", "folder": "", "state": "kept"}
    assert Receipt.from_json([old]).total.kept == 1


def test_a_probe_knows_its_message_and_its_facts_are_looked_for_again() -> None:
    """From a ledger as well."""
    carried = summary(*ledger(session().messages))
    found = states(receipt([carried], "nothing"))
    assert found["/app/src/parser.py"] == "missing"
    assert "Never touch the public API!" in found
    hidden = session().messages
    rule = next(p for p in receipt(hidden, "").of("missing") if p.kind == "constraints")
    assert rule.source == hidden[0].id
    hidden = session().messages
    assert receipt(hidden, [summary(*ledger(hidden))]).total.score == 1


def test_a_fact_that_was_put_back_is_kept() -> None:
    """And nothing else changes."""
    found = receipt(session().messages, "parser.py")
    index = next(place for place, one in enumerate(found.findings) if one.state == "missing")
    after = found.with_kept(index)
    assert after.findings[index].state == "kept"
    assert after.findings[index].probe == found.findings[index].probe
    assert after.total.kept == found.total.kept + 1
    assert after.total.total == found.total.total


@settings(max_examples=100, deadline=None)
@given(sessions(), WORDS)
def test_counts_add_up_and_nothing_is_kept_that_does_not_stand_there(
    messages: list[Message], text: str
) -> None:
    """For any session and any summary."""
    found = receipt(messages, text)
    total = found.total
    assert total.total == len(found.findings) == sum(t.total for t in found.tallies.values())
    assert total.kept == sum(tally.kept for tally in found.tallies.values())
    assert all(plain(probe.needle) in plain(text) for probe in found.of("kept"))


# Few letters, so that strings are found; signs that join words and that part them.
TEXT = st.text("ab_1é. /-\n周五", max_size=60)
NEEDLES = st.lists(st.tuples(st.text("ab_1é. /-周五", min_size=1, max_size=8), st.booleans()))
JOINED = r"[^\W周五]"


@settings(max_examples=500, deadline=None)
@given(TEXT, NEEDLES)
def test_it_finds_what_a_search_for_each_string_finds(
    text: str, needles: list[tuple[str, bool]]
) -> None:
    """Anywhere, or as whole words; a script without spaces parts none."""

    def search(needle: str, whole: bool) -> list[int]:
        left = rf"(?<!{JOINED})" if re.match(JOINED, needle) else ""
        right = rf"(?!{JOINED})" if re.match(JOINED, needle[-1]) else ""
        sides = (left, right) if whole else ("", "")
        pattern = f"(?={sides[0]}{re.escape(needle)}{sides[1]})"
        return [match.start() for match in re.finditer(pattern, text)][:MOST]

    assert [list(places) for places in find(text, needles)] == [search(*one) for one in needles]


def test_a_part_of_a_word_is_found_unless_it_must_be_whole() -> None:
    """A command is cut after sixty characters, in the middle of a word."""
    text = "go test ./internal/store_test.go"
    needles = [("go test ./internal/sto", False), ("st", False), ("store_test.go", True)]
    assert all(find(text, needles))
    assert not any(find(text, [("store", True), ("st", True), ("", False)]))
