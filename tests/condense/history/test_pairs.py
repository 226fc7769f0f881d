"""Which result answers which call, where a server gives the same ids again."""

import pytest

from condense import Message, Tags, TextBlock, ToolResultBlock, ToolUseBlock, pair_calls
from condense.history.boundaries import safe_cuts, unread_tail
from condense.history.effective_history import effective_history


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
    """Not by a later or an earlier answer."""
    turns = [calls("call_0"), results(("call_0", "one")), calls("call_0"), results(("call_0", "2"))]
    assert read_out(turns) == [(0, "one"), (2, "2")]
    assert pair_calls(turns).unanswered == ()
    turns = [calls("x"), Message("user", "Go on."), calls("x"), results(("x", "two"))]
    assert read_out(turns) == [(2, "two")]
    assert [at for at, _ in pair_calls(turns).unanswered] == [0]
    assert pair_calls([results(("x", "?")), calls("x")]).answered == ()
    assert pair_calls([Message("user", calls("x").content), results(("x", "?"))]).answered == ()
    wrong = Message("assistant", results(("x", "?")).content)
    assert pair_calls([calls("x"), wrong]).answered == ()


def test_calls_of_one_reply_with_the_same_id_are_answered_in_their_order() -> None:
    """Some servers give no ids at all."""
    one, two = (ToolUseBlock("", "read_file", {"path": path}) for path in ("a", "b"))
    reply = Message("assistant", (one, TextBlock("and"), two))
    pairing = pair_calls([reply, results(("", "of a"), ("", "of b"))])
    assert [(pair.call, pair.result.content) for pair in pairing.answered] == [
        (one, "of a"),
        (two, "of b"),
    ]


@pytest.mark.parametrize("name", [["x"], {}, None, 5])
def test_a_result_that_names_no_call_is_left_out_behind_a_summary(name: object) -> None:
    """Whatever an imported file has in its place."""
    made = Message("user", "Summary", tags=Tags(condense_id="c"))
    odd = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name}]}
    assert effective_history([made, Message.from_api(odd)]) == (made,)


def history(script: str) -> list[Message]:
    """Return messages from words: u, a, a:x calls x, u:x answers x; a:xy calls both."""
    return [step(word) for word in script.split()]


def step(word: str) -> Message:
    """Return one message of a script."""
    who, _, ids = word.partition(":")
    if who == "u":
        results = tuple(ToolResultBlock(id_, "done") for id_ in ids)
        return Message("user", results or "hello")
    return Message("assistant", (TextBlock("well"), *(ToolUseBlock(i, "read", {}) for i in ids)))


@pytest.mark.parametrize(
    ("script", "cuts", "unread"),
    [
        ("", (0,), 0),
        ("u", (0, 1), 0),
        ("u a", (0, 1, 2), 2),
        ("u a u", (0, 1, 2, 3), 2),
        ("u a:x", (0, 1, 2), 1),
        ("u a:x u", (0, 1, 2, 3), 1),
        ("u a:x u:x", (0, 1, 3), 1),
        ("u a:x a u:x", (0, 1, 4), 1),
        ("u a:x u:x a", (0, 1, 3, 4), 4),
        ("u a:xy u:x u:y a", (0, 1, 4, 5), 5),
        ("u a:x u a", (0, 1, 2, 3, 4), 4),
        ("u a:x u:x a u:x", (0, 1, 3, 4, 5), 4),
        ("a:x a:y u:x u:y", (0, 4), 0),
    ],
)
def test_no_cut_parts_a_call_from_its_result_and_a_reply_that_waits_is_unread(
    script: str, cuts: tuple[int, ...], unread: int
) -> None:
    """Ids used again in a later turn, orphans and pending calls included."""
    assert (safe_cuts(history(script)), unread_tail(history(script))) == (cuts, unread)
