"""Which facts of hidden messages a ledger holds, and how they outlive condensations."""

import pytest

from condense.facts.ledger import Demand, FileUse, Ledger, Run, Todo, render
from condense.facts.notebook import gather, ledger
from condense.facts.texts import GAP, plain_text
from condense.messages import Message, TextBlock
from tests.condense.sessions import Session, carried, marker, summary


def told(session: Session) -> Ledger:
    """Return the session's ledger, with room for all that is worth it."""
    room = Session().calls("wait", "so " * 20_000).messages
    return gather([*room, *session.messages])


def test_what_the_user_said_is_there_once_newest_first() -> None:
    """Word for word, without what was attached."""
    facts = told(Session().says("  first\n\n\tthing ").replies().says("second"))
    assert facts.requests == (Demand("second"), Demand("first\n\n\tthing"))
    facts = told(Session().says("go on").says("other").says("go on").says(" \n "))
    assert [request.text for request in facts.requests] == ["go on", "other"]
    file = TextBlock("<file>a</file>", {"beside": {"kind": "file"}})
    assert gather([Message("user", (TextBlock("Read it."), file))]).requests[0].text == "Read it."


@pytest.mark.parametrize(
    ("answer", "to"),
    [
        ("yes", "Which of them shall I take?"),
        ("why?", ""),
        ("Take the first one, but keep the old name as an alias.", ""),
    ],
)
def test_a_short_answer_keeps_its_question(answer: str, to: str) -> None:
    """What asks itself, or says enough, needs none; a call without a word asks nothing else."""
    asked = Session().says("Go").replies("I see.\nWhich of them shall I take?\n")
    assert told(asked.says(answer)).requests[0] == Demand(answer, to)
    assert told(asked.runs("ls").says(f"{answer} …")).requests[0] == Demand(f"{answer} …", to)


@pytest.mark.parametrize(
    ("tool", "arguments", "use"),
    [
        ("Read", {"file_path": "/p/a.py"}, FileUse("/p/a.py")),
        ("read_file", {"path": "a.py"}, FileUse("a.py")),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, FileUse("a", True)),
        ("apply_diff", {"path": "./a.py", "diff": "x"}, FileUse("a.py", True)),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": ""}, FileUse("a.ipynb", True)),
        ("editor", {"command": "view", "path": "/a.py"}, FileUse("/a.py")),
        ("editor", {"command": "create", "path": "/a.py"}, FileUse("/a.py", True)),
        ("read_many", {"files": [{"path": "/p//a.py"}]}, FileUse("/p/a.py")),
        ("read_many", {"paths": ["/p/a.py"]}, FileUse("/p/a.py")),
        ("Grep", {"pattern": "x", "path": "src/a.py"}, FileUse("src/a.py")),
        ("shell", {"x": "*** Begin Patch\n*** Update File: a.py\n"}, FileUse("a.py")),
        ("delete_file", {"path": "a.py"}, FileUse("a.py", True)),
        ("Grep", {"pattern": "x", "path": "src"}, None),
        ("list_files", {"path": "src", "recursive": True}, None),
        ("WebFetch", {"url": "https://example.org/a.py", "prompt": "read"}, None),
        ("Bash", {"command": "cat a.py"}, None),
        ("Read", {"file_path": "https://x.example/a.py"}, None),
    ],
)
def test_files_are_told_by_the_shape_of_a_call(
    tool: str, arguments: dict[str, object], use: FileUse | None
) -> None:
    """Whatever the tool is called; folders, addresses and what a command names are none."""
    files = told(Session().calls(tool, **arguments)).files  # type: ignore[arg-type]
    assert files == ((use,) if use else ())


def test_a_failed_try_changes_nothing_of_a_file() -> None:
    """What could not be read is not there; what was edited once stays edited."""
    session = Session().reads("/a.py").edits("/a.py", error=True).reads("/b.py")
    session.calls("Read", "no such file", error=True, file_path="/c.py").edits("/b.py")
    assert told(session).files == (FileUse("/b.py", True), FileUse("/a.py"))
    assert told(session.reads("/b.py")).files[0] == FileUse("/b.py", True)


def test_commands_are_told_by_their_first_line_with_how_often_they_ran() -> None:
    """Comments are none, and a long line is cut where it could be run again, or left out."""
    session = Session().runs("make test").runs("ls").runs("# why\n\nmake   test").runs("# only")
    assert told(session).runs == (Run("make test", 2), Run("ls"))
    for line, run in (
        ("make " + "x" * 100 + "\nsecond line", "make " + "x" * 100),
        ("git add \\\n  a.py", "git add a.py"),
        ("make " + "x" * 60 + " | tail -3 && " + "y" * 190, "make " + "x" * 60),
        ("make a && echo 'b | c && " + "x" * 250 + "' && make d", "make a"),
        ('make a; echo "' + "x;" * 150, "make a"),
        ("make " + "x" * 250, ""),
    ):
        assert [one.head for one in told(Session().runs(line)).runs] == ([run] if run else [])
    for key in ("command", "cmd", "code", "query", "script", "sql"):
        facts = told(Session().calls("tool", **{key: "UPDATE t SET a = 1"}))
        assert facts.runs == (Run("UPDATE t SET a = 1"),)
    assert told(Session().calls("shell", command=["git", "push"])).runs == (Run("git push"),)
    assert told(Session().calls("mcp__issues__find", query="ENT-96 with all")).runs == ()
    assert told(Session().calls("db", query="select 1")).runs == (Run("select 1"),)


def test_the_newest_commands_stay_and_of_old_ones_those_that_come_again() -> None:
    """Short or repeated ones; what only looks something up is done with sooner."""
    session = (
        Session().runs("make test").runs("git status").runs("grep -rn something_special src/app")
    )
    for number in range(30):
        session.runs(f"grep -rn 'some_longer_name_{number}' src/app/module")
        session.runs(f"kubectl apply --filename deployments/stage-{number}.yaml")
    for _ in range(2):
        session.runs("sed -n '1,200p' src/app/some/long/folder/module.py")
    heads = [run.head for run in told(session).runs]
    assert sum(head.startswith("grep") for head in heads) == 9
    assert sum(head.startswith("kubectl") for head in heads) == 8
    assert heads[0].startswith("sed")
    assert heads[-2:] == ["git status", "make test"]


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("Exit code 1\n\nerror: there is no such thing", "error: there is no such thing"),
        (
            "Traceback (most recent call last):\n  File x\nValueError: bad value",
            "ValueError: bad value",
        ),
        ("FAIL\nError Trace: a.go:7\nexpected one row but got two", "expected one row but got two"),
        ("Wir finden das nicht\nIt cannot be found here", "It cannot be found here"),
        ("FAIL\n1/2", None),
        ("Exit code 127", None),
        ("Command failed with exit code: 2\nmake: *** [all] Error 2", "make: *** [all] Error 2"),
        ("The user doesn't want to proceed with this tool use. STOP and wait.", None),
        ("[Request interrupted by user for tool use]", None),
        ("error: " + "it is so " * 20, "error: " + "it is so " * 12 + "it is…"),
    ],
)
def test_an_open_error_says_something(answer: str, line: str | None) -> None:
    """In a line of at least three words, if any is."""
    failures = told(Session().runs("make", answer, error=True)).failures
    assert [one.message for one in failures] == ([line] if line else [])


def test_an_error_is_told_until_the_same_thing_works() -> None:
    """By a command of the same kind, or on the same file; or until it is long past."""
    session = Session().runs("npm run build", "error: no such thing", error=True)
    session.edits("/a.py", "String to replace not found", error=True)
    session.runs("grep -n x y", "grep: y: No such file or directory", error=True)
    session.calls("fetch", "error: it cannot be reached", error=True, url="https://x.example")
    assert [one.subject for one in told(session).failures] == [
        "fetch https://x.example", "/a.py", "npm run",
    ]  # fmt: skip
    session.edits("/a.py").runs("cd web && npm run build --verbose")
    assert [one.subject for one in told(session).failures] == ["fetch https://x.example"]
    for number in range(50):
        session.reads(f"/{number}.py")
    assert told(session).failures == ()


def test_the_todo_list_is_as_its_last_call_left_it() -> None:
    """Open items in full, finished ones as a number; as a list, in Markdown, item by item."""
    states = {"one": "completed", "two": "in_progress", "three": "pending"}
    items = [{"content": text, "status": status} for text, status in states.items()]
    open_ = (Todo("2", "two", active=True), Todo("3", "three"))
    facts = told(Session().calls("TodoWrite", todos=items))
    assert (facts.done, facts.todos) == (1, open_)
    facts = told(Session().calls("update_todo_list", todos="[x] one\n[-] two\n[ ] three"))
    assert (facts.done, facts.todos) == (1, open_)
    session = Session().calls("TaskCreate", "Task #7 created", subject="one", description="d")
    session.calls("TaskUpdate", taskId="7", status="in_progress")
    assert told(session).todos == (Todo("7", "one", active=True),)
    assert told(session.calls("TaskUpdate", taskId="7", status="completed")).done == 1
    facts = told(session.calls("TaskUpdate", taskId="7", status="pending"))
    assert (facts.todos, facts.done) == ((Todo("7", "one"),), 0)
    assert told(session.calls("TaskUpdate", taskId="7", subject="won")).todos[0].text == "won"
    assert told(Session().calls("TodoWrite", todos=items).calls("TodoWrite", todos=[])) == Ledger()
    failed = Session().calls("TodoWrite", "no", error=True, todos=items)
    assert told(failed).todos == ()


def test_the_last_reply_that_ended_a_turn_is_there_shortened() -> None:
    """Not what was said on the way to a call."""
    session = Session().says("Do it").replies("All of it is done, and the branch is pushed.")
    assert told(session).last_reply == "All of it is done, and the branch is pushed."
    session.messages.append(
        Message("assistant", (TextBlock("Next."), *session.calls("x").messages[-2].blocks))
    )
    assert told(session).last_reply == "All of it is done, and the branch is pushed."
    long = told(
        Session().replies("First words. " + "so it goes on " * 400 + "and the last words")
    ).last_reply
    assert long.startswith("First words.")
    assert GAP in long
    assert long.endswith("and the last words")
    assert len(long) < 500


def test_facts_are_carried_on_over_any_number_of_condensations() -> None:
    """Word for word and in the order of the talk; what was cut once is not cut again."""
    text = "Keep\nall\n- of this " + "x" * 16_000
    session = Session().calls("wait", "so " * 20_000).says(text)
    hidden: list[Message] = session.edits("/p/a.py").runs("make test").messages
    first = gather(hidden).requests
    for number in range(4):
        made = summary(TextBlock("Model's words."), *ledger(hidden), id_=f"s{number}")
        hidden = [made, *Session().reads("/p/a.py").runs("make test").messages]
    facts = gather(hidden)
    assert facts.requests == first
    assert facts.requests[0].text.startswith("Keep\nall\n- of this xxx")
    assert 3_000 < len(facts.requests[0].text) < 4_000
    assert facts.files == (FileUse("/p/a.py", edited=True),)
    assert facts.runs == (Run("make test", 5),)
    made = marker(*ledger(Session().says("second").runs("make b").messages))
    hidden = [*Session().says("first").runs("make a").messages, made, *Session().says("3").messages]
    facts = gather(hidden)
    assert [request.text for request in facts.requests] == ["3", "second", "first"]
    assert [run.head for run in facts.runs] == ["make b", "make a"]


def test_an_error_of_an_earlier_ledger_is_resolved_later() -> None:
    """And a to-do item is ticked off, and opened again by its number; an empty list ends none."""
    first = Session().runs("npm run build", "error: no such thing", error=True)
    first.calls("TaskCreate", "Task #1", subject="one", description="d")
    made = summary(TextBlock("S"), *ledger(first.messages))
    later = Session().runs("npm run build").calls("TaskUpdate", taskId="1", status="completed")
    facts = gather([made, *later.messages])
    assert (facts.failures, facts.todos, facts.done) == ((), (), 1)
    made = summary(TextBlock("S"), *ledger([made, *later.messages]))
    again = gather([made, *Session().calls("TaskUpdate", taskId="1", status="pending").messages])
    assert (again.todos, again.done) == ((Todo("1", "#1"),), 0)
    older, newer = Ledger(todos=(Todo("1", "mend it"),), done=2), Ledger(runs=(Run("ls"),))
    facts = carried(older, newer)
    assert (facts.todos, facts.done, facts.runs) == (older.todos, 2, newer.runs)


def test_names_that_recur_are_told_unless_they_stand_there_already() -> None:
    """Identifiers, hashes and tickets, not words, parts of paths or what an escape runs into."""
    session = Session().says("Look at read_rows.")
    session.runs("grep parseDate src/read_rows.py", "\\tshortID parseDate \\nparseDate")
    session.reads("/p/a_b.py", "cafe1234 and cafe1234, ENT-109 ordinary Words ALLCAPS 12345678")
    session.replies("I see `skip_space` in deadbeef01.")
    so = " so" * 10_000
    session.replies(f"So{so} far_name{so} lost_name").replies("So it is.")
    names = set(told(session).names)
    assert names == {"shortID", "cafe1234", "ENT-109", "skip_space", "deadbeef01", "far_name"}


def test_names_used_often_and_lately_come_first() -> None:
    """What a call says weighs more than what it printed; a longer session has more of them."""
    session = Session()
    for number in range(40):
        session.runs("x y", f"old_name_{number} old_name_{number}")
    session.calls("Grep", pattern="new_name", output_mode="files_with_matches")
    made = marker(TextBlock(render(Ledger(names=("far_name",)))))
    names = gather([made, *session.messages]).names
    assert names[:3] == ("new_name", "far_name", "old_name_39")
    assert names[-1] == "old_name_0"
    assert "files_with_matches" not in names
    said = " ".join(f"some_name_{number}" for number in range(500))
    talks = [Session().reads("/a", "x" * size).replies(said) for size in (40_000, 90_000, 400_000)]
    sizes = [len(" ".join(gather(talk.messages).names)) for talk in talks]
    assert 900 < sizes[0] == sizes[1] < 1_200 < 1.2 * sizes[1] < sizes[2] < 1_600


def test_all_that_messages_say_is_their_plain_text() -> None:
    """Texts, what tools were called with, and what they answered."""
    session = Session().says("Go").calls("x", "fine", a="b", n=[1, {"c": None}])
    assert plain_text(session.messages) == "Go\nx\nb\n1\nfine"
