"""Conversations that tests look at, and members: made once for a run, in the server's project."""

import json
from collections.abc import Callable
from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

import condense
from chatapp.conversations import conversations, rewind
from chatapp.conversations.composer.attachments import block_for
from chatapp.models import (
    AuditEntry,
    Conversation,
    ModelCall,
    accounts,
    hidden_messages,
    message_store,
)
from tests.chatapp.conftest import summarise
from tests.chatapp.pictures import make_png
from tests.e2e.seed_rows import make_rows
from tests.records import append_many, put_on_record

QUESTION = "Question {number}: what is on page {number} of the logbook?"
ANSWER = "Page {number} tells of the {number}th day at sea, of the wind, the sails and the crew."
SECRET = "The captain hid the heliotrope compass under the third plank. 船长把罗盘藏起来了。"

PROSE = "Long documents, and questions where the first answer that comes to mind is the wrong one."
RICH = rf"""
| Model | Context | Price | Good for |
|:------|--------:|:-----:|----------|
| Claude Opus 4.1 | 1,200,000 | $15.00 / $75.00 | {PROSE} |

```python
answer = 42  # {"long " * 30}
```

\[ x = {" + ".join(f"a_{{{number}}}" for number in range(40))} \]

A line with \( {" + ".join(f"b_{{{number}}}" for number in range(40))} \) and [a link](https://a.example/x).

- פריט ראשון
"""


def start(title: str = "") -> Conversation:
    """Return a new conversation of the owner's."""
    return conversations.start_conversation(owner=accounts.prepare_owner(), title=title)


def append(
    talk: Conversation, *said: tuple[condense.Role, str | tuple[condense.Block, ...]]
) -> None:
    """Store messages at the end of a conversation."""
    append_many(talk.pk, [(condense.Message(role, content), 20) for role, content in said])


def make_history() -> str:
    """A conversation of hundreds of messages.

    Its first 150 messages are hidden behind a summary, and its last ones were rewound.
    """
    talk = start("The logbook")
    for number in range(1, 61):
        names = [f"call-{number}-{place}" for place in range(3)]
        lines = "A line of wind and waves.\n" * (200 if number == 9 else 0)
        calls = [condense.ToolUseBlock(one, "read_file", {"path": f"{one}.txt"}) for one in names]
        results = [condense.ToolResultBlock(one, f"{lines}The text of {one}.") for one in names]
        append(
            talk,
            ("user", QUESTION.format(number=number)),
            ("assistant", tuple(calls)),
            *[("user", (one,)) for one in results],
            ("assistant", SECRET if number == 8 else ANSWER.format(number=number)),
        )
    made = summarise(talk, keep=210)
    put_on_record(
        talk,
        message=made,
        at_seq=360,
        tokens_after=100,
        messages_hidden=150,
        summary="Something was hidden on board.",
    )
    append(
        talk,
        ("user", "Forget the compass."),
        ("assistant", "Nobody speaks of the astrolabe any more."),
    )
    hidden_messages.rewind(talk.pk, first_hidden_seq=362)
    append(talk, ("user", "What was the last entry?"), ("assistant", "It says: land in sight."))
    return f"/c/{talk.pk}/"


def make_rich() -> str:
    """A conversation with one answer that has a table, code and formulas."""
    talk = start("Reading")
    append(talk, ("user", "Show me."), ("assistant", RICH))
    return f"/c/{talk.pk}/"


def make_attached() -> str:
    """A conversation in which a picture and a program were attached."""
    talk = start()
    files = (("photo.png", make_png(300, 200)), ("a.py", b"print(1)"))
    blocks = [block_for(name, data) for name, data in files]
    append(talk, ("user", (condense.TextBlock("Look"), *blocks)))
    return f"/c/{talk.pk}/"


def make_compared() -> str:
    """The page that compares a conversation's second condensation with what it hid."""
    talk = start("Two summaries")
    for part in range(3):
        for number in range(40):
            text = f"You must never touch file_{number}.py. Part {part}. " * 4
            append(talk, ("user", text), ("assistant", f"It took {number}.5 s. " * 20))
        if part == 2:
            break
        hidden = message_store.read_effective(talk.pk)
        made = summarise(talk)
        text = f"Nothing was touched. Part {part} is done."
        attempt = put_on_record(
            talk,
            message=made,
            at_seq=made.seq - 1,
            summary=text,
            messages_hidden=len(hidden),
            receipt=condense.receipt(hidden, text),
        )
    return f"/c/{talk.pk}/condensations/{attempt.pk}/"


def make_proof() -> str:
    """A conversation whose summary says one thing of a message, and one of none."""
    talk = start("Moving the billing database")
    append(talk, ("user", "Move the **billing** database (212 GB) to eu-west-1."))
    for name in ("api.md", "audit.md"):
        call = condense.ToolUseBlock(name, "read_file", {"path": name})
        result = condense.ToolResultBlock(name, f"1 # The port of {name} is 5433")
        append(talk, ("assistant", (call,)), ("user", (result,)))
    append(talk, *[("user", f"Question {number}: is the copy done?") for number in range(40)])
    hidden = message_store.read_effective(talk.pk)
    summary = "- Move the billing database (212 GB) to eu-west-1.\n- The window is 41 minutes."
    put_on_record(
        talk,
        message=summarise(talk),
        at_seq=hidden[-1].seq,
        summary=summary,
        tokens_before=7_912,
        tokens_after=2_321,
        cost="0.0321",
        messages_hidden=len(hidden) - 2,
        results_hidden=2,
        prompt="# What to keep\nAll that was decided.",
        receipt=condense.receipt(hidden, summary),
    )
    return f"/c/{talk.pk}/"


def make_facts() -> str:
    """A conversation whose summary lost, changed and named some facts; one is of an old record."""
    talk = start("Moving the billing database")
    append(
        talk,
        ("user", "We must move the billing database (212 GB) to eu-west-1. No downtime, please."),
        ("assistant", "The copy takes one night."),
        ("user", "The nightly window is 40 minutes, from 02:10. Never touch the audit schema."),
        ("user", "Marta decided it in OPS-2291. Budget is $4,500."),
        ("assistant", "Noted."),
    )
    hidden = message_store.read_effective(talk.pk)
    text = "Move the billing database (212 GB). The nightly window is 30 minutes. See OPS-2291."
    old = condense.Finding(
        "names", "host-17", "host-17", hidden[0].id, "", "in a hurry, use host-17 now", "missing"
    )
    found = condense.receipt(hidden, text)
    made = summarise(talk)
    put_on_record(
        talk,
        message=made,
        at_seq=made.seq - 1,
        summary=text,
        messages_hidden=len(hidden),
        receipt=condense.Receipt((*found.findings, old)),
    )
    return f"/c/{talk.pk}/"


def make_course() -> str:
    """The list of the condensations of a conversation with a short title, condensed twice."""
    talk, begun = start("2"), timezone.now()
    for number, tokens in enumerate([9, 60, 172, 0, 15, 90, 165, 0, 22, 40]):
        when = begun + timedelta(minutes=number)
        if tokens:
            call = {"purpose": "chat", "tokens_input": tokens * 1000, "created_at": when}
            ModelCall.objects.create(conversation=talk, profile_name="Offline", **call)
            continue
        put_on_record(
            talk,
            at_seq=1,
            strategy="ledger",
            trigger="auto",
            tokens_before=172_340,
            tokens_before_measured=True,
            tokens_after=9_120,
            cost="0.0123",
            started_at=when,
            finished_at=when + timedelta(seconds=8),
        )
    return f"/condensations/?conversation={talk.pk}&sort=cost"


def make_tampered() -> str:
    """The audit record of a conversation in which an entry was changed."""
    talk = start("Tampered with")
    for number in range(1, 13):
        append(talk, ("user", f"text {number}"))
        rewind.rewind_conversation(conversation=talk, first_hidden_seq=number)
    QuerySet(AuditEntry).filter(conversation=talk, number=7).update(kind="seal")
    return f"/c/{talk.pk}/audit/"


MAKERS: dict[str, Callable[[], str]] = {
    "rows": make_rows,
    "history": make_history,
    "rich": make_rich,
    "attached": make_attached,
    "compared": make_compared,
    "proof": make_proof,
    "course": make_course,
    "facts": make_facts,
    "tampered": make_tampered,
}


# Each belongs to a test that changes the account.
MEMBERS = ("dave", "erin", "frank")
PASSWORD = "a long sentence"


def make_members() -> dict[str, str]:
    """Make their accounts; return the cookie of a session of each, begun without the password."""
    browser, sessions, password = Client(), {}, make_password(PASSWORD)
    for name in MEMBERS:
        browser.force_login(User.objects.create(username=name, password=password))
        sessions[name] = browser.cookies["sessionid"].value
        browser.cookies.clear()
    return sessions


def print_made() -> None:
    """Make all and print the addresses of conversations and the cookies of members, as JSON."""
    addresses = {name: make() for name, make in MAKERS.items()}
    print(json.dumps({"addresses": addresses, "sessions": make_members()}))
