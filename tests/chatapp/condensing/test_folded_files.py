"""Files that the agent read, as signatures in what the model gets after a condensation.

The provider is the strict stand-in through the real SDK; each request must be one it accepts.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.condensing import condenser_setup, undo
from chatapp.conversations.files import workspaces
from chatapp.models import Condensation, Conversation, Preferences, Profile, message_store
from chatapp.web.forms.preferences import PreferencesForm
from tests.chatapp.claude import converse
from tests.chatapp.runs import run_in
from tests.chatapp.sockets import Page
from tests.standin.behaviours import OVERFLOW, Behaviour, Failure, Reply, ToolCall
from tests.standin.rules import blocks_of
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

LEXER = "class Lexer:\n    def tokens(self, text):\n        return text.split()\n"
BLOCK = (
    "<system-reminder>\n## File Context: src/lexer.py\n"
    "This is only an outline: read the file before you quote or change it.\n# lexer.py\n"
    "1--3 | class Lexer:\n2--3 |     def tokens(self, text):\n\n</system-reminder>"
)
RECORD = {
    "characters": len(BLOCK),
    "files": [{"path": "src/lexer.py", "characters": len(BLOCK)}],
    "left_out": [{"path": "notes.txt", "reason": "There is no grammar for this kind of file."}],
}
SUMMARY = Reply("<analysis>Short.</analysis><summary>They looked at the lexer.</summary>")
REFUSAL = Reply("<analysis>No.</analysis><summary>I'm sorry, I can't help with that.</summary>")
NO_SUMMARY = Failure(400, "invalid_request_error", "This model writes no summaries")
NOTES = "Nothing to see here. " * 400  # so that there is something to gain


@pytest.fixture
def conversation(alice: User, standin: Standin) -> Conversation:
    """A conversation whose workspace holds source and notes."""
    folder = Path(settings.WORKSPACES_ROOT) / "users" / str(alice.pk) / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "lexer.py").write_text(LEXER)
    (folder / "notes.txt").write_text(NOTES)
    made = converse(alice, standin)
    workspaces.choose_workspace(conversation=made, folder="project")
    made.refresh_from_db()
    return made


def reading(*rest: Behaviour) -> tuple[Behaviour, ...]:
    """Return the script of an agent that reads two files, says so, and goes on with ``rest``."""
    calls = [ToolCall("read_file", {"path": path}) for path in ("src/lexer.py", "notes.txt")]
    return (Reply(tools=calls), Reply("I have read them."), *rest)


def sent(standin: Standin) -> list[str]:
    """Return the texts of the first message of the newest request."""
    first = standin.requests[-1].body["messages"][0]
    return [block.get("text", "") for block in blocks_of(first)]


def seen(conversation: Conversation) -> str:
    """Return what the model sees."""
    messages = [message.to_api() for message in message_store.read_effective(conversation.pk)]
    return json.dumps(messages, sort_keys=True)


async def test_a_summary_by_hand_is_followed_by_the_files_that_were_read(
    conversation: Conversation, browser: Client, standin: Standin, page: Page
) -> None:
    """On record and on the row with what was left out and why; an undo shows what was there."""
    standin.then(*reading(SUMMARY, Reply("Noted.")))
    await page.say("What does the lexer do?")
    await page.until_idle()
    before = await sync_to_async(seen)(conversation)
    await page.send("condense.start")
    await page.until_idle()
    await page.say("Go on.")
    await page.until_idle()
    texts = sent(standin)
    assert "They looked at the lexer." in texts[0]
    assert BLOCK in texts
    record = await Condensation.objects.aget()
    address = reverse("condensation", args=[conversation.pk, record.pk])
    panel = (await sync_to_async(browser.get)(address, {"panel": "folded"})).text
    assert "src/lexer.py" in panel
    assert f"1 file, {len(BLOCK)} characters" in panel
    assert "There is no grammar for this kind of file." in panel
    await sync_to_async(undo.undo_condensation)(condensation=record)
    assert (await sync_to_async(seen)(conversation)).startswith(before.removesuffix("]"))
    await record.arefresh_from_db()
    assert (record.trigger, record.folded) == ("manual", RECORD)


@pytest.mark.parametrize(
    ("behaviours", "trigger", "strategy", "folds"),
    [
        ((SUMMARY,), "auto", "fresh_start", True),
        ((OVERFLOW, SUMMARY), "forced", "fresh_start", True),
        ((OVERFLOW, NO_SUMMARY), "forced", "ledger", True),
        # Who wants neither outlines nor checks gets what the model wrote.
        ((REFUSAL,), "auto", "fresh_start", False),
    ],
)
async def test_so_is_an_automatic_one_and_one_that_the_provider_forced(
    conversation: Conversation,
    alice: User,
    standin: Standin,
    behaviours: tuple[Behaviour, ...],
    trigger: str,
    strategy: str,
    folds: bool,
    page: Page,
) -> None:
    """Roo Code leaves the files out there; and the facts, where no model writes a summary."""
    wanted = {"attach_files": folds, "check_summaries": folds}
    await Preferences.objects.filter(owner=alice).aupdate(**wanted)
    standin.then(*reading(*behaviours, Reply("Noted.")))
    await page.say("What does the lexer do?")
    await page.until_idle()
    if trigger == "auto":
        own = Profile.objects.filter(pk=conversation.profile_id)
        await own.aupdate(context_window=20_000, threshold=5)
    await page.say("Go on.")
    await page.until_idle()
    assert (BLOCK in sent(standin)) == folds
    record = await Condensation.objects.aget(status="succeeded")
    assert (record.trigger, record.strategy) == (trigger, strategy)
    assert record.folded == (RECORD if folds else {})


async def add_nothing(_situation: Any, _reduction: Any) -> tuple[condense.Block, ...]:
    """Add nothing, as a hook of somebody's own."""
    return ()


async def add_no_more(_situation: Any, _reduction: Any) -> tuple[condense.Block, ...]:
    """Add nothing either."""
    return ()


def with_a_hook(wanted: condense.Configuration) -> condense.Configuration:
    """Return an operator's configuration, which has a hook."""
    return replace(wanted, hooks=condense.Hooks(after=(add_no_more,)))


OWN = condense.Hooks(after=(add_nothing,))


def own_for(workspace: Path) -> condense.Hooks:
    """Return hooks that fold as well."""
    return condense.Hooks(after=(add_nothing, condense.AttachFoldedFiles(workspace)))


@pytest.mark.parametrize(("name", "count"), [("", 1), ("OWN", 2), ("own_for", 3)])
def test_own_hooks_come_after_the_default_ones_unless_the_operator_leaves_these_out(
    settings: Any, conversation: Conversation, name: str, count: int
) -> None:
    """An object, or a function that makes one; what both name is done once.

    Those of the operator's configuration are the last.
    """
    settings.CONDENSE_CONFIGURATION = f"{__name__}.with_a_hook"
    settings.CONDENSE_HOOKS = f"{__name__}.{name}" if name else ""
    run = run_in(conversation)
    default = (condense.attach_ledger, condense.AttachFoldedFiles(run.folder))
    after = condenser_setup.loaded_configuration(run).hooks.after
    assert after == (*default, *((add_nothing,) if name else ()), add_no_more)
    settings.CONDENSE_DEFAULT_HOOKS = False
    form = PreferencesForm(instance=run.preferences)
    assert [name for name, one in form.fields.items() if one.disabled] == [*form.switches]
    assert len(condenser_setup.loaded_configuration(run).hooks.after) == count
