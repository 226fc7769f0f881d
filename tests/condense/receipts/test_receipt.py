"""What a receipt finds of hidden facts in what the model reads instead."""

from hypothesis import given, settings

from condense.facts import ledger
from condense.messages import Message
from condense.receipts import KINDS, Receipt, receipt
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
    """Edited and read files, commands, errors, rules, and names with numbers."""
    found = receipt(session().messages, "")
    assert {
        kind: [f.probe.text for f in found.findings if f.probe.kind == kind] for kind in KINDS
    } == {
        "edited_files": ["/app/src/parser.py"],
        "read_files": ["/app/src/read_me.py"],
        "commands": ["make check"],
        "errors": ["error: broken pipe"],
        "constraints": ["Never touch the public API!"],
        "names": ["parser_core", "250"],
    }


def test_a_number_is_looked_for_with_the_word_it_is_a_part_of() -> None:
    """Half of a name is no fact, and no second one."""
    talk = Session().says("Deploy QX-7781 to heliotrope-42, 3 times between 10-20 o'clock.")
    names = [one.probe.text for one in receipt(talk.messages, "").findings]
    assert {"QX-7781", "heliotrope-42", "10", "20"} <= set(names)
    assert not {"7781", "42"} & set(names)


def test_what_the_summary_says_word_for_word_is_kept() -> None:
    """A file by its name."""
    found = receipt(session().messages, "Changed parser.py; run make check; 250 ms.")
    kept = {probe.text for probe in found.of("kept")}
    assert kept == {"/app/src/parser.py", "make check", "250"}


def test_a_number_within_another_is_not_kept() -> None:
    """1250 is not 250."""
    assert states(receipt(session().messages, "1250"))["250"] == "missing"


def test_a_fact_can_be_found_again_where_the_model_reads_a_word_to_search_for() -> None:
    """One searches only for what one knows of."""
    found = states(receipt(session().messages, "The public interface stays."))
    assert found["Never touch the public API!"] == "recoverable"
    assert found["make check"] == "missing"
    off = states(receipt(session().messages, "The public interface stays.", searchable=False))
    assert off["Never touch the public API!"] == "missing"


def test_a_file_that_is_still_there_can_be_read_again() -> None:
    """Whoever knows the disk says so."""
    found = receipt(session().messages, "", on_disk=lambda path: path.endswith("parser.py"))
    assert states(found)["/app/src/parser.py"] == "recoverable"
    assert states(found)["/app/src/read_me.py"] == "missing"


def test_files_of_the_same_name_are_told_apart_by_their_folders() -> None:
    """One of them in a summary says nothing of the other."""
    made = Session().edits("/app/web/index.js").edits("/app/api/index.js")
    found = states(receipt(made.messages, "Edited web/index.js."))
    assert found["/app/web/index.js"] == "kept"
    assert found["/app/api/index.js"] != "kept"


def test_the_ledger_keeps_all_of_a_short_session() -> None:
    """An error too, as long as it stands."""
    hidden = session().messages
    assert receipt(hidden, [summary(*ledger(hidden))]).total.score == 1


def test_facts_that_an_earlier_ledger_carries_are_looked_for_again() -> None:
    """A later condensation may not lose them unseen."""
    carried = summary(*ledger(session().messages))
    found = states(receipt([carried], "nothing"))
    assert found["/app/src/parser.py"] == "missing"
    assert "Never touch the public API!" in found


def test_a_probe_knows_the_message_it_comes_from() -> None:
    """So a page can link to it."""
    hidden = session().messages
    rule = next(p for p in receipt(hidden, "").of("missing") if p.kind == "constraints")
    assert rule.source == hidden[0].id


def test_a_receipt_outlives_being_stored() -> None:
    """As plain data."""
    found = receipt(session().messages, "parser.py")
    assert Receipt.from_json(found.to_json()) == found


def test_a_fact_that_was_put_back_is_kept() -> None:
    """And nothing else changes."""
    found = receipt(session().messages, "parser.py")
    index = next(place for place, one in enumerate(found.findings) if one.state == "missing")
    after = found.with_kept(index)
    assert after.findings[index].state == "kept"
    assert after.findings[index].probe == found.findings[index].probe
    assert after.total.kept == found.total.kept + 1
    assert after.total.total == found.total.total


def test_nothing_hidden_leaves_nothing_missing() -> None:
    """The score of nothing is full."""
    found = receipt([], "x")
    assert (found.total.total, found.total.score) == (0, 1)


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
    assert all(probe.needle in text for probe in found.of("kept"))
