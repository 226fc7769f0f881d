"""What a summary is made of can be told from what it says, also where it was sent as one text."""

import pytest

import condense
from condense.reduction.carryover import WORKFLOWS
from tests.growth import assert_linear

PARTS = {
    "## Conversation Summary\nThe lexer is done.": "summary",
    "## Ledger ~\nCopied from hidden messages, newest first.\n~ end": "ledger",
    "<system-reminder>\n## File Context: a.py\n1--2 | def f()\n</system-reminder>": "files",
    "<system-reminder>\n## Active Workflows\nBe brief.\n</system-reminder>": "workflows",
    "## Newest Request, Verbatim\nFix the parser.": "request",
    "## First Message, Verbatim\nHello": "request",
    "## Pinned Message, Verbatim (user, 7)\nNever push.": "pins",
    "<environment_details>\n# Current time\nnoon\n</environment_details>": "environment",
}


@pytest.mark.parametrize(("text", "kind"), PARTS.items(), ids=PARTS.values())
def test_each_part_is_told_by_how_it_begins(text: str, kind: str) -> None:
    """Whoever wrote it, the engine or its hooks."""
    assert condense.part_kind(text) == kind


def test_a_summary_sent_as_one_text_falls_into_the_same_parts() -> None:
    """Joined by an empty line; what the engine writes today begins as it is read here."""
    assert condense.part_kind("Please write ## Ledger ~") is None
    assert [*condense.split_parts("Please write\n\n## Ledger ~")] == []
    joined = "\n\n".join(PARTS)
    assert {text: kind for kind, text in condense.split_parts(joined)} == PARTS
    assert condense.part_kind(WORKFLOWS) == "workflows"
    text = condense.load_prompt("summary_preface")
    assert condense.part_kind(text) == "summary"
    marker = f"[Sliding window truncation: 7 messages hidden to reduce context]\n\n{text}"
    assert [kind for kind, _ in condense.split_parts(marker)] == ["summary"]


def test_what_was_put_beside_words_is_told_from_them() -> None:
    """Before them or behind them; what they quote in a sentence is theirs."""
    beside = "<environment_details>\n# Current time\nnoon\n\nlate\n</environment_details>"
    for text in (f"{beside}\n\nFix it.", f"Fix it.\n\n{beside}"):
        found = dict(condense.split_beside(text))
        assert found == {None: "Fix it.", "environment": beside}
    recalled = "<recalled>\nFound.\n\n[message 1]\nnoon\n</recalled>"
    found = dict(condense.split_beside(f"{beside}\n\n{recalled}\n\nFix it."))
    assert found == {None: "Fix it.", "environment": beside, "recalled": recalled}
    unended = "Why?\n\n<recalled>\nnoon\n\n"
    assert [kind for kind, _ in condense.split_beside(unended)] == [None, None]
    assert_linear(condense.split_beside, lambda size: unended * (size // len(unended)), "beside")
    quoted = "What is <environment_details> for?"
    assert [*condense.split_beside(quoted)] == [(None, quoted)]
