"""Importing a conversation from the page."""

import json
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.agent.annotated_blocks import is_claimed
from chatapp.conversations import conversations, pins
from chatapp.models import AuditEntry, Conversation, ImportRun, Source, message_store
from chatapp.operations import background_jobs
from chatapp.records.transfer import Piece, import_jobs
from chatapp.records.transfer.record_export import write_record
from tests.chatapp.browsers import HTMX, browser_of
from tests.chatapp.web.views.uploads import send

pytestmark = pytest.mark.django_db(transaction=True)

TALK = [{"role": "user", "content": "Fix the parser."}, {"role": "assistant", "content": "Done."}]


def test_a_file_becomes_a_conversation_and_its_page_says_from_what(
    browser: Client, alice: User, bob: User
) -> None:
    """It opens at once; a click away is what could not be used, for nobody else."""
    file = ("talk.json", [*TALK, {"role": "chorus", "content": "x"}])
    other = browser_of(bob)
    # Neither Bob's import of the same file nor one that was deleted is said to be there.
    for one, owner in ((other, bob), (browser, alice)):
        send(one, file)
        earlier = Conversation.objects.get(owner=owner)
    conversations.delete_conversation(conversation=earlier)
    answer = send(browser, file)
    page = browser.get(answer["Location"], follow=True).text
    made = Conversation.objects.present().get(owner=alice)
    assert (made.title, made.last_seq, "file before" in page) == ("talk", 2, False)
    assert "2 messages from “<bdi>talk.json</bdi>”. 1 item could not be used." in page
    details = reverse("source", args=[made.pk])
    assert details in page
    page = browser.get(details).text
    assert "2 messages from “<bdi>talk.json</bdi>”." in page
    assert "What could not be used" in page
    assert "A message is a JSON object whose role is" in page
    assert reverse("chat", args=[made.pk]) in page
    audit = browser.get(reverse("audit", args=[made.pk])).text
    assert (
        f'<a href="{reverse("source", args=[made.pk])}">Imported from “<bdi>talk.json</bdi>”</a>'
        in audit
    )
    assert not [*(settings.DATA_DIR / "imports").iterdir()]
    assert "not known any more" in other.get(answer["Location"]).text
    assert other.get(reverse("source", args=[made.pk])).status_code == 404


def test_while_it_runs_the_page_looks_again_and_then_goes_there(
    browser: Client, alice: User
) -> None:
    """The fragment asks to be asked for anew; at the end it leads to what was made."""
    run = import_jobs.begin_import(owner=alice)
    ImportRun.objects.update(form="messages", messages=1_234)
    address = reverse("import_job", args=[run.pk])
    fragment = browser.get(address, headers=HTMX).text
    assert "1,234 messages read…" in fragment
    assert f'hx-get="{address}"' in fragment
    # One that asked at intervals would begin to go there again before it has arrived.
    assert 'hx-trigger="load delay:400ms' in fragment
    assert browser.get(reverse("import"))["Location"] == address
    import_jobs.drop(run)
    assert "not known any more" in browser.get(address).text
    answer = send(browser, ("語" * 100 + ".json", TALK))
    over = browser.get(answer["Location"], headers=HTMX)
    made = Conversation.objects.get(owner=alice)
    assert over["HX-Redirect"] == reverse("chat", args=[made.pk])
    assert "Everything was used." in browser.get(reverse("source", args=[made.pk])).text


UNKNOWN = "This file&#x27;s format is not known here."
CUT = b'{"format":"palimpsest conversation 1","messages":[{'


def zipped(listed: int = 0) -> bytes:
    """Return an archive whose file would lie elsewhere, and more than its list can be long."""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for number in range(listed):
            (one := ZipInfo(f"{number}.json")).comment = b" " * 65_000
            archive.writestr(one, b"")
        archive.writestr("../../api_conversation_history.json", json.dumps(TALK))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        *(([("x.json", data)], [UNKNOWN]) for data in (b"", b"\x1f\x8b\0\0")),
        ([("x.json", b"[" * 100_000)], [UNKNOWN]),
        ([("x.json", CUT)], ["The file is damaged: it is no JSON."]),
        (
            [("x.json", [{"role": "user", "content": 5}])],
            ["no message that can be used", "The message has no content that can be used."],
        ),
        ([(f"{number}.json", TALK) for number in range(21)], ["That is too much"]),
        ([], ["Choose a file first."]),
        ([("a.json", TALK), ("a.json", TALK)], ["Import them one by one."]),
        ([("task.zip", zipped())], ["Unpack it"]),
        ([("many.zip", zipped(listed=70))], ["or holds too many files."]),
    ],
    ids=map(str, range(10)),
)
def test_what_can_t_be_imported_is_refused_in_words(
    browser: Client, files: list[tuple[str, Any]], said: list[str]
) -> None:
    """And nothing of it is left."""
    page = browser.get(send(browser, *files)["Location"], follow=True).text
    assert all(words in page for words in said)
    assert not Conversation.objects.exists()
    folder = settings.DATA_DIR / "imports"
    assert not folder.exists() or not [*folder.iterdir()]


def broken(_form: str, _path: Path) -> Iterator[Piece]:
    """Read a file as an importer does that has a mistake."""
    yield TALK[0]
    raise MemoryError


async def import_broken(run: str) -> None:
    """Import what can't be read to its end."""
    await import_jobs.run_import(run, broken)


def test_an_import_that_breaks_off_is_over(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says so, and does not look again for ever; nothing is left of the file."""
    monkeypatch.setitem(background_jobs.JOBS, "import_files", f"{__name__}.import_broken")
    answer = send(browser, ("talk.json", TALK))
    for headers in ({}, HTMX):
        page = browser.get(answer["Location"], headers=headers).text
        assert "The import failed." in page
        assert f'hx-get="{answer["Location"]}"' not in page
    assert not [*(settings.DATA_DIR / "imports").iterdir()]
    assert not Conversation.objects.exists()


def test_the_files_of_a_task_are_sent_together(browser: Client, alice: User) -> None:
    """Under their names, without a way out of their folder."""
    history = [{"role": "user", "content": "Hi", "ts": 1}]
    shown = [{"ts": 1, "type": "say", "say": "text", "text": "A task"}]
    send(browser, ("../../api_conversation_history.json", history), ("ui_messages.json", shown))
    assert Conversation.objects.get(owner=alice).title == "A task"
    names = {"api_conversation_history.json": history, "ui_messages.json": shown}
    sums = {name: sha256(json.dumps(data).encode()) for name, data in names.items()}
    lines = "".join(f"{one.hexdigest()}  {name}\n" for name, one in sums.items())
    assert Source.objects.get().digest == sha256(lines.encode()).hexdigest()


def test_rules_of_a_file_are_rules_once_somebody_says_so(browser: Client, alice: User) -> None:
    """The report and the dialog of pins ask, and both say what the system prompt is."""
    made = conversations.start_conversation(owner=alice)
    pins.pin_rule(conversation=made, text="Obey the file.")
    Conversation.objects.filter(pk=made.pk).update(system_prompt="You are a pirate.")
    made.refresh_from_db()
    answer = send(browser, ("talk.json", b"".join(write_record(made))))
    page = browser.get(answer["Location"], follow=True).text
    assert "You are a pirate." in page
    assert "Obey the file." in page
    copy = Conversation.objects.exclude(pk=made.pk).get()
    (rule,) = (block for one in message_store.read_effective(copy.pk) for block in one.blocks)
    assert is_claimed(rule)
    adopt = reverse("adopt_rules", args=[copy.pk])
    assert adopt in page
    assert adopt in browser.get(reverse("pins", args=[copy.pk])).text
    before = AuditEntry.objects.filter(conversation=copy, kind="pin").count()
    assert browser.post(adopt)["Location"] == reverse("chat", args=[copy.pk])
    assert AuditEntry.objects.filter(conversation=copy, kind="pin").count() == before + 1
    (rule,) = (block for one in message_store.read_effective(copy.pk) for block in one.blocks)
    assert not is_claimed(rule)
    # So does one without rules, or without a system prompt.
    Conversation.objects.filter(pk=made.pk).update(system_prompt="")
    made.refresh_from_db()
    for file in ([{"role": "system", "content": "Be brief."}, *TALK], b"".join(write_record(made))):
        opened = browser.get(send(browser, ("talk.json", file))["Location"], follow=True)
        assert opened.redirect_chain[-1][0].endswith("/source/")
    assert adopt not in browser.get(reverse("pins", args=[copy.pk])).text
