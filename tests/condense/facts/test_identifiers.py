"""Which identifiers of tool calls a ledger names, and where."""

from condense.facts import FileUse, gather, ledger
from tests.condense.sessions import Session, summary


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
