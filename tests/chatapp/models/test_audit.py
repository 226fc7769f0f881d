"""What happens to a context is on record as an entry of a chain, in the same transaction."""

import functools
import hashlib
import json
from decimal import Decimal

import pytest
from django.db import transaction

from chatapp.conversations import rewind
from chatapp.models import (
    AuditEntry,
    Condensation,
    Conversation,
    Message,
    Question,
    Rewind,
    Turn,
    audit,
)
from chatapp.models.errors import AppendOnly
from chatapp.records.maintenance import audit_check
from chatapp.storage import approvals
from tests.chatapp.audited import (
    ask,
    condense_on_record,
    entries,
    live_through,
    problems,
    raw,
    talk,
)
from tests.chatapp.conftest import Say
from tests.records import put_on_record

SECRET = "the code is 4711"


def told(conversation: Conversation) -> list[tuple[str, str]]:
    """Return kind and status of each entry."""
    found = [(one.kind, json.loads(one.payload)) for one in entries(conversation)]
    return [(kind, say["facts"].get("status", say["facts"].get("cause"))) for kind, say in found]


def test_each_thing_that_is_done_to_a_context_is_an_entry(conversation: Conversation) -> None:
    """Condensations, facts put back, undos, rewinds, edits, approvals and answers, in order."""
    live_through(conversation)
    assert told(conversation) == [
        ("condensation", "succeeded"),
        ("condensation", "succeeded"),  # with a fact put back
        ("condensation", "undone"),
        ("rewind", "rewound"),
        ("rewind", "rewound"),  # and taken back
        ("rewind", "edited"),
        ("question", "allowed"),
        ("question", "denied"),
        ("question", "answered"),
        ("question", "withdrawn"),
        ("condensation", "succeeded"),
        ("review", "edited"),
    ]
    assert problems(conversation) == []
    digests = [name for one in entries(conversation) for name in json.loads(one.payload)["digests"]]
    names = sorted(name for name in digests if name.startswith("message "))
    last_seq = Conversation.objects.get(pk=conversation.pk).last_seq
    assert names == sorted(f"message {seq}" for seq in range(1, last_seq + 1))


@pytest.mark.parametrize(("cost", "told"), [("0", "0"), ("0.0120000000", "0.012"), ("1E+2", "100")])
def test_a_cost_is_told_as_plain_digits(conversation: Conversation, cost: str, told: str) -> None:
    """As docs/audit.md has it, and as older entries did: otherwise they would not fit any more."""
    talk(conversation, "Where is north?", "Up.")
    condense_on_record(conversation, cost=Decimal(cost))
    assert Condensation.objects.get().facts()["cost"] == told
    assert json.loads(entries(conversation)[-1].payload)["facts"]["cost"] == told


def test_an_entry_holds_no_text(conversation: Conversation, say: Say) -> None:
    """Neither of a message nor of a record: digests only."""
    say("user", SECRET)
    attempt = put_on_record(conversation, at_seq=1, status="running")
    Condensation.objects.filter(pk=attempt.pk).change(summary=SECRET, focus=SECRET)
    turn = Turn.objects.create(conversation=conversation)
    approvals.answer_question(
        question=ask(turn, 0, kind="answer", text=SECRET), decision="answer", words=SECRET
    )
    for one in entries(conversation):
        assert SECRET not in one.payload + json.dumps(one.openings)


def test_what_fails_leaves_no_entry(conversation: Conversation, say: Say) -> None:
    """It is part of the transaction of what it tells; a new conversation needs none."""
    say("user", "Hello.")
    with transaction.atomic():
        rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1)
        transaction.set_rollback(True)
    assert entries(conversation) == []
    assert problems(conversation) == []
    assert audit_check.verify(conversation).since == conversation.created_at


def test_what_is_on_record_is_changed_with_an_entry_or_not_at_all(
    conversation: Conversation,
) -> None:
    """Entries are only added; what opens a digest goes with what is erased."""
    live_through(conversation)
    attempts = Condensation.objects.filter(conversation=conversation)
    refused = [
        functools.partial(attempts.update, status="failed"),
        functools.partial(attempts.update, summary="x"),
        functools.partial(attempts.update, message=None),
        functools.partial(Rewind.objects.update, to_seq=1),
        functools.partial(Question.objects.update, status="allowed"),
        functools.partial(AuditEntry.objects.update, payload=""),
        conversation.audit_entries.filter(number=1).delete,
        entries(conversation)[0].save,
        entries(conversation)[0].delete,
    ]
    for act in refused:
        with pytest.raises(AppendOnly, match=r"`change` only|never|appended"):
            act()
    attempts.update(rewind_parent=None)
    AuditEntry.objects.filter(number=1).update(openings=entries(conversation)[0].openings)


def test_an_erased_content_leaves_the_chain_valid(conversation: Conversation) -> None:
    """It is counted as erased; what was not erased is still compared."""
    live_through(conversation)
    first = entries(conversation)[0]
    kept = {name: salt for name, salt in first.openings.items() if name != "message 1"}
    AuditEntry.objects.filter(pk=first.pk).update(openings=kept)
    (said,) = problems(conversation)
    assert said == "Message 1 can't be compared with entry 1: what opens its digest is gone."
    raw(Message).filter(conversation=conversation, seq=1).update(content=[])
    assert problems(conversation) == []
    raw(Message).filter(conversation=conversation, seq=2).update(content=[])
    assert problems(conversation) == ["Message 2 is not what entry 1 has on record."]
    kept = {name: salt for name, salt in kept.items() if not name.startswith("message")}
    AuditEntry.objects.filter(pk=first.pk).update(openings=kept)
    raw(Message).filter(conversation=conversation, seq__lte=5).update(content=[])
    assert problems(conversation) == []


def test_an_erased_content_can_not_be_guessed(conversation: Conversation, say: Say) -> None:
    """Nobody can tell that a guess is right by an entry, nor who said the same."""
    say("user", "yes")
    talk(conversation, "yes", "yes", "yes")
    condense_on_record(conversation)
    (entry,) = entries(conversation)
    digests = json.loads(entry.payload)["digests"]
    said = [one for name, one in digests.items() if name.startswith("message ")]
    assert len({*said}) == len(said) == 5
    digest = digests["message 1"]
    content = [{"text": "yes", "type": "text"}]
    guess = json.dumps({"content": content, "role": "user"}, separators=(",", ":"))
    salt = entry.openings["message 1"]
    assert hashlib.sha256((salt + guess).encode()).hexdigest() == digest
    assert len(bytes.fromhex(salt)) == 16
    public = (entry.hash, entry.previous, str(conversation.pk), "")
    assert digest not in {hashlib.sha256((one + guess).encode()).hexdigest() for one in public}


def test_a_conversation_from_before_is_on_record_since_the_upgrade(
    conversation: Conversation, say: Say
) -> None:
    """Its chain begins with an entry that says so; what was said is on the next."""
    audit.append(conversation.pk, AuditEntry.Kind.BEGINNING, told={"facts": {"last_seq": 1}})
    say("user", "Before.")
    (entry,) = entries(conversation)
    verdict = audit_check.verify(Conversation.objects.get(pk=conversation.pk))
    assert (entry.kind, verdict.since, verdict.waiting) == ("beginning", entry.at, 1)
    condense_on_record(conversation)
    assert problems(conversation) == []
    assert "message 1" in json.loads(entries(conversation)[1].payload)["digests"]
