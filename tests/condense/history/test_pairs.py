"""Which result answers which call, where a server gives the same ids again."""

from condense import Message, TextBlock, ToolResultBlock, ToolUseBlock, pair_calls
from condense.folded_files.files_read import files_read
from condense.notes.notebook import gather


def calls(*ids: str, path: str = "a.py") -> Message:
    """Return a reply that calls a tool once for each id."""
    return Message(
        "assistant", tuple(ToolUseBlock(id_, "read_file", {"path": path}) for id_ in ids)
    )


def results(*given: tuple[str, str], failed: bool = False) -> Message:
    """Return results, each with the id of its call and its text."""
    return Message("user", tuple(ToolResultBlock(id_, text, failed) for id_, text in given))


def read_out(messages: list[Message]) -> list[tuple[int, str | None]]:
    """Return the place of each answered call and what was answered."""
    answered = pair_calls(messages).answered
    return [(pair.called_at, str(pair.result.content)) for pair in answered]


def test_an_id_that_comes_again_is_answered_where_it_was_asked() -> None:
    """Some servers count from zero in every reply."""
    turns = [calls("call_0"), results(("call_0", "one")), calls("call_0"), results(("call_0", "2"))]
    assert read_out(turns) == [(0, "one"), (2, "2")]
    assert pair_calls(turns).unanswered == ()


def test_a_call_that_was_interrupted_does_not_take_the_answer_of_a_later_one() -> None:
    """Even where both have the same id."""
    turns = [calls("x"), Message("user", "Go on."), calls("x"), results(("x", "two"))]
    assert read_out(turns) == [(2, "two")]
    assert [at for at, _ in pair_calls(turns).unanswered] == [0]


def test_calls_of_one_reply_with_the_same_id_are_answered_in_their_order() -> None:
    """Some servers give no ids at all."""
    one, two = (ToolUseBlock("", "read_file", {"path": path}) for path in ("a", "b"))
    reply = Message("assistant", (one, TextBlock("and"), two))
    pairing = pair_calls([reply, results(("", "of a"), ("", "of b"))])
    assert [(pair.call, pair.result.content) for pair in pairing.answered] == [
        (one, "of a"),
        (two, "of b"),
    ]


def test_a_result_answers_no_call_that_comes_after_it() -> None:
    """Nor one in a message of the user, nor does a reply hold results."""
    assert pair_calls([results(("x", "?")), calls("x")]).answered == ()
    assert pair_calls([Message("user", calls("x").content), results(("x", "?"))]).answered == ()
    wrong = Message("assistant", results(("x", "?")).content)
    assert pair_calls([calls("x"), wrong]).answered == ()


def test_a_failed_read_does_not_speak_for_another_with_its_id() -> None:
    """Of two reads that are both call_0, one was of a file that is not there."""
    turns = [
        calls("call_0", path="there.py"),
        results(("call_0", "text")),
        calls("call_0", path="gone.py"),
        results(("call_0", "No such file"), failed=True),
    ]
    assert files_read(turns) == ("there.py",)
    assert [(file.path, file.reads) for file in gather(turns).files if file.reads] == [
        ("there.py", 1)
    ]
