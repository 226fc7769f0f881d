"""Installations: a server's folder and its database, on which an operator runs commands."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from chatapp.models.databases import in_use, opened
from chatapp.project.environment import BadEnvironment, database_at
from chatapp.records.maintenance.backups import DATABASE, KEY, WORKSPACES
from tests.processes import ROOT


@dataclass(frozen=True)
class Installation:
    """A folder, and the address of its database where that is no file in it."""

    data: Path
    url: str = ""

    @property
    def file(self) -> Path:
        """Where the database lies where it is a file."""
        return self.data / DATABASE

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have this thread work with this folder and this database."""
        key = self.data / KEY
        secret = key.read_text().strip() if key.exists() else settings.SECRET_KEY
        folders = {"DATA_DIR": self.data, "WORKSPACES_ROOT": self.data / WORKSPACES}
        own = {**settings.SQLITE, "NAME": self.file}
        options = database_at("--to", self.url) if self.url else own
        with (
            override_settings(SECRET_KEY=secret, **folders),
            opened(options) as database,
            in_use(database),
        ):
            yield

    def run(self, *words: str) -> str:
        """Run a command in this process, and return all that it prints."""
        said = StringIO()
        with self.entered():
            call_command(*words, stdout=said, stderr=said)
        return said.getvalue()

    def refusal(self, *words: str) -> str:
        """Return the one line that says why a command does nothing."""
        with pytest.raises((CommandError, BadEnvironment)) as refused:
            self.run(*words)
        (line,) = str(refused.value).splitlines()
        return line

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """Start a command in a process of its own."""
        own = {"DATA_DIR": str(self.data)} | ({"DATABASE_URL": self.url} if self.url else {})
        return subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **own, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def manage(self, *words: str, **environment: str) -> str:
        """Run a command in a process of its own, and return what it prints."""
        with self.start(*words, **environment) as process:
            printed, complaints = process.communicate()
        assert (process.returncode, complaints) == (0, "")
        return printed
