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
# What the provider says of people besides, and of whom it says what names nobody for certain.
ODD: dict[str, dict[str, object]] = {
    "gina": {"sub": None},
    "hugo": {"sub": ["hugo"]},
    "ivan": {"sub": "1"},
    "jane": {"sub": ""},
}
MORE: dict[str, dict[str, object]] = {
    "kira": {"email": "dana@example.org", "email_verified": "false"},
    "mona": {"preferred_username": 5, "name": ["Mona"], "family_name": "\ud800"},
    "lena": {"preferred_username": "\u043ewner"},
}
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
