"""``manage.py import_transcript``: a recorded session becomes a conversation."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from chatapp.models import Conversation, Profile, Source, accounts, message_store

TALK = [
    {"role": "user", "content": "Fix the parser."},
    {"role": "assistant", "content": [{"type": "text", "text": "It is fixed."}]},
]


def run(tmp_path: Path, items: list[Any], **options: Any) -> tuple[str, str]:
    """Import a file of these items for Alice; return what is said, and what is complained of."""
    path = tmp_path / "session.json"
    path.write_text(json.dumps(items))
    out, err = StringIO(), StringIO()
    usual = {"user": "alice", "format": "messages"}
    call_command("import_transcript", path, stdout=out, stderr=err, **{**usual, **options})
    return out.getvalue(), err.getvalue()


def test_a_session_becomes_a_conversation_named_after_its_file(tmp_path: Path, alice: User) -> None:
    """With every message in its order; a title can be given, and whose it is."""
    said, complaints = run(tmp_path, TALK)
    conversation = Conversation.objects.get(owner=alice)
    assert conversation.title == "session"
    seen = message_store.read_effective(conversation.pk)
    assert [(one.role, one.text) for one in seen] == [
        ("user", "Fix the parser."),
        ("assistant", "It is fixed."),
    ]
    assert said == (
        f"Imported 2 messages as conversation {conversation.pk}, answered by the profile Offline.\n"
    )
    assert not complaints
    run(tmp_path, TALK, title="The parser", user=None)
    assert Conversation.objects.get(title="The parser").owner == accounts.prepare_owner()


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Meeting of 12.05.2024.json", "Meeting of 12.05.2024"),
        ("v1.2 notes.jsonl.GZ", "v1.2 notes"),
        (f"{'x' * 240}.json", "x" * 200),
    ],
)
def test_of_a_files_name_only_its_kind_is_left_out(
    tmp_path: Path, alice: User, name: str, title: str
) -> None:
    """A dot may be in a date; and a name may be longer than a title."""
    (tmp_path / name).write_text(json.dumps(TALK))
    call_command("import_transcript", tmp_path / name, user="alice", stdout=StringIO())
    assert Conversation.objects.get().title == title


def test_of_many_problems_the_first_twenty_are_named(tmp_path: Path, alice: User) -> None:
    """By their places; the rest is imported, and a file of nothing else makes no conversation."""
    said, complaints = run(tmp_path, [*TALK, *range(25)])
    assert said.startswith("Imported 2 messages")
    assert complaints.startswith("Not used: item 3: A message is a JSON object whose role is")
    assert len(complaints.splitlines()) == 21
    assert complaints.endswith("… and 5 more.\n")
    with pytest.raises(CommandError, match="holds no message that can be used"):
        run(tmp_path, [1, 2])
    assert Conversation.objects.count() == 1


def test_a_file_or_user_that_is_not_there_is_named(tmp_path: Path, alice: User) -> None:
    """Before anything is read."""
    with pytest.raises(CommandError, match="There is no file"):
        call_command("import_transcript", tmp_path / "none.json")
    with pytest.raises(CommandError, match="There is no user 'nobody'"):
        run(tmp_path, TALK, user="nobody")


def test_a_session_is_answered_by_a_profile_that_it_fits(tmp_path: Path, alice: User) -> None:
    """The default one if it is large enough, another of the user's, or one made for all such."""
    default = accounts.preferences_of(alice).default_profile
    huge = [{"role": "user", "content": "word " * 30_000}]
    for title in ("second", "third"):
        run(tmp_path, huge, title=title)
    roomy = Profile.objects.create(
        owner=alice, name="Roomy", provider="offline", context_window=100_000, max_output=1_000
    )
    run(tmp_path, TALK, title="first")
    run(tmp_path, huge, title="fourth")
    made = {one.title: one.profile for one in Conversation.objects.filter(owner=alice)}
    assert made["second"] == made["third"]
    assert made["second"].name == "Offline, large window"
    assert made["second"].context_window == 2_000_000
    assert (made["first"], made["fourth"]) == (default, roomy)


def test_without_a_format_it_is_told_from_the_file(tmp_path: Path, alice: User) -> None:
    """Where none is known, nothing is imported."""
    run(tmp_path, [*TALK, {"role": "assistant", "tool_calls": []}], format=None)
    assert Source.objects.get().form == "chat_completions"
    with pytest.raises(CommandError, match="format is not known here"):
        run(tmp_path, [1, 2], format=None)


def test_a_message_that_a_file_wants_pinned_and_that_is_too_large_is_named(
    tmp_path: Path, alice: User
) -> None:
    """With the numbers; the others are pinned."""
    accounts.preferences_of(alice)
    Profile.objects.filter(owner=alice).update(context_window=40_000)
    long = {"role": "user", "content": "port 8080 " * 5_000, "pinned": True}
    _said, complaints = run(tmp_path, [long, {**TALK[0], "pinned": True}])
    conversation = Conversation.objects.get(owner=alice)
    assert [pin.seq for pin in conversation.pins.all()] == [2]
    assert "item 1: It is not pinned. This message takes about" in complaints
    assert Source.objects.get().unused == 1
