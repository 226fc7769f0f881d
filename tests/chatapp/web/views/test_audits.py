"""Whether the record holds, as a person asks for it on a page."""

import json
import re
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from chatapp.models import AuditEntry, Conversation, Message, audit
from chatapp.models.database import execute, is_shared
from chatapp.page.transcript.audit_entries import ENTRIES_PER_PAGE as ENTRIES
from chatapp.records.maintenance import audit_seals
from chatapp.records.maintenance.backups import dated_file
from tests.chatapp.audited import condense_on_record, live_through, problems, raw, taken_back
from tests.chatapp.browsers import HTMX
from tests.chatapp.conftest import Say
from tests.chatapp.queries import statements
from tests.chatapp.web.api.programs import bearer


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


def test_of_many_problems_it_is_said_how_many_more_there_are(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """The first ones are listed."""
    for number in range(22):
        say("user", f"what was said {number}")
    audit_seals.make_seal()
    with taken_back():
        raw(Message).update(role="assistant")
        page = browser.get(reverse("audit", args=[conversation.pk]), headers=HTMX).text
    listed = page.partition('class="audit-problems"')[2].partition("</ul>")[0]
    assert (listed.count("<li>"), "2 more" in listed) == (21, True)


UNDECODABLE = {
    "chatapp_message": ("role", "us\xffer"),
    "chatapp_auditentry": ("payload", "{\xff}"),
    "chatapp_condensation": ("summary", "What was \xffsaid."),
}


@pytest.mark.skipif(is_shared(), reason="PostgreSQL stores no text that is none")
@pytest.mark.parametrize("table", UNDECODABLE)
def test_a_text_that_is_none_is_a_damage_and_no_error(
    browser: Client, conversation: Conversation, table: str
) -> None:
    """Whatever the database can't decode: pages open, and page, API and command say the same."""
    live_through(conversation)
    column, text = UNDECODABLE[table]
    stored = text.encode("latin1").hex()
    with taken_back():
        execute(f"UPDATE {table} SET {column} = CAST(X'{stored}' AS TEXT)")  # noqa: S608 - constants
        attempt = conversation.condensations.values_list("pk", flat=True)[0]
        for address in (
            reverse("audit", args=[conversation.pk]),
            reverse("audits") + "?verify=1",
        ):
            page = browser.get(address)
            assert (page.status_code, "Record damaged" in page.text) == (200, True)
        for name, keys in (("condensation", [attempt]), ("download_audit", [])):
            assert browser.get(reverse(name, args=[conversation.pk, *keys])).status_code == 200
        assert browser.post(reverse("export_audits")).status_code == 200
        headers = bearer(conversation.owner, "read")
        told = browser.get(f"/api/conversations/{conversation.pk}/audit", headers=headers).json()
        assert (told["intact"], told["problems"]) == (False, problems(conversation))
        with pytest.raises(CommandError, match="tampered"):
            call_command("verify_audit", stdout=StringIO(), stderr=StringIO())


def test_all_entries_are_a_table_of_who_did_how_much_when(
    browser: Client, conversation: Conversation, bob: User
) -> None:
    """A page at a time, the latest first; checked where it is asked for, and exported signed."""
    live_through(conversation)
    condense_on_record(conversation, tokens_before=172_340, tokens_after=9_120, trigger="auto")
    raw(Conversation).filter(pk=conversation.pk).update(title="<North>")
    theirs = Conversation.objects.create(owner=bob, title="Bob's", audit_number=3)
    address = reverse("audits")
    assert f'href="{address}"' in browser.get(reverse("condensations")).text
    page = browser.get(address).text
    found = re.findall(r"(?s)<tr role=.row.>.*?</tr>", page)
    rows = [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in found]
    assert rows[0] == "When Who What Conversation Before → after Hash"
    assert len(rows) == 1 + 13
    hashes = conversation.audit_entries.order_by("-number").values_list("hash", flat=True)
    assert [row[-12:] for row in rows[1:]] == [one[:12] for one in hashes]
    newest, undone = rows[1], next(row for row in rows if "Condensation: undone" in row)
    assert "Server Condensation: condensed" in newest
    assert "&lt;North&gt; ≈ 172,340 → 9,120 tokens" in newest
    assert f"{conversation.owner} Condensation" in undone
    assert "Never sealed" in page
    assert "Record intact" not in page
    told = " ".join(browser.get(address, {"verify": 1}, headers=HTMX).text.split())
    assert "1 conversation and 13 entries" in told
    sealed = browser.post(reverse("export_audits"))
    heads = audit_seals.read_seal(sealed.text, audit_seals.public_key())
    assert [(head.conversation, head.number) for head in heads] == [(conversation.pk, 13)]
    assert len(sealed.json()["chains"][0]["entries"]) == 13
    audit_seals.write_seal(dated_file("seals", ".json"))
    assert "Last sealed" in browser.get(address).text
    with taken_back():
        raw(AuditEntry).filter(number__gt=9).delete()
        page = browser.get(address, {"verify": 1}).text
        assert "&lt;North&gt;" in page
        assert "Entries 10 to 13 are missing." in page
        assert "Bob" not in page
    theirs.delete()


@pytest.mark.parametrize("name", ["audit", "audits"])
def test_more_entries_come_as_they_are_asked_for(
    browser: Client, conversation: Conversation, name: str
) -> None:
    """Each once."""
    for number in range(ENTRIES + 5):
        audit.append(conversation.pk, AuditEntry.Kind.SEAL, told={"number": number})
    address = reverse(name, args=[conversation.pk] if name == "audit" else [])
    first = browser.get(address).text
    assert first.count("<tr") == 1 + ENTRIES + 1
    more = re.search(r'hx-get="([^"]+after=\d+)"', first)
    assert more is not None
    rest = browser.get(more[1], headers=HTMX).text
    assert (rest.count("<tr"), "Show more" in rest) == (5, False)
    assert "Record" not in rest
