"""A long conversation that was imported opens as fast as a short one."""

from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.chatapp.transfer.lives import read
from tests.sessions import session


def test_an_import_takes_as_many_statements_as_it_has_batches_and_records(
    alice: User, tmp_path: Path
) -> None:
    """Not one for each message."""
    data = session(100, 2)
    with CaptureQueriesContext(connection) as found:
        read(data, alice, tmp_path, "claude_code")
    assert len(found) < 100
