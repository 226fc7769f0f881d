"""An OpenID provider as a process: django-allauth's own, with three people and one client."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import ROOT

CLIENT, SECRET = "palimpsest", "a secret of both"
# Names, with their groups; the password is the name.
PEOPLE: dict[str, list[str]] = {"dana": ["writers"], "erin": [], "finn": []}
# Whose addresses the provider has not looked at.
UNVERIFIED = {"finn"}


@contextmanager
def providing(folder: Path, origin: str) -> Iterator[str]:
    """Run a provider that knows the server at an origin; yield its address."""
    callback = f"{origin}/account/single-sign-on/oidc/login/callback/"
    command = [sys.executable, "-m", __name__, callback]
    path = {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=folder, env=path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()
