""".ci/licences lists what a server runs with."""

import csv
import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_the_licences_and_the_sbom_are_of_what_a_server_runs_with(tmp_path: Path) -> None:
    """The same packages in both, each with its licence, and none of those that only test."""
    subprocess.run([ROOT / ".ci" / "licences", tmp_path], check=True)
    with (tmp_path / "licences.csv").open(encoding="utf-8", newline="") as file:
        listed = {row["Name"].lower(): row["License"] for row in csv.DictReader(file)}
    bill = json.loads((tmp_path / "sbom.json").read_text("utf-8"))
    assert bill["metadata"]["component"]["name"] == "palimpsest"
    assert {one["name"].lower() for one in bill["components"]} == listed.keys()
    locked = (ROOT / ".ci" / "requirements" / "scale.txt").read_text("utf-8")
    assert {"django", "psycopg", "tree-sitter"} <= listed.keys()
    pinned = set(re.findall(r"^([\w.-]+)==", locked, re.MULTILINE))
    assert {re.sub(r"[-_.]+", "-", name) for name in listed} <= pinned
    assert all(licence not in {"", "UNKNOWN"} for licence in listed.values())
