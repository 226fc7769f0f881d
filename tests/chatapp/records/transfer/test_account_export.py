import io
import json
import zipfile

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatapp.accounts import credentials
from chatapp.models import Conversation, Profile, SavedCommand
from chatapp.records.transfer.record_export import write_record
from chatapp.records.transfer.record_tables import TABLES
from tests.chatapp.conftest import Say


def files_of(browser: Client) -> dict[str, str]:
    """Download the archive, and return what each file in it says."""
    content = browser.get(reverse("download_account")).getvalue()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_everything_of_a_user_comes_in_one_archive(
    browser: Client, alice: User, bob: User, conversation: Conversation, say: Say
) -> None:
    """Conversations, deleted ones too, and settings; no key, no token, and nothing of others."""
    say("user", "What Alice asked.")
    Conversation.objects.create(owner=bob, title="Bob's")
    token = credentials.create_api_token(owner=alice, name="mine", scope="read")
    SavedCommand.objects.create(owner=alice, name="greet", text="Say hello.")
    profile = Profile.objects.filter(owner=alice).first()
    assert profile
    profile.set_key("sk-of-alice")
    profile.save()
    files = files_of(browser)
    record = json.loads(files.pop(f"conversations/{conversation.pk}.json"))
    account = json.loads(files.pop("account.json"))
    assert files == {}
    assert "What Alice asked." in json.dumps(record["messages"])
    assert account["saved_commands"][0]["text"] == "Say hello."
    said = json.dumps(account)
    assert not any(secret in said for secret in (token, "sk-of-alice", profile.encrypted_key))
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=conversation.created_at)
    assert f"deleted/{conversation.pk}.json" in files_of(browser)


def test_a_section_without_rows_is_asked_for_once(conversation: Conversation, say: Say) -> None:
    """Most conversations have few kinds of records, and an account has many conversations."""
    say("user", "Hello.")
    with CaptureQueriesContext(connection) as asked:
        assert b"".join(write_record(conversation))
    assert len(asked) < 2 * len(TABLES)
