"""Sessions as if they had been read from files."""

from condense import CharacterCounter, Message
from tests.condense.dialogues import numbered
from tests.condense.sessions import Session
from tests.evaluation.recordings import Cut, Recording


def session() -> Session:
    """Return a session that was condensed once, in the middle of its work."""
    made = Session().says("Fix the parser.").reads("/app/other.py", "x" * 4_000)
    made.edits("/app/parser.py").runs("make test").runs("ls -la some/folder")
    made.is_cut("Worked on parser.py.")
    return made.replies("Going on.").edits("/app/parser.py").runs("make test").replies()


def recording(made: Session) -> Recording:
    """Return the session as if it had been read from a file."""
    cuts = tuple(Cut(cut["at"], cut["summary"]) for cut in made.cuts)
    counter = CharacterCounter()
    messages = tuple(
        Message(m.role, m.content, id=m.id, seq=m.seq, tokens=counter.count(m.content))
        for m in numbered(made.messages)
    )
    return Recording("s", messages, cuts)
