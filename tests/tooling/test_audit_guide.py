"""Whoever reads docs/audit.md can check a chain and a seal with what stands there."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from chatapp.condensing import ratings
from chatapp.conversations import conversations
from chatapp.models import AuditEntry, Condensation, Conversation, Message, audit
from chatapp.records.maintenance import audit_check, audit_seals
from tests.chatapp.audited import live_through, problems, raw, taken_back

GUIDE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
FILES = dict(re.findall(r"```\w+ file=(\S+)\n(.*?)\n```", GUIDE, re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the guide, and nothing of this software."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the guide."""
    command = [sys.executable, "-I", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_example_is_checked_with_what_the_guide_has(folder: Path) -> None:
    """In 25 lines, with the answer below them; the seal's example fits the chain's."""
    assert len([line for line in FILES["check_record.py"].splitlines() if line]) <= 25
    done = run(folder, "check_record.py", "record.json")
    assert done.stderr == ""
    assert f"```text\n{done.stdout}```" in GUIDE
    seal, record = json.loads(FILES["seal.json"]), json.loads(FILES["record.json"])
    done = run(folder, "check_seal.py", "seal.json", seal["public_key"])
    assert done.stdout == f"1 chains were sealed at {seal['sealed_at']}.\n", done.stderr
    head = {"number": 2, "hash": record["entries"][-1]["hash"]}
    assert seal["heads"] == {record["conversation"]: head}


@pytest.mark.django_db
def test_a_real_chain_and_a_real_seal_are_checked_the_same_way(folder: Path) -> None:
    """And a change of one letter is found."""
    alice = User.objects.create_user("alice")
    conversation = conversations.start_conversation(owner=alice)
    live_through(conversation)
    (folder / "seal.json").write_text(audit_seals.make_seal())
    assert run(folder, "check_seal.py", "seal.json", audit_seals.public_key()).returncode == 0
    changed = (folder / "seal.json").read_text().replace('"number": 12', '"number": 10')
    (folder / "seal.json").write_text(changed)
    done = run(folder, "check_seal.py", "seal.json", audit_seals.public_key())
    assert "InvalidSignature" in done.stderr
    newest = Condensation.objects.latest("started_at")
    ratings.rate_summary(condensation=newest, rating=1, words="Short.")
    text = json.dumps(audit_check.export(Conversation.objects.get()), ensure_ascii=False)
    for right, wrong, said in (
        ("", "", "13 entries hold"),
        ("Short.", "Good.", "rating_words"),
        ("Where is north?", "Where is South?", "message 1"),
        ('"contents": {', '"contents": {"message 99": {}, ', "message 99"),
        (r":\"allowed\"", r":\"denied\"", "Entry 7"),
    ):
        (folder / "record.json").write_text(text.replace(right, wrong, 1) if right else text)
        done = run(folder, "check_record.py", "record.json")
        assert said in done.stdout + done.stderr


FALSE = [{"type": "text", "text": "I never said so."}]


@pytest.mark.django_db
@pytest.mark.parametrize("forgery", ["an erasure", "a digest", "no salt", "gone", "emptied"])
def test_an_appended_entry_hides_no_change_from_whoever_checks_the_file(
    folder: Path, forgery: str
) -> None:
    """Nor does a salt that was taken out; what was erased is not there, and is no problem."""
    alice = User.objects.create_user("alice")
    conversation = conversations.start_conversation(owner=alice)
    live_through(conversation)
    first = conversation.audit_entries.get(number=1)
    left = {name: salt for name, salt in first.openings.items() if name != "message 1"}
    with taken_back():
        row = raw(Message).filter(conversation=conversation, seq=1)
        row.update(content=[] if forgery == "emptied" else FALSE)
        if forgery == "gone":
            row.delete()
        elif forgery == "a digest":
            said = {"message 1": audit.said("user", FALSE)}
            audit.append(conversation.pk, AuditEntry.Kind.SEAL, contents=said)
        elif forgery == "an erasure":
            audit.append(conversation.pk, AuditEntry.Kind.ERASURE, told={"erased": [*left]})
        else:
            raw(AuditEntry).filter(pk=first.pk).update(openings=left)
        chain = audit_check.export(Conversation.objects.get())
        is_found = bool(problems(conversation))
    (folder / "record.json").write_text(json.dumps(chain))
    done = run(folder, "check_record.py", "record.json")
    assert is_found == (forgery != "emptied") == bool(done.returncode)
    assert ("message 1 says was changed, or is gone" in done.stderr) == is_found


@pytest.mark.django_db
def test_what_was_erased_may_be_told_again(folder: Path) -> None:
    """As where a summary is undone whose texts are gone."""
    conversation = conversations.start_conversation(owner=User.objects.create_user("alice"))
    live_through(conversation)
    attempt = Condensation.objects.filter(conversation=conversation, status="undone").get()
    with taken_back():
        texts = {one: "" for one in attempt.contents() if one != "receipt"}
        raw(Condensation).filter(pk=attempt.pk).update(**texts)
        for one in conversation.audit_entries.all():
            left = {name: salt for name, salt in one.openings.items() if name != attempt.audited_as}
            raw(AuditEntry).filter(pk=one.pk).update(openings=left)
        assert audit_check.verify(conversation).erased == 1
        Condensation.objects.filter(pk=attempt.pk).change(status="succeeded")
        chain = audit_check.export(Conversation.objects.get())
        assert problems(conversation) == []
    (folder / "record.json").write_text(json.dumps(chain))
    assert run(folder, "check_record.py", "record.json").stderr == ""
