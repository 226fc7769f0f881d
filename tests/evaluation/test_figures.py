"""Figures: what counts as needed, said or planted, and what of it a context keeps."""

from collections.abc import Mapping
from dataclasses import replace

from condense import Message, TextBlock, ToolResultBlock
from tests.condense.sessions import Session, summary
from tests.evaluation.figures import Share, figures, needs_at
from tests.evaluation.recordings import Fact
from tests.evaluation.samples import recording, session


def kept(
    made: Session, text: str, *verbatim: Message, facts: tuple[Fact, ...] = ()
) -> Mapping[str, Share]:
    """Return what a summary, and messages after it, keep at the session's first cut."""
    one = replace(recording(made), facts=facts)
    context = [summary(TextBlock(text)), *verbatim]
    return figures(needs_at(one, one.cuts[0]), context)


def test_needed_is_what_was_used_before_and_after() -> None:
    """By the name of a file, and by the head of a command."""
    found = kept(session(), "parser.py")
    assert found["needed files"] == Share(1, 1)
    assert found["needed commands"] == Share(0, 1)
    assert found["user messages"] == Share(0, 1)
    assert found["edited files"] == Share(1, 1)


def test_of_a_long_request_its_beginning_has_to_stand_there() -> None:
    """1,500 characters; of characters, as many count as stand there, however lines are broken."""
    text = "".join(f"word{n} " for n in range(400))
    made = Session().says(text).is_cut()
    assert kept(made, f"x {text[:1500]}")["user messages"] == Share(1, 1)
    assert kept(made, f"x {text[:1490]}")["user messages"] == Share(0, 1)
    line = "All of these words are kept to the letter, and none of the others."
    made = Session().says(f"{line}\n{'lost ' * 10}").is_cut()
    found = kept(made, line.replace(" ", "\n"))
    assert found["user characters"] == Share(len(line) - 1, len(line) - 1 + 49)


def test_words_of_users_in_results_are_told_by_their_marks() -> None:
    """As the reader of a recording sets them; a result that tells of users has none."""
    made = Session().runs("make", "The user said:\nno duplication please", error=True)
    made.runs("cat notes", "Every user said: yes").is_cut()
    (result,) = made.messages[1].blocks
    assert isinstance(result, ToolResultBlock)
    marked = replace(result, extra={"user_words": "no duplication please"})
    made.messages[1] = replace(made.messages[1], content=(marked,))
    assert kept(made, "no\nduplication please")["user words in results"] == Share(1, 1)
    assert kept(made, "no duplication")["user words in results"] == Share(0, 1)


def test_what_the_next_calls_name_of_the_history_is_looked_for() -> None:
    """Paths, commands and identifiers; what only the calls themselves bring up is not."""
    made = Session().reads("/app/core/parser.py", "def read_token(): ...").runs("make test")
    made.is_cut().replies("Going on.").runs("make test")
    made.calls(
        "Edit", file_path="/app/core/parser.py", old_string="read_token", new_string="newOne"
    )
    made.calls("Edit", file_path="/app/core/parser.py", old_string="read_token", new_string="x")
    found = kept(made, "See core: parser.py; make  test")
    assert found["next calls: paths"] == Share(1, 1)
    assert found["next calls: commands"] == Share(1, 1)
    assert found["next calls: identifiers"] == Share(0, 1)
    assert found["next calls: all three"] == Share(2, 3)


def test_an_action_is_whole_where_nothing_that_it_names_is_missing() -> None:
    """Or it was seen again since the cut; what a kept message says has not to be supplied."""
    made = Session().reads("/app/core/parser.py", "def read_token(): ...").is_cut().replies("So.")
    edit = {"file_path": "/app/core/parser.py", "old_string": "read_token", "new_string": "x"}
    made.calls("Edit", **edit).reads("/app/core/parser.py", "def read_token(): ...")
    made.calls("Edit", **edit)
    found = kept(made, "core/parser.py")
    assert found["next calls: whole"] == Share(2, 3)
    made = Session().reads("/app/core/parser.py", "def read_token(): skip_space()").is_cut()
    made.replies("So.").runs("grep read_token skip_space")
    found = kept(made, "read_token", Message("assistant", "It calls skip_space."))
    assert found["unseen items supplied"] == Share(1, 1)
    assert found["next calls: identifiers"] == Share(2, 2)
    assert kept(made, "nothing")["unseen items supplied"] == Share(0, 2)


def test_planted_facts_count_before_the_cut() -> None:
    """As whole words, but where a script has no spaces."""
    made = Session().says("Order 4711, 周五交付").is_cut().replies("Number 17.")
    facts = (Fact(0, "4711"), Fact(0, "周五"), Fact(1, "17"))
    found = kept(made, "Order 4711 在周五交付。", facts=facts)
    assert found["facts that users gave"] == Share(2, 2)
    assert found["facts that replies gave"] == Share()
    assert kept(made, "Order 47110.", facts=facts)["facts that users gave"] == Share(0, 2)


def test_words_that_an_argument_only_chooses_among_are_none_that_a_context_must_show() -> None:
    """A tool's specification lists them; what is named in an argument by itself is no choice."""
    made = Session()
    for number in range(6):
        mode = ("files_with_matches", "only_content")[number % 2]
        made.calls("Grep", "old_name", pattern=f"find_{number}", output_mode=mode)
    made.is_cut().calls("Grep", pattern="old_name", output_mode="files_with_matches")
    found = kept(made, "nothing")
    assert found["next calls: identifiers"] == Share(0, 1)
    assert kept(made, "old_name")["next calls: whole"] == Share(1, 1)
