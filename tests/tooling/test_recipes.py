"""The recipes of CONTRIBUTING.md work as they are written, all in one copy of the code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
FILES = re.findall(r"```python file=(\S+)\n(.*?)```", GUIDE, re.DOTALL)
DIFFS = re.findall(r"```diff file=(\S+)\n(.*?)```", GUIDE, re.DOTALL)
PLACES = set(re.findall(r"`([\w/]+(?:\.py|\.html|/))`", GUIDE))

BEGIN = """
import asyncio, io, pathlib
import django
django.setup()
import condense
from django.conf import settings
from django.core.management import call_command
folder = pathlib.Path("workspace")
"""

TOOL = """
from chatapp.tools import WorkspaceToolbox, TOOL_SPECS
assert "count_lines" in TOOL_SPECS
outcome = asyncio.run(WorkspaceToolbox(folder).run("count_lines", {"path": "poem.txt"}))
assert outcome.text == "2 lines" and not outcome.is_error, outcome
"""

STRATEGY = """
from chatapp.web.forms.preferences import PreferencesForm
assert "hide_all" in dict(PreferencesForm().fields["strategy"].choices)
roles = ("user", "assistant", "user")
said = [condense.Message(role, "word " * 500, seq=seq) for seq, role in enumerate(roles, 1)]
counter = condense.TiktokenCounter()
size = condense.TokenCount(condense.count_messages(said, counter))
situation = condense.Situation(
    effective=tuple(said), tokens=size, budget=condense.Budget(window=100_000),
    trigger=condense.Trigger.MANUAL,
)
condenser = condense.Condenser(condense.ExcerptSummarizer(), counter, ("hide_all",))
assert "What was said before is hidden." in asyncio.run(condenser.fit(situation)).message.text
"""

PROVIDER = """
from chatapp.agent.ports import Model, ModelRequest
from chatapp.models import Profile
from chatapp.providers import provider_specs
from chatapp.providers.parrot.provider import ParrotProvider
assert "Parrot" in dict(Profile._meta.get_field("provider").flatchoices).values()
(spec,) = provider_specs()["parrot"].models
parrot = ParrotProvider(Model(spec.name, spec.context_window, spec.max_output))
async def hear():
    request = ModelRequest("", (condense.Message("user", "Hello"),))
    return [event async for event in parrot.stream(request)]
assert asyncio.run(hear())[0].text == "Hello"
"""

IMPORTER = """
from chatapp.records.importers import list_formats, load_importer
assert "plain" in list_formats()
assert [*load_importer("plain").read_transcript(folder / "poem.txt")][0]["role"] == "user"
"""

SETTING = """
told = io.StringIO()
call_command("makemigrations", "chatapp", "--dry-run", stdout=told)
assert [line.strip() for line in told.getvalue().splitlines() if line.startswith("    ")] == [
    "+ Add field brief to preferences"
], told.getvalue()

settings.MIGRATION_MODULES = {one.label: None for one in django.apps.apps.get_app_configs()}
call_command("migrate", "--run-syncdb", verbosity=0)
from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import setup_test_environment
from chatapp.models.accounts import preferences_of
from chatapp.accounts.credentials import create_api_token
setup_test_environment()
owner = User.objects.create_user("ann")
browser = Client()
browser.force_login(owner)
page = browser.get("/settings/").content.decode()
assert "Answer briefly" in page and "unless you ask for more" in page, page
assert not preferences_of(owner).brief
token = create_api_token(owner=owner, name="a", scope="all")
program = Client(headers={"Authorization": f"Bearer {token}"})
told = program.patch("/api/settings", {"brief": True}, content_type="application/json")
assert told.json()["brief"] is True, told.content
assert preferences_of(owner).brief
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code with everything in it that the recipes add."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("chatapp", "condense", "templates", "static", "manage.py", "pyproject.toml"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    for path, code in FILES:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(code, "utf-8")
    for path, diff in DIFFS:
        lines = diff.splitlines(keepends=True)
        before, after = (
            "".join(line[1:] for line in lines if line[0] != left_out) for left_out in "+-"
        )
        code = (folder / path).read_text("utf-8")
        assert code.count(before) == 1, path
        (folder / path).write_text(code.replace(before, after), "utf-8")
    (folder / "workspace").mkdir()
    (folder / "workspace" / "poem.txt").write_text("one\ntwo\n")
    return folder


def test_every_recipe_works_as_it_is_written(checkout: Path) -> None:
    """Forms, pages, API and agent know what was added; every place that is named exists."""
    assert (len(FILES), len(DIFFS)) == (6, 2)
    steps = (BEGIN, TOOL, STRATEGY, PROVIDER, IMPORTER, SETTING)
    own = {"DATA_DIR": str(checkout / "var"), "DATABASE_URL": ""}
    own |= {"DJANGO_SETTINGS_MODULE": "chatapp.settings"}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(steps)],
        cwd=checkout, env=os.environ | own, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stdout + done.stderr
    assert len(PLACES) > 20
    there = {place for place in PLACES if (checkout / place).exists() or (ROOT / place).exists()}
    assert there == PLACES
