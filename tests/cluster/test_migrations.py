"""`manage.py migrate` beside processes that work: they go on, and a second one waits."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping

import psycopg
import pytest

from tests.cluster.narrator import story
from tests.cluster.services import PATIENCE
from tests.cluster.stage import Stage, in_both, in_cluster
from tests.first_start import FirstStart
from tests.processes import ROOT

# A migration that makes indexes on messages, the one before it, and these indexes.
INDEXING, OLDER = "0070", "0069"
INDEXES = "message_visible, message_made, message_claim"


# How an index is made that waits for somebody, "" while none is; asked, it waits a little, too.
WAITS = """
    SELECT coalesce(min(query), '') FROM pg_sleep(0.1), pg_stat_activity
    WHERE query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'
"""


def migrate(environment: Mapping[str, str], *names: str) -> "subprocess.Popen[str]":
    """Start a migration, in a process of its own."""
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0", *names]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=ROOT, env=dict(environment), **output)  # type: ignore[call-overload] # as it is


def end(*processes: "subprocess.Popen[str]") -> None:
    """All of them end well."""
    for process in processes:
        said, _nothing = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said


@contextlib.contextmanager
def holding(stage: Stage, sql: str) -> Iterator[None]:
    """Leave a transaction open in which a statement was run."""
    with psycopg.connect(stage.cluster.postgres.url) as connection:
        connection.execute(sql)
        yield


@in_cluster
def test_turns_go_on_while_an_index_is_made_and_two_migrate(stage: Stage) -> None:
    """Although somebody holds rows of the table, for whom making an index has to wait."""
    given = stage.cluster.environment
    # The columns of later ones stay: the processes need them.
    end(migrate(given, "--fake", "chatapp", OLDER))
    with psycopg.connect(stage.cluster.postgres.url) as connection:
        connection.execute(f"DROP INDEX {INDEXES}")
    told = story(60)
    with holding(stage, "UPDATE chatapp_message SET tokens = tokens"):
        both = [migrate(given, "chatapp", INDEXING) for _ in range(2)]
        while not (waits := stage.cluster.value(WAITS)):
            assert all(one.poll() is None for one in both)
        # Otherwise all writers would stand behind it.
        assert waits.startswith("CREATE INDEX CONCURRENTLY")
        page = stage.begin(told)
        page.until_words(told, told.length)
        page.until_idle()
        stage.check(page, told)
        assert [one.poll() for one in both] == [None, None]
    end(*both)
    end(migrate(given, "--fake"))
    assert [status for status, _owner in stage.turns(page.conversation)] == ["succeeded"]
    broken = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
    assert stage.cluster.value(broken) == 0


@in_both
def test_it_ends_beside_processes_that_migrated_when_they_began(stage: Stage) -> None:
    """They have let go of what one that migrates holds."""
    end(migrate(stage.cluster.environment))


@in_cluster
@pytest.mark.parametrize(("older", "table"), [(OLDER, "turn"), ("0067", "message")])
def test_a_change_of_a_table_that_is_in_use_is_tried_again(
    stage: Stage, older: str, table: str
) -> None:
    """It gives up after a moment, with all that would wait behind it, and says so.

    Also where the last statements of a migration wait, those for its foreign keys.
    """
    given = stage.cluster.environment
    end(migrate(given, "chatapp", older))
    with holding(stage, f"LOCK TABLE chatapp_{table} IN SHARE UPDATE EXCLUSIVE MODE"):
        process = migrate(given)
        assert process.stdout
        assert "in use" in process.stdout.readline()
        assert process.poll() is None
    end(process)


def test_two_that_migrate_a_file_wait_for_each_other(
    first_start: FirstStart, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each finds the database migrated, or migrates it."""
    data = first_start.copy(tmp_path_factory.mktemp("data"))
    given = {"PATH": "/usr/bin:/bin", "DATA_DIR": str(data), "LC_ALL": "C"}
    end(migrate(given, "chatapp", OLDER))
    end(*(migrate(given) for _ in range(3)))
