"""Sessions with tools, written call by call, as messages or as transcript files."""

import json
from pathlib import Path
from typing import Any, Self

from hypothesis import strategies as st

from condense import Message, Tags, TextBlock, ToolResultBlock, ToolUseBlock
from condense.facts.ledger import Ledger, render
from condense.facts.notebook import gather


class Session:
    """A conversation that grows by what is done in it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.cuts: list[dict[str, Any]] = []

    def says(self, text: str) -> Self:
        """Write what the user says."""
        self.messages.append(Message("user", (TextBlock(text),), id=f"m{len(self.messages) + 1}"))
        return self

    def replies(self, text: str = "Done.") -> Self:
        """Write a reply without a call."""
        self.messages.append(Message("assistant", (TextBlock(text),)))
        return self

    def calls(self, tool: str, answer: str = "fine", *, error: bool = False, **args: Any) -> Self:
        """Write a call and its result."""
        id_ = f"t{len(self.messages)}"
        self.messages.append(Message("assistant", (ToolUseBlock(id_, tool, args),)))
        result = ToolResultBlock(id_, answer, is_error=error)
        self.messages.append(Message("user", (result,), id=f"m{len(self.messages) + 1}"))
        return self

    def runs(self, command: str, answer: str = "fine", *, error: bool = False) -> Self:
        """Run a command."""
        return self.calls("Bash", answer, error=error, command=command)

    def reads(self, path: str, answer: str = "the file") -> Self:
        """Read a file."""
        return self.calls("Read", answer, file_path=path)

    def edits(self, path: str, answer: str = "changed", *, error: bool = False) -> Self:
        """Change a file."""
        return self.calls(
            "Edit", answer, error=error, file_path=path, old_string="a", new_string="b"
        )

    def is_cut(self, summary: str = "A summary.") -> Self:
        """Record that the session was condensed here."""
        at = len(self.messages)
        self.cuts.append({"at": at, "trigger": "auto", "pre_tokens": 1, "summary": summary})
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the session as a transcript file has it."""
        messages = [{**message.to_api(), "ts": None} for message in self.messages]
        return {"session": "s", "messages": messages, "compactions": self.cuts}

    def write(self, path: Path) -> Path:
        """Write the transcript file."""
        path.write_text(json.dumps(self.to_json()))
        return path


def summary(*blocks: TextBlock, id_: str = "s1") -> Message:
    """Return a summary message with these blocks."""
    return Message("user", blocks, id=id_, tags=Tags(condense_id=id_))


def marker(*blocks: TextBlock, id_: str = "t1") -> Message:
    """Return a truncation's marker with these blocks after its words."""
    words = TextBlock("[Sliding window truncation: 2 messages hidden to reduce context]")
    return Message("user", (words, *blocks), id=id_, tags=Tags(truncation_id=id_))


def carried(*ledgers: Ledger) -> Ledger:
    """Return the facts that come of hiding markers with these ledgers, the oldest first."""
    made = [marker(TextBlock(render(one)), id_=f"t{at}") for at, one in enumerate(ledgers)]
    return gather(made, budget_tokens=100_000)


PATHS = st.sampled_from(
    ["/work/app/src/a.py", "/work/app/src/b.py", "/work/app/docs/a.md", "/etc/hosts", "c.py",
     "./d/e.py", "/work/app/1/2 x/f.py", "C:\\x\\y.py", "~/notes.md", "/work/app/src/deep/a.py"]
)  # fmt: skip
# Words that try to look like a ledger's own lines, and lines that no terminal would show.
PIECES = [*"ab1~ \n\t\r⇒/[]-.#", "~ end", "\n~\n", "## Ledger ~\n", "\x0b", "\u2028"]
WORDS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
COMMANDS = st.one_of(
    WORDS, st.sampled_from(["git status", "make test", "3! ls", "cd x && grep -n y z.py"])
)


@st.composite
def sessions(draw: st.DrawFn) -> list[Message]:
    """Return the messages of any short session."""
    session, steps = Session(), st.sampled_from(["say", "run", "edit", "read", "todo"])
    for step in draw(st.lists(steps, max_size=12)):
        error = draw(st.booleans())
        if step == "say":
            session.says(draw(WORDS))
        elif step == "run":
            session.runs(draw(COMMANDS), draw(WORDS), error=error)
        elif step == "edit":
            session.edits(draw(PATHS), draw(WORDS), error=error)
        elif step == "read":
            session.reads(draw(PATHS), draw(WORDS))
        else:
            items = draw(st.lists(WORDS, min_size=1, max_size=3))
            todos = [{"content": f"do {text}", "status": "pending"} for text in items]
            session.calls("TodoWrite", todos=todos)
    return session.messages
