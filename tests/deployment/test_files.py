"""The units, the variables and the compose file of the documents."""

import os
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from tests.deployment.debian import need
from tests.deployment.documents import DEPLOY, variables
from tests.processes import ROOT

UNITS = {"palimpsest-serve@.service": "8001", "palimpsest-work@.service": "1"}
COMMAND = re.compile(r'manage\.py(?:", "| )([a-z]\w*)')
# What other programs are given.
FOREIGN = {"POSTGRES_USER", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "PYTHONUNBUFFERED"}


@pytest.fixture
def compose() -> dict[str, Any]:
    """The services of the compose file."""
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return services


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_one_that_systemd_takes(unit: str, tmp_path: Path) -> None:
    """As it stands, but for the folder of the checkout."""
    verify = need("systemd-analyze", "systemd")
    text = (DEPLOY / unit).read_text("utf-8")
    assert text.count("/opt/palimpsest") == 2
    (tmp_path / unit).write_text(text.replace("/opt/palimpsest", str(ROOT)))
    instance = unit.replace("@", f"@{UNITS[unit]}")
    done = subprocess.run(
        [verify, "verify", str(tmp_path / instance)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_variables_make_a_cluster_once_its_keys_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each is one that the settings read; the two keys are left to whoever sets it up."""
    given = variables((DEPLOY / "palimpsest.env").read_text())
    assert [name for name, value in given.items() if not value] == ["SECRET_KEY", "SEAL_KEY"]
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in {**given, "SECRET_KEY": "one", "DATA_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    loaded = runpy.run_path(str(ROOT / "chatapp" / "settings.py"))
    assert loaded["CLUSTER"] is True
    assert loaded["BEHIND_TLS"] is True


def test_every_variable_and_command_of_the_files_exists(compose: dict[str, Any]) -> None:
    """A name that nobody reads would be a setting that does nothing."""
    source = (ROOT / "chatapp" / "settings.py").read_text("utf-8")
    known = set(re.findall(r'read_\w+\(\s*"([A-Z_]+)"', source)) | FOREIGN
    named = {*variables((DEPLOY / "palimpsest.env").read_text())}
    for service in compose.values():
        named |= {*service.get("environment", {})}
    texts = [path.read_text("utf-8") for path in DEPLOY.iterdir()]
    for text in texts:
        named |= {*re.findall(r"^(?:ENV|Environment=) ?([A-Z_]+)=", text, re.MULTILINE)}
        named |= {*re.findall(r"\$\{([A-Z_]+)", text)}
    assert named <= known
    commands = {command for text in texts for command in COMMAND.findall(text)}
    assert {"migrate", "serve", "work"} <= commands
    assert commands <= get_commands().keys()


def test_the_processes_of_the_compose_file_share_a_volume(compose: dict[str, Any]) -> None:
    """They wait for the tables, and the two of each kind differ in nothing."""
    own = {name: compose[name] for name in ("migrate", "web", "worker")}
    assert {str(one["volumes"]) for one in own.values()} == {"['data:/var/lib/palimpsest']"}
    assert len({str(one["environment"]) for one in own.values()}) == 1
    for name in ("web", "worker"):
        waits = own[name]["depends_on"]
        assert waits["migrate"] == {"condition": "service_completed_successfully"}
        assert waits["redis"] == {"condition": "service_healthy"}
    folder = "DATA_DIR=/var/lib/palimpsest"
    assert folder in (DEPLOY / "Dockerfile").read_text()
    assert "noeviction" in compose["redis"]["command"]


def test_the_image_gets_every_folder_that_a_process_reads() -> None:
    """And the versions that the tests run with."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    copied = {*re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)}
    assert copied == {"chatapp", "condense", "docs", "static", "templates"}
    assert "COPY .ci/requirements/scale.txt requirements.txt" in text
