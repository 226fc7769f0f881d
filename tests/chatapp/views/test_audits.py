"""Whether the record holds, as a person asks for it on a page."""

import json

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.models import AuditEntry, Conversation, Message
from tests.chatapp.audited import live_through, raw, taken_back
from tests.chatapp.browsers import HTMX
from tests.chatapp.queries import statements


def test_a_tab_says_whether_the_record_holds(browser: Client, conversation: Conversation) -> None:
    """Where it is asked to; opening the chat follows no chain.

    It lists in words what was done, the latest first, and since when; others can check the file.
    """
    live_through(conversation)
    address = reverse("audit", args=[conversation.pk])
    with statements() as sent:
        page = browser.get(reverse("chat", args=[conversation.pk])).text
    assert f'href="{address}"' in page
    assert not [one for one in sent if "auditentry" in one]
    page = browser.get(address, headers=HTMX).text
    for words in ("Record intact", "Question: answered · run_command", "Condensation: undone"):
        assert words in page
    assert page.index("Rewind: edited") < page.index("Rewind: rewound, taken back")
    assert ("On record since" in page, "12 entries" in page) == (True, True)
    answer = browser.get(reverse("download_audit", args=[conversation.pk]))
    assert "attachment" in answer["Content-Disposition"]
    assert json.loads(answer.content)["conversation"] == str(conversation.pk)
    with taken_back():
        raw(AuditEntry).filter(number=3).delete()
        item = browser.get(address, headers=HTMX).text
        assert "Record damaged" in item
        assert "Entry 3 is missing." in item


def test_the_page_of_a_record_that_was_tampered_with_opens(
    browser: Client, conversation: Conversation
) -> None:
    """Whatever stands in it, and as text."""
    live_through(conversation)
    address = reverse("audit", args=[conversation.pk])
    for payload in (
        "",
        "[]",
        "{}",
        '{"digests":{},"facts":{"kind":"<b>"}}',
        "7",
        "null",
        "[" * 10**5,
    ):
        with taken_back():
            raw(AuditEntry).update(payload=payload, kind="<script>")
            page = browser.get(address).text
            assert "Entry 1 is not what was written" in page
            assert "&lt;script&gt;" in page
    with taken_back():
        raw(Message).filter(seq=2).delete()
        assert "Message 2, on record in entry 1, is gone." in browser.get(address).text


def test_all_conversations_are_checked_from_the_condensations(
    browser: Client, conversation: Conversation, bob: User
) -> None:
    """All of one's own; the broken ones are named."""
    live_through(conversation)
    raw(Conversation).filter(pk=conversation.pk).update(title="<North>")
    theirs = Conversation.objects.create(owner=bob, title="Bob's", audit_number=3)
    address = reverse("audits")
    assert f'hx-get="{address}"' in browser.get(reverse("condensations")).text
    told = " ".join(browser.get(address, headers=HTMX).text.split())
    assert "1 conversation and 12 entries" in told
    with taken_back():
        raw(AuditEntry).filter(number__gt=9).delete()
        page = browser.get(address).text
        assert "&lt;North&gt;" in page
        assert "Entries 10 to 12 are missing." in page
        assert "Bob" not in page
    theirs.delete()
