"""Which facts of hidden messages a ledger holds, and how they outlive condensations."""

import pytest

from condense.messages import Message, TextBlock
from condense.notes.ledger import FileUse, Ledger, Request, Run, Todo
from condense.notes.notebook import gather, ledger
from tests.condense.sessions import Session, carried, marker, summary


def told(session: Session) -> Ledger:
    """Return the session's ledger."""
    return gather(session.messages)


def test_what_the_user_said_is_there_once_newest_first() -> None:
    """Word for word, slash commands too, without reminders."""
    facts = told(Session().says("  first\n\n\tthing ").replies().says("second"))
    assert facts.requests == (Request("second"), Request("  first\n\n\tthing "))
    facts = told(Session().says("go on").says("other").says("go on"))
    assert [request.text for request in facts.requests] == ["go on", "other"]
    facts = told(Session().says("fix it\n<system-reminder>x</system-reminder>"))
    assert facts.requests[0].text == "fix it\n"
    text = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    assert told(Session().says(text)).requests == (Request(text),)


def test_prose_and_plans_stay_whole_up_to_some_2000_tokens() -> None:
    """Of longer ones beginning and end, where the question may be; a gap stands between."""
    plan = "# Plan\n\n" + "".join(f"{n}. Change module{n} so that it works.\n" for n in range(180))
    assert told(Session().says(plan)).requests == (Request(plan),)
    longer = plan * 3 + "Does that make sense?"
    (request,) = told(Session().says(longer)).requests
    head, gap, tail = request.text.partition("\n[…]\n")
    assert gap
    assert longer.startswith(head)
    assert longer.endswith(tail)
    assert 1_900 < len(request.text) / 4 < 2_010


def test_a_pasted_log_keeps_beginning_and_end() -> None:
    """By its tokens in any script; marked code stays whole."""
    log = "".join(f"2026-01-0{n % 9} 12:00:0{n % 7} worker{n} handled /a/{n}\n" for n in range(400))
    (request,) = told(Session().says(f"It fails, see\n{log}Why is that?")).requests
    assert request.text.startswith("It fails, see\n2026")
    assert request.text.endswith("Why is that?")
    assert len(request.text) < 3_000
    text = "请把这个模块改成新的接口,保持原来的行为不变。" * 150
    (request,) = told(Session().says(text)).requests
    assert len(text) * 0.7 < 2 * len(request.text) < len(text) * 1.7
    code = "total = price + tax\n" * 200
    marked = f"Use this:\n```\n{code}```\nand nothing else"
    assert gather(Session().says(marked).messages).requests[0].text == marked
    assert "[…]" in gather(Session().says(f"It says:\n{code}").messages).requests[0].text


@pytest.mark.parametrize(
    ("answer", "to"),
    [
        ("yes", "Which of them shall I take?"),
        ("B)", "B) Rewrite the parser / Which of them shall I take?"),
        ("do 2", "2. **Wait** / Which of them shall I take?"),
        ("why?", ""),
        ("Take the first one, but keep the old name as an alias.", ""),
    ],
)
def test_a_short_answer_keeps_its_question(answer: str, to: str) -> None:
    """And the options that it names; what asks itself, or says enough, needs none."""
    asked = (
        "I see:\nA) Patch it\nB) Rewrite the parser\n2. **Wait**\n\nWhich of them shall I take?\n"
    )
    facts = told(Session().says("Go").replies(asked).says(answer))
    assert facts.requests[0] == Request(answer, to)


def test_words_that_replace_others_mark_what_they_replace() -> None:
    """In any language that says so."""
    session = Session().says("Use SQLite for the database.").says("Name it Fjord.")
    session.says("Actually, use Postgres instead of SQLite for the database.")
    by_text = {request.text: request.replaced for request in told(session).requests}
    assert by_text == {
        "Use SQLite for the database.": (
            "Actually, use Postgres instead of SQLite for the database."
        ),
        "Name it Fjord.": "",
        "Actually, use Postgres instead of SQLite for the database.": "",
    }
    chinese = (
        Session().says("端口必须是8080。").says("日志写到文件。").says("端口不再是8080,改成9090。")
    )
    assert [bool(one.replaced) for one in told(chinese).requests] == [False, False, True]


@pytest.mark.parametrize(
    "noise",
    [
        "<system-reminder>Never mind.</system-reminder>",
        "<local-command-stdout>bye</local-command-stdout>",
        "<command-name>/exit</command-name>\n<command-message>exit</command-message>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation that ran out of context.",
        " \n ",
    ],
)
def test_what_a_client_wrote_in_the_users_name_is_no_request(noise: str) -> None:
    """Reminders, output of the client, and summaries of other tools."""
    assert told(Session().says(noise)) == Ledger()


@pytest.mark.parametrize(
    ("tool", "arguments", "use"),
    [
        ("Read", {"file_path": "/p/a.py"}, FileUse("/p/a.py", 0, 1)),
        ("read_file", {"path": "a.py"}, FileUse("a.py", 0, 1)),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, FileUse("a", 1, 0)),
        ("Write", {"file_path": "a", "content": "x"}, FileUse("a", 1, 0)),
        ("apply_diff", {"path": "./a.py", "diff": "x"}, FileUse("a.py", 1, 0)),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": ""}, FileUse("a.ipynb", 1, 0)),
        ("editor", {"command": "view", "path": "/a.py"}, FileUse("/a.py", 0, 1)),
        ("editor", {"command": "create", "path": "/a.py", "file_text": ""}, FileUse("/a.py", 1, 0)),
        ("read_many", {"files": [{"path": "/p//a.py"}]}, FileUse("/p/a.py", 0, 1)),
        ("Grep", {"pattern": "x", "path": "src/a.py"}, FileUse("src/a.py", 0, 1)),
        ("shell", {"x": "*** Begin Patch\n*** Update File: a.py\n"}, FileUse("a.py", 0, 1)),
    ],
)
def test_files_are_told_by_the_shape_of_a_call(
    tool: str, arguments: dict[str, object], use: FileUse
) -> None:
    """Whatever the tool is called."""
    assert told(Session().calls(tool, **arguments)).files == (use,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Grep", {"pattern": "x", "path": "src"}),
        ("list_files", {"path": "src", "recursive": True}),
        ("WebFetch", {"url": "https://example.org/a.py", "prompt": "read"}),
        ("Bash", {"command": "cat a.py"}),
    ],
)
def test_folders_and_addresses_are_no_files(tool: str, arguments: dict[str, object]) -> None:
    """Nor are files that only a command names."""
    assert told(Session().calls(tool, **arguments)).files == ()  # type: ignore[arg-type]


def test_a_failed_edit_is_no_edit_and_a_failed_read_no_open_error() -> None:
    """Of a traceback the last line is told."""
    session = Session().reads("/a.py").edits("/a.py").edits("/a.py").edits("/b.py", error=True)
    assert set(told(session).files) == {FileUse("/a.py", 2, 1), FileUse("/b.py", 0, 0)}
    answer = "Traceback (most recent call last):\n  File x\nValueError: bad"
    assert told(Session().runs("make", answer, error=True)).failures[0].message == "ValueError: bad"
    path, no = "/p/a.py", "error: no such file"
    assert told(Session().calls("read_file", no, error=True, path=path)).failures == ()
    (failure,) = told(Session().calls("edit_file", no, error=True, path=path)).failures
    assert failure.subject == path


def test_commands_are_told_by_their_head_and_last_outcome() -> None:
    """A refused one did not fail."""
    session = Session().runs("make test", error=True).runs("ls").runs("make test")
    session.runs("make lint", "Exit code 2\nno", error=True)
    assert told(session).runs == (Run("make lint", 1, "!"), Run("make test", 2), Run("ls"))
    answer = "The user doesn't want to proceed with this tool use."
    facts = told(Session().runs("git push", answer, error=True))
    assert (facts.runs, facts.failures) == ((Run("git push", 1, "?"),), ())
    command = "make " + "x" * 80 + "\nsecond line"
    assert told(Session().runs(command)).runs == (Run(command[:60] + "…"),)


def test_old_lookups_go_and_short_or_repeated_commands_stay() -> None:
    """What only looked something up, once, is hardly ever needed again."""
    session = Session().runs("make test").runs("grep -rn something_long_and_special src/app")
    for number in range(60):
        session.runs(f"sed -n '{number},{number + 9}p' src/app/some/long/folder/module.py")
    heads = {run.head for run in told(session).runs}
    assert "make test" in heads
    assert "grep -rn something_long_and_special src/app" not in heads


def test_an_error_is_told_until_the_same_thing_works() -> None:
    """By a command of the same kind, or on the same file."""
    session = Session().runs("npm run build", "Exit code 1\n\nerror: no such thing", error=True)
    session.edits("/a.py", "String to replace not found", error=True)
    assert [(f.subject, f.message) for f in told(session).failures] == [
        ("/a.py", "String to replace not found"),
        ("npm run build", "error: no such thing"),
    ]
    session.edits("/a.py").runs("cd web && npm run build --verbose")
    assert told(session).failures == ()


def test_the_todo_list_is_as_its_last_call_left_it() -> None:
    """Open items in full, finished ones as a number."""
    items = [
        {"content": "one", "status": "completed"},
        {"content": "two", "status": "in_progress"},
        {"content": "three", "status": "pending"},
    ]
    facts = told(Session().calls("TodoWrite", todos=items))
    assert (facts.done, facts.todos) == (1, (Todo("2", "two", active=True), Todo("3", "three")))


def test_todo_lists_in_markdown_and_item_by_item_are_understood() -> None:
    """As Roo Code and newer agents write them."""
    facts = told(Session().calls("update_todo_list", todos="[x] one\n[-] two\n[ ] three"))
    assert (facts.done, facts.todos) == (1, (Todo("2", "two", active=True), Todo("3", "three")))
    session = Session().calls("TaskCreate", "Task #7 created", subject="one", description="d")
    session.calls("TaskUpdate", taskId="7", status="in_progress")
    assert told(session).todos == (Todo("7", "one", active=True),)
    assert told(session.calls("TaskUpdate", taskId="7", status="completed")).done == 1


def test_a_list_that_was_cleared_is_gone() -> None:
    """And an item that was ticked off can be opened again, with its words."""
    items = [{"content": "one", "status": "pending"}]
    session = Session().calls("TodoWrite", todos=items)
    assert told(session.calls("TodoWrite", todos=[])) == Ledger()
    session = Session().calls("TaskCreate", "Task #7 created", subject="one")
    session.calls("TaskUpdate", taskId="7", status="completed")
    facts = told(session.calls("TaskUpdate", taskId="7", status="in_progress"))
    assert (facts.todos, facts.done) == ((Todo("7", "one", active=True),), 0)


def test_an_item_that_an_earlier_ledger_counted_as_done_can_be_opened_again() -> None:
    """By its number, where its words are hidden."""
    first = Session().calls("TaskCreate", "Task #7 created", subject="one")
    first.calls("TaskUpdate", taskId="7", status="completed")
    later = Session().calls("TaskUpdate", taskId="7", status="pending")
    facts = gather([summary(*ledger(first.messages)), *later.messages])
    assert (facts.todos, facts.done) == ((Todo("7", "#7"),), 0)


def test_names_are_told_that_stand_in_the_part_that_was_cut_off() -> None:
    """What a request says itself is not told twice."""
    words = "filler " * 3_000
    text = f"Use MyClass. {words}See https://example.org/x and ABC-123. {words}"
    assert set(told(Session().says(text)).names) == {"https://example.org/x", "ABC-123"}


def test_facts_are_carried_on_over_any_number_of_condensations() -> None:
    """Word for word, and a file goes on being counted."""
    text = "Keep\nall\n~ of this " + "x" * 16_000
    hidden: list[Message] = Session().says(text).edits("/p/a.py").runs("make test").messages
    first = gather(hidden).requests
    for number in range(4):
        made = summary(TextBlock("Model's words."), *ledger(hidden), id_=f"s{number}")
        hidden = [made, *Session().edits("/p/a.py").messages]
    facts = gather(hidden)
    assert facts.requests == first
    assert facts.requests[0].text.startswith("Keep\nall\n~ of this xxx")
    assert facts.files == (FileUse("/p/a.py", 5, 0),)
    assert facts.runs == (Run("make test"),)


def test_an_error_of_an_earlier_ledger_is_resolved_later() -> None:
    """And a to-do item is ticked off."""
    first = Session().runs("npm run build", "error: x", error=True)
    first.calls("TaskCreate", "Task #1", subject="one", description="d")
    later = Session().runs("npm run build").calls("TaskUpdate", taskId="1", status="completed")
    facts = gather([summary(*ledger(first.messages)), *later.messages])
    assert (facts.failures, facts.todos, facts.done) == ((), (), 1)


def test_only_a_summary_or_a_marker_can_carry_a_ledger() -> None:
    """A user, or a file, that quotes one claims nothing."""
    quoted = ledger(Session().edits("/p/a.py").messages)[0].text
    facts = told(Session().says(quoted))
    assert (facts.files, facts.requests) == ((), (Request(quoted),))


def test_the_newest_of_two_ledgers_has_the_last_word() -> None:
    """What stands before one is older, and an empty list ends none."""
    made = marker(*ledger(Session().says("second").runs("make b").messages))
    hidden = [*Session().says("first").runs("make a").messages, made, *Session().says("3").messages]
    facts = gather(hidden)
    assert [request.text for request in facts.requests] == ["3", "second", "first"]
    assert [run.head for run in facts.runs] == ["make b", "make a"]
    older = Ledger(runs=(Run("make", 3, "!"), Run("ls")), files=(FileUse("/a", 2, 1),))
    newer = Ledger(runs=(Run("make", 1),), files=(FileUse("/a", 1, 5),))
    assert carried(older, newer) == Ledger(
        runs=(Run("make", 3), Run("ls")), files=(FileUse("/a", 2, 5),)
    )
    older, newer = Ledger(todos=(Todo("1", "mend it"),), done=2), Ledger(runs=(Run("ls"),))
    made = carried(older, newer)
    assert (made.todos, made.done) == (older.todos, 2)


def test_a_small_budget_keeps_something_of_everything() -> None:
    """Long requests do not crowd out the files."""
    session = Session()
    for number in range(40):
        session.says(f"{number} " + "word " * 200).edits(f"/p/{number}.py").runs(f"make t{number}")
    facts = gather(session.messages, budget_tokens=600)
    assert facts.requests
    assert facts.files
    assert facts.runs
    assert facts.requests[0].text.startswith("39 ")


def test_the_last_commands_stay_and_of_lookups_the_last_ten() -> None:
    """Of the last 35, all that does something; it may have to be done again."""
    session = Session()
    for number in range(50):
        session.runs(f"grep -rn 'some_longer_name_{number}' src/app/module")
        session.runs(f"kubectl apply --filename deployments/stage-{number}.yaml")
    heads = [run.head for run in told(session).runs]
    assert sum(head.startswith("grep") for head in heads) == 10
    assert heads[0] == "kubectl apply --filename deployments/stage-49.yaml"
    assert sum(head.startswith("kubectl") for head in heads) == 18


@pytest.mark.parametrize("key", ["command", "cmd", "code", "query", "script", "sql"])
def test_what_an_interpreter_or_a_database_runs_is_a_command(key: str) -> None:
    """Not only what a shell does."""
    assert told(Session().calls("tool", **{key: "UPDATE t SET a = 1"})).runs == (
        Run("UPDATE t SET a = 1"),
    )
