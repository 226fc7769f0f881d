"""A connection to a file; an empty one is refused as damaged."""

import secrets
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, override

from django.db import OperationalError
from django.db.backends.sqlite3 import base

from chatapp.project.environment import database_problem, name_new_file


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, which makes a new file as a whole, and nothing of an empty one."""

    @override
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect; raise OperationalError if the file is empty."""
        path = Path(str(conn_params["database"]))
        if problem := database_problem(path):
            raise OperationalError(problem)
        if path.is_absolute() and path.parent.is_dir() and not path.exists():
            _make(path)
        return super().get_new_connection(conn_params)


def _make(path: Path) -> None:
    """Make a file without tables under its name, unless another process is first."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        # SQLite would make it readable by others, and gives the files next to it the same mode.
        draft.touch(mode=0o600)
        with closing(sqlite3.connect(draft)) as new:
            # Only this writes the beginning of the file.
            new.execute("PRAGMA journal_mode=WAL")
        name_new_file(draft, path)
    except sqlite3.Error as error:
        raise OperationalError(*error.args) from error
    finally:
        draft.unlink(missing_ok=True)
