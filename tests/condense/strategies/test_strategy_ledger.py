"""The ledger alone as the summary, without a model."""

from collections.abc import Sequence
from typing import Any

from condense import CharacterCounter, Message, Reduction, TextBlock, load_prompt, parse_ledger
from condense.strategies.ledger import LedgerAlone
from condense.testing import ScriptedSummarizer
from tests.condense.dialogues import numbered, reduce_with, texts
from tests.condense.sessions import Session


def worked() -> Session:
    """Return a session long enough to be condensed."""
    session = Session().says("Fix the parser.").edits("/app/parser.py", "changed " * 100)
    return session.runs("make test", "passed " * 100).replies("It is fixed.")


async def reduce(messages: Sequence[Message], **rest: Any) -> Reduction:
    """Return what the strategy makes of a session, with a model that may not be called."""
    kit = {"counter": CharacterCounter()}
    return await reduce_with(LedgerAlone(), messages, ScriptedSummarizer(), kit=kit, **rest)


async def test_the_facts_stand_in_place_of_what_was_read() -> None:
    """As a summary that is a condensation like any other."""
    made = await reduce(worked().messages)
    facts = parse_ledger(texts(made.message)[1])
    assert [request.text for request in facts.requests] == ["Fix the parser."]
    assert (made.kind, made.strategy) == ("condensed", "ledger")
    assert made.message.is_summary
    assert made.hidden == tuple(message.id for message in numbered(worked().messages))
    assert made.tokens_after.value < made.tokens_before.value


async def test_directives_and_requests_stand_beside_the_facts_once() -> None:
    """What nobody has read stays."""
    messages = worked().says("And now?").runs("make all", "result").messages
    made = await reduce(messages)
    assert {f"m{len(messages) - 1}", f"m{len(messages)}"}.isdisjoint(made.hidden)
    short = await reduce(worked().runs("make x").messages)
    assert sum("Fix the parser." in text for text in texts(short.message)) == 1
    long = Session().says("word " * 1_500).edits("/a.py", "x " * 9_000).runs("make x")
    made = await reduce(long.messages)
    assert any(text.startswith("## Newest Request, Verbatim\n") for text in texts(made.message))
    session = Session().says('<command name="x">do it so</command>').replies("word " * 500)
    made = await reduce(session.messages)
    assert any("## Active Workflows" in text for text in texts(made.message))


async def test_a_history_without_facts_says_so() -> None:
    """Under the same heading."""
    report = TextBlock("word " * 200, {"user_words": ""})
    messages = [Message("user", (report,)), *Session().calls("wait").messages] * 2
    made = await reduce(messages)
    nothing = "The hidden messages held no request, file or command."
    assert texts(made.message) == [
        f"## Conversation Summary\n{load_prompt('summary_preface')}\n\n{nothing}"
    ]
