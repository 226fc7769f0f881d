"""The recipes of CONTRIBUTING.md work as they are written: each is cooked in a copy of the code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python file=(\S+)\n(.*?)```", re.DOTALL)
DIFF = re.compile(r"```diff file=(\S+)\n(.*?)```", re.DOTALL)
NAMED = re.compile(r"`([\w/]+(?:\.py|\.html|/))`")

ASK = """
import asyncio, pathlib, django
django.setup()
import condense
from chatapp.forms.preferences import PreferencesForm
from chatapp.importers import list_formats, load_importer
from chatapp.models import Profile
from chatapp.providers import provider_specs
from chatapp.tools import WorkspaceToolbox, tool_specs

folder = pathlib.Path("workspace"); folder.mkdir()
(folder / "poem.txt").write_text("one\\ntwo\\n")
outcome = asyncio.run(WorkspaceToolbox(folder).run("count_lines", {"path": "poem.txt"}))
assert outcome.text == "2 lines" and not outcome.is_error, outcome
assert "count_lines" in tool_specs()

assert condense.load_strategy("hide_all").kind == "condensed"
form = PreferencesForm()
assert "hide_all" in dict(form.fields["strategy"].choices)

assert provider_specs()["parrot"].label == "Parrot"
assert "Parrot" in dict(Profile._meta.get_field("provider").flatchoices).values()

assert "plain" in list_formats()
assert [*load_importer("plain").read_transcript(folder / "poem.txt")][0]["role"] == "user"
print("cooked")
"""

SET = """
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import setup_test_environment
from chatapp import services

setup_test_environment()
owner = User.objects.create_user("ann")
browser = Client()
browser.force_login(owner)
page = browser.get("/settings/").content.decode()
assert "Answer briefly" in page and "unless you ask for more" in page, page
assert not services.preferences_of(owner).brief
token = services.create_api_token(owner=owner, name="a", scope="all")
program = Client(headers={"Authorization": f"Bearer {token}"})
told = program.patch("/api/settings", {"brief": True}, content_type="application/json")
assert told.json()["brief"] is True, told.content
assert services.preferences_of(owner).brief
print("set")
"""


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A copy of the code with everything in it that the recipes add."""
    for name in ("chatapp", "condense", "templates", "static", "manage.py", "pyproject.toml"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    blocks = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(blocks) > 5
    for path, code in blocks:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(code, "utf-8")
    return tmp_path


def run(kitchen: Path, *command: str) -> str:
    """Return what a Python command prints in the kitchen; fail with its words."""
    environment = {
        **os.environ,
        "DATA_DIR": str(kitchen / "var"),
        "DJANGO_SETTINGS_MODULE": "chatapp.settings",
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=kitchen, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_a_new_tool_strategy_provider_and_importer_are_found_by_their_files(kitchen: Path) -> None:
    """Forms, commands and the agent know them, and nothing but their files was touched."""
    assert run(kitchen, "-c", ASK) == "cooked\n"


def test_a_new_provider_needs_no_migration(kitchen: Path) -> None:
    """What vendors there are is no fact about the database."""
    run(kitchen, "manage.py", "makemigrations", "--check", "--dry-run")


def test_every_place_that_the_guide_names_exists(kitchen: Path) -> None:
    """A guide to folders is worth what its addresses are."""
    named = set(NAMED.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")))
    assert len(named) > 20
    assert not [
        place for place in named if not ((ROOT / place).exists() or (kitchen / place).exists())
    ]


def test_a_new_setting_is_a_field_and_its_place_on_the_page(kitchen: Path) -> None:
    """The page shows it with its name and help, and the API shows and changes it."""
    diffs = DIFF.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(diffs) == 2
    for path, diff in diffs:
        lines = diff.splitlines(keepends=True)
        before, after = (
            "".join(line[1:] for line in lines if line[0] != left_out) for left_out in "+-"
        )
        code = (kitchen / path).read_text("utf-8")
        assert code.count(before) == 1, path
        (kitchen / path).write_text(code.replace(before, after), "utf-8")
    run(kitchen, "manage.py", "makemigrations", "chatapp")
    run(kitchen, "manage.py", "migrate")
    assert run(kitchen, "-c", SET) == "set\n"
