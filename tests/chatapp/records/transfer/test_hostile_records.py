"""Records that nobody exported so: refused with a sentence, or shown without an error."""

import copy
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker

from chatapp.models import Condensation, Conversation, Message, Review, errors
from chatapp.records.transfer import FORMAT
from tests.chatapp.audited import problems
from tests.chatapp.records.transfer.lives import Life, read, write

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 2**80, 10**400, 1e300, "", "x", "\0\ud800", "9" * 5_000),
    *("0001-01-01T00:00:00+14:00", "NaN", "1e999", [], {}, [1], [[]], [{}], {"": 1}, {"type": 1}),
    *([{"type": "text", "text": 1}], {"1": {"1": 1}}, "<script>alert(1)</script>{{ 7 }}%s{}"),
    *([{"type": "text", "text": "x", "beside": {"kind": [], "name": 3, "size": "x"}}],),
)
PAGES = ("chat", "audit", "inspector", "todo", "export", "files", "conversation_costs", "pins")


@pytest.fixture(scope="module")
def written(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> bytes:
    """What is written of a conversation in which all has happened, and of which nothing is left."""
    with django_db_blocker.unblock(), transaction.atomic():
        life = Life(User.objects.create_user("somebody"))
        life.say(2)
        for name in ("talk", "use_huge", "record", "pin", "talk", "edit", "clear", "truncate"):
            life.do(name, 1)
        found = write(life.conversation)
        transaction.set_rollback(True)
    return found


@pytest.fixture
def record(written: bytes) -> dict[str, Any]:
    """The record of such a conversation."""
    found: dict[str, Any] = json.loads(written)
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value of a JSON value."""
    yield path
    keyed = {**value} if isinstance(value, dict) else {}
    if isinstance(value, list):
        keyed = dict(enumerate(value))
    for key, one in keyed.items():
        yield from places(one, (*path, key))


def with_value(record: dict[str, Any], place: tuple[Any, ...], value: Any) -> Any:
    """Return a record that says something else in one place."""
    changed = {"": copy.deepcopy(record)}
    target: Any = changed
    *way, last = ("", *place)
    for key in way:
        target = target[key]
    target[last] = value
    return changed[""]


@settings(
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_record_with_another_value_is_refused_or_can_be_shown(
    alice: User, browser: Client, tmp_path: Path, record: dict[str, Any], data: st.DataObject
) -> None:
    """Whatever stands wherever: no page fails, and of what is refused nothing is stored."""
    chosen = [one for one in places(record) if one and one[0] != "chains"]
    place, value = data.draw(st.sampled_from(chosen)), data.draw(st.sampled_from(VALUES))
    before = Conversation.objects.count()
    written = json.dumps(with_value(record, place, value)).encode()
    try:
        made = read(written, alice, tmp_path)
    except errors.Refused:
        assert Conversation.objects.count() == before
        return
    for page in PAGES:
        assert browser.get(reverse(page, args=[made.pk])).status_code < 400
    for attempt in Condensation.objects.filter(conversation=made):
        assert browser.get(reverse("condensation", args=[made.pk, attempt.pk])).status_code == 200
    assert browser.get(reverse("condensations")).status_code == 200


@pytest.mark.parametrize(
    ("section", "item", "told"),
    [
        ("messages", {"turn": 3}, "Item 3 of turns is named, and missing."),
        ("messages", {"position": 9}, "Message 1 stands where it can't."),
        ("messages", {"seq": 2}, "Message 2 stands where it can't."),
        ("messages", {"hides": [[1, 1]]}, "Message 1 stands where it can't."),
        ("rewinds", {"cause": "edited", "root_seq": 1, "brings_back": 1}, "versions of a message"),
        ("messages", {"role": "system"}, "role is none of the values"),
        ("questions", {"kind": ...}, "kind is missing"),
        ("messages", {"surprise": 1}, None),
        ("pins", {"digest": "0" * 64}, "pins are not on the messages"),
        ("calls", {"number": 9}, "Item 1 of calls has another number."),
        ("tool_runs", {"turn": None}, "turn is missing."),
        ("rewinds", {"created_at": "2026-01-01"}, "created_at is not what it has to be."),
        ("messages", {"content": [{"type": 5}]}, "content is not what it has to be."),
        ("messages", {"tokens": "DIGITS"}, "it is no JSON"),
    ],
)
def test_what_does_not_fit_is_named(
    alice: User,
    tmp_path: Path,
    record: dict[str, Any],
    section: str,
    item: dict[str, Any],
    told: str | None,
) -> None:
    """And nothing of it is stored; what only a later version knows is left out."""
    changed = {**record[section][0], **item}
    record[section][0] = {name: one for name, one in changed.items() if one is not ...}
    # More digits than Python makes an integer of.
    written = json.dumps(record).replace('"DIGITS"', "9" * 5_000).encode()
    if told is None:
        assert read(written, alice, tmp_path).messages.count() == len(record["messages"])
        return
    with pytest.raises(errors.Refused, match=told):
        read(written, alice, tmp_path)
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()


def test_a_clearing_without_a_record_can_be_shown(
    alice: User, browser: Client, tmp_path: Path
) -> None:
    """What hides nothing that is on record says nothing of why."""
    said = {"role": "user", "content": "Hello."}
    clears = {"clear_id": str(uuid.uuid4()), "cleared": {"1": {"call": "Cleared."}}}
    record = {"format": FORMAT, "conversation": {}, "messages": [said, {**said, **clears}]}
    conversation = read(json.dumps(record).encode(), alice, tmp_path)
    for page in PAGES:
        assert browser.get(reverse(page, args=[conversation.pk])).status_code == 200


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"format": "palimpsest conversation 9"}', b"\x1f\x8b1", b"[" * 100_000],
)
def test_what_is_no_record_is_refused(alice: User, tmp_path: Path, data: bytes) -> None:
    """Cut off, damaged, of another form or of a later one."""
    with pytest.raises(errors.Refused, match=r"^The (compressed )?file .*\.$"):
        read(data, alice, tmp_path)
    assert not Conversation.objects.exists()


def test_a_review_that_no_turn_waits_for_is_withdrawn(
    alice: User, browser: Client, tmp_path: Path, record: dict[str, Any]
) -> None:
    """A file may say that one waits; what it was for is not in the file, so nobody can answer."""
    record["condensations"][0] |= {"status": "running"}
    record["condensations"][0].pop("turn", None)
    record["reviews"] = [{"number": 1, "condensation": 1, "ordinal": 1, "status": "pending"}]
    made = read(json.dumps(record).encode(), alice, tmp_path)
    review = Review.objects.get(condensation__conversation=made)
    assert review.status == Review.Status.WITHDRAWN
    address = reverse("answer_review", args=[made.pk, review.pk])
    assert browser.post(address, {"decision": "accept", "summary": "x"}).status_code < 500
    assert not problems(made)
