"""An error stands in the ledger until what failed has gone well."""

import pytest

from condense.notes.notebook import gather
from tests.condense.sessions import Session


def failing(session: Session) -> list[str]:
    """Return what has failed and is not mended."""
    return [failure.subject for failure in gather(session.messages).failures]


def broken(command: str) -> Session:
    """Return a session in which a command has failed."""
    return Session().runs(command, "error: it broke", error=True)


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ("go test ./a", "go test ./b"),
        ("go test ./a", "go test -run TestOne ./a"),
        ("pytest", "pytest tests/unit"),
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("git push origin main", "git push origin docs"),
        ("make lint && make test", "make test"),
        ("npm run build", "npm run lint"),
    ],
)
def test_another_targets_success_settles_nothing(failed: str, later: str) -> None:
    """Nor that of a part of what failed."""
    assert failing(broken(failed).runs(later)) == [failed]


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ("go test ./a", "go test ./a -v"),
        ("go test ./a", "go test ./..."),
        ("go test ./a", "go test ./a ./b"),
        ("pytest tests/unit/a.py", "pytest tests/unit"),
        ("pytest tests/unit", "pytest"),
        ("npm run build", "cd web && npm run build --verbose"),
        ('git commit -m "one"', 'git commit -m "another"'),
    ],
)
def test_the_same_or_more_that_goes_well_settles_it(failed: str, later: str) -> None:
    """Flags and messages make no difference."""
    assert failing(broken(failed).runs(later)) == []


@pytest.mark.parametrize(
    "later", ["make test | tail -5", "make test; echo done", "make test || true"]
)
@pytest.mark.parametrize("output", ["2 failed, 3 passed", "FAIL: two", "", "collecting"])
def test_a_line_that_ends_well_whatever_happens_settles_nothing(later: str, output: str) -> None:
    """Only what it prints tells how it went."""
    assert "make test" in failing(broken("make test").runs(later, output))


def test_a_pipeline_that_prints_a_failure_has_failed() -> None:
    """Where the shell stops, the end of a line tells of all of it."""
    session = Session().runs("make test | tail -5", "--- FAIL: TestOne\nFAIL")
    (run,) = gather(session.messages).runs
    assert run.mark == "!"
    assert failing(session) == ["make test | tail -5"]
    assert failing(session.runs("make test | tail -5", "ok  app  0.3s")) == []
    session = Session().runs("make test", "Error", error=True)
    assert failing(session.runs("make test | tail -1", "31 files")) == ["make test"]
    assert failing(session.runs("set -o pipefail; make test | tail -1", "31 files")) == []


def test_a_success_settles_only_what_it_is_about() -> None:
    """Looking something up settles nothing and fails nothing."""
    session = Session().runs("grep -rn error: log.txt | head", "log.txt:1: error: it broke")
    assert failing(session) == []
    session = Session().calls("fetch", "error: 404", error=True, url="https://a.example")
    assert failing(session.calls("fetch", url="https://b.example")) == ["fetch https://a.example"]
    assert failing(session.calls("fetch", url="https://a.example")) == []
    session = Session().runs("./run.sh", "Error: no port", error=True).runs("make test", "ok")
    assert failing(session) == ["./run.sh"]
    assert failing(session.runs("./run.sh", "ok")) == []


def test_an_error_that_nobody_came_back_to_for_fifty_calls_is_settled() -> None:
    """In another way, that no rule can tell."""
    session = Session().runs("make docs", "Error: no sphinx", error=True)
    for number in range(49):
        session.reads(f"/p/{number}.py")
    assert failing(session) == ["make docs"]
    assert failing(session.reads("/p/last.py")) == []
