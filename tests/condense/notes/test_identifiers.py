"""Which identifiers of tool calls a ledger names, and where."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from condense.notes import user_words
from condense.notes.identifiers import ENOUGH, FADED, HALF_LIFE, Identifiers
from condense.notes.ledger import FileUse
from condense.notes.notebook import Notebook, gather, ledger
from condense.notes.user_words import names_in
from tests.condense.sessions import Session, summary


def identified(session: Session) -> Identifiers:
    """Return what a notebook weighs after reading a session."""
    notebook = Notebook()
    notebook.read(session.messages)
    return notebook.work.identifiers


def test_identifiers_stand_with_the_file_they_were_named_with() -> None:
    """Those of other calls stand by themselves."""
    session = Session().calls("Edit", file_path="/a.py", old_string="x", new_string="parse_input()")
    session.calls("Grep", pattern="HTTPServer", path="src").calls(
        "Edit", file_path="/a.py", old_string="oldName", new_string="y"
    )
    facts = gather(session.messages)
    assert facts.files == (FileUse("/a.py", 2, 0, ("oldName", "parse_input")),)
    assert facts.identifiers == ("HTTPServer",)
    assert "2/0 ./a.py" not in ledger(session.messages)[0].text
    assert "/a.py\toldName parse_input" in ledger(session.messages)[0].text


def test_words_parts_of_paths_and_what_the_ledger_says_anyway_are_none() -> None:
    """Nor are a tool's own words, and what is left of an escape."""
    session = Session().says("Please look at shown_here.")
    session.calls(
        "Grep",
        pattern="shown_here plain Words some_dir/x \\nrealName",
        output_mode="files_with_matches",
    )
    assert gather(session.messages).identifiers == ("realName",)


def test_what_is_named_often_and_lately_stays() -> None:
    """Eighty in all."""
    session = Session().calls("Grep", pattern="often_named").calls("Grep", pattern="often_named")
    session.calls("Grep", pattern="once_named")
    for number in range(100):
        session.calls("Grep", pattern=f"name_{number}")
    session.calls("Grep", pattern="often_named")
    names = gather(session.messages).identifiers
    assert len(names) == 80
    assert names[:2] == ("often_named", "name_99")
    assert "once_named" not in names


def test_names_of_replies_and_results_count_too() -> None:
    """Printed ones of the newest results alone."""
    session = Session().replies("There parse_input stands behind HTTPServer.")
    assert gather(session.messages).identifiers == ("parse_input", "HTTPServer")
    shown = "def read_all(): ...\nread_all()\nonce_only = 1"
    session = Session().calls("Read", shown, file_path="/a.py").calls("Grep", pattern="called_one")
    facts = gather(session.messages)
    assert facts.files == (FileUse("/a.py", 0, 1, ("read_all",)),)
    assert facts.identifiers == ("called_one",)
    weightiest = [name for name, _ in identified(session).weightiest()]
    assert weightiest == ["called_one", "read_all"]
    session = Session().calls("Read", "old_name old_name", file_path="/a.py")
    for number in range(HALF_LIFE):
        names = {name for name, _ in identified(session).weightiest()}
        assert "old_name" in names, number
        session.calls("Read", "x", file_path="/b.py")
    assert "old_name" not in {name for name, _ in identified(session).weightiest()}


def test_a_name_stays_with_the_file_of_the_call_that_wrote_it() -> None:
    """Wherever it is printed later."""
    session = Session().calls("Edit", file_path="/a.py", old_string="", new_string="parse_input")
    session.calls("Read", "parse_input parse_input other_name other_name", file_path="/b.py")
    files = {file.path: file.names for file in gather(session.messages).files}
    assert files == {"/a.py": ("parse_input",), "/b.py": ("other_name",)}


def test_carried_identifiers_stay_until_others_outweigh_them() -> None:
    """A condensation alone changes nothing."""
    session = Session()
    for number in range(90):
        session.calls(
            "Edit", file_path=f"/p{number % 3}.py", old_string="", new_string=f"name_{number}"
        )
    first = gather(session.messages)
    again = gather([summary(*ledger(session.messages))])
    assert {f.path: set(f.names) for f in again.files} == {
        f.path: set(f.names) for f in first.files
    }
    later = Session().calls("Edit", file_path="/p1.py", old_string="", new_string="newName")
    names = [
        name
        for f in gather([summary(*ledger(session.messages)), *later.messages]).files
        for name in f.names
    ]
    assert "newName" in names
    assert len(names) == 80


def test_where_few_things_were_named_they_stay_however_old_they_are() -> None:
    """Only where there are more than enough, those of long ago are not looked at."""
    session = Session().calls("Grep", pattern="oldest_name")
    for _ in range(2 * FADED):
        session.calls("Look")
    assert gather(session.messages).identifiers == ("oldest_name",)
    for number in range(ENOUGH + 1):
        session.calls("Grep", pattern=f"name_{number}")
    assert "oldest_name" not in {name for name, _ in identified(session).weightiest()}


TEXTS = st.text(alphabet="aBc1\u00e9\u4e2d_./-#:`,( \n\thtps0f\u2028\x1c\u0301\u01c5", max_size=40)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_leaving_plain_words_out_loses_no_name(text: str) -> None:
    """The same names in the same order as in the whole text."""
    found = Counter(match.group().rstrip(".,:;!?()") for match in user_words._NAMES.finditer(text))
    names = [name for name, _ in found.most_common() if len(name) >= user_words.SHORTEST]
    assert names_in(text) == tuple(user_words.one_line(name, user_words.NAME) for name in names)


def test_names_stand_among_plain_words_and_in_quotes() -> None:
    """A quoted one may hold spaces."""
    text = "Please look at `git status` and Src/main.py, where parseInput fails for ABC-12 today."
    assert set(names_in(text)) == {"git status", "Src/main.py", "parseInput", "ABC-12"}
