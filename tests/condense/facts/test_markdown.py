"""Ledgers as Markdown: written for people, and read back as they were."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense.facts.ledger import (
    NEWEST,
    Demand,
    Failure,
    FileUse,
    Ledger,
    Run,
    Todo,
    common_root,
    parse_ledger,
    render,
)
from condense.facts.notebook import gather, ledger
from condense.messages import TextBlock
from tests.condense.sessions import Session, marker, summary

EXAMPLE = Ledger(
    rules=("Never touch the port 8080.",),
    requests=(Demand("yes", "Shall I?"), Demand("Fix it:\n- first\n# then\n\n  that")),
    todos=(Todo("2", "two", active=True), Todo("3", "three")),
    done=1,
    files=(
        FileUse("/home/me/app/src/a.py", edited=True),
        FileUse("/home/me/app/src/b.py"),
        FileUse("/home/me/app/README.md"),
        FileUse("docs/x.md"),
        FileUse("c.py", edited=True),
    ),
    runs=(Run("make test", 3), Run("ls")),
    failures=(Failure("make lint", "error: no such rule"),),
    names=("parser_core", "ENT-109"),
    last_reply="It is done.\n- and tested",
)
TEXT = """## Ledger
### Standing rules, newest first
- Never touch the port 8080.
### User messages, newest first
- (re: Shall I?) yes
- Fix it:
  - first
  # then

    that
### To do, 1 done
- [-] 2: two
- [ ] 3: three
### Files (* changed), below /home/me/app/
- ./src/: a.py*, b.py
- ./: README.md
- docs/: x.md
- "c.py"*
### Commands
- `make test x3`
- `ls`
### Open errors
- make lint ⇒ error: no such rule
### Names
- parser_core ENT-109
### Last reply
- It is done.
  - and tested
(end of ledger)"""


def test_a_ledger_is_lists_by_kind() -> None:
    """Rules first, nothing empty, and a folder that most files share is told once."""
    assert render(EXAMPLE) == TEXT
    assert parse_ledger(TEXT) == parse_ledger(TEXT.replace(NEWEST, "")) == EXAMPLE
    assert render(Ledger()) == ""
    assert parse_ledger(render(Ledger(done=2))) == Ledger(done=2)
    paths = ["/home/me/project/a/x.py", "/home/me/project/b/y.py", "/etc/hosts"]
    assert common_root(paths) == "/home/me/project/"
    assert common_root(["/a/b.py", "/c/d.py", "e/f.py"]) == ""


# Letters of several scripts, and what ledgers are written with.
SIGNS = st.sampled_from([*'abB1 ~.-_#⇒[]*`/+:,"', "é", "端", "ش", "😀", "(re: ", " x3", "- "])
LINES = st.lists(SIGNS, min_size=1, max_size=12).map("".join).map(str.strip).filter(bool)
PIECES = ["\n", "[…]", "### User messages", "(end of ledger)", "## Ledger", "  ", "- "]
WORDS = st.lists(st.one_of(SIGNS, st.sampled_from(PIECES)), min_size=1, max_size=20)
TEXTS = WORDS.map("".join).map(str.strip).filter(bool)
NAME = LINES.map(lambda name: name.replace("/", "")).filter(lambda name: name.strip(". "))
ROOTS = st.sampled_from(["/home/me/project/", "/home/me/project/src/", "", "/", "src/"])
PATHS = st.tuples(ROOTS, st.lists(NAME, max_size=2), NAME).map(
    lambda parts: parts[0] + "/".join([*parts[1], parts[2]])
)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Return any ledger."""

    def some(items: st.SearchStrategy[Any], most: int) -> tuple[Any, ...]:
        return tuple(draw(st.lists(items, max_size=most)))

    return Ledger(
        rules=some(LINES, 2),
        requests=some(st.builds(Demand, TEXTS, st.sampled_from(["", "why?"])), 3),
        todos=some(st.builds(Todo, st.just("1"), LINES, st.booleans()), 2),
        done=draw(st.integers(0, 20)),
        runs=some(st.builds(Run, LINES, st.integers(1, 9)), 3),
        failures=some(st.builds(Failure, st.sampled_from(["a", "b ="]), LINES), 2),
        names=some(st.sampled_from(["a_b", "ENT-1", "cafe123"]), 3),
        last_reply=draw(st.one_of(st.just(""), TEXTS)),
    )


@given(ledgers(), st.lists(st.builds(FileUse, PATHS, st.booleans()), max_size=8))
def test_any_ledger_is_read_back_as_it_was(facts: Ledger, files: list[FileUse]) -> None:
    """Fact by fact, so that it can be carried over any number of rounds."""
    assert (parse_ledger(render(facts)) or Ledger()) == facts
    unique = tuple({one.path: one for one in files}.values())
    if unique:
        back = parse_ledger(render(Ledger(files=unique)))
        assert back is not None
        assert len(back.files) == len(unique)
        assert {*back.files} == {*unique}


def test_only_a_whole_ledger_at_the_beginning_counts() -> None:
    """Cut off or quoted, it is none; a summary or a marker carries one after its words."""
    for text in (f"He said: {TEXT}", TEXT.removesuffix("(end of ledger)"), "## Ledger\nx", ""):
        assert parse_ledger(text) is None
    assert parse_ledger(f"{TEXT}\n\n## Newest Request, Verbatim\n### x") == EXAMPLE
    block = TextBlock(render(EXAMPLE))
    for made in (summary(TextBlock("S"), block), marker(block)):
        assert {one.text for one in gather([made]).requests} == {
            one.text for one in EXAMPLE.requests
        }
    assert gather([summary(block)]) == Ledger()
    assert gather(Session().says(TEXT).messages).requests == (Demand(TEXT),)


@pytest.mark.parametrize("command", ["a ⇒ b", "a ⇒", "⇒", "a ⇒ ⇒"])
def test_an_arrow_in_a_command_is_not_taken_for_the_one_after_it(command: str) -> None:
    """Within it, or where it ends."""
    (block,) = ledger(Session().runs(command, "error: it does not work", error=True).messages)
    facts = parse_ledger(block.text)
    assert facts is not None
    assert facts.failures[0].message == "error: it does not work"


def test_rounds_change_nothing_that_is_there() -> None:
    """However often a ledger is carried on."""
    facts = EXAMPLE
    for number in range(3):
        (block,) = ledger([summary(TextBlock("S"), TextBlock(render(facts)), id_=f"s{number}")])
        facts = parse_ledger(block.text) or Ledger()
    kept = itertools.pairwise((facts, EXAMPLE))
    assert all((one.rules, one.requests, one.todos) == (two.rules, two.requests, two.todos)
               for one, two in kept)  # fmt: skip
    assert set(facts.files) == set(EXAMPLE.files)
