"""What a condensation kept of the hidden facts, on its row, and putting a lost one back."""

import uuid

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

import condense
from chatapp.condensing import undo
from chatapp.condensing.attempt_log import receipt_of
from chatapp.models import Condensation, Conversation, message_store
from chatapp.page.transcript import labels, row_pages
from chatapp.page.transcript.rows import CondensationRow
from tests.chatapp.condensing.findings import finding
from tests.chatapp.conftest import Say, reduction_of, summarise
from tests.chatapp.sockets import Page
from tests.records import record_for


@pytest.fixture
def attempt(conversation: Conversation, say: Say) -> Condensation:
    """A condensation that kept one of three facts."""
    for number in range(4):
        say("user" if number % 2 == 0 else "assistant", f"text {number}")
    record = record_for(conversation, summarise(conversation))
    lint, deploy = finding("make lint", "kept"), finding("make deploy", "lost")
    record.receipt = condense.Receipt((lint, deploy, finding("4711", "recoverable", kind="names")))
    record.save()
    return record


def row_of(conversation: Conversation) -> CondensationRow:
    """Return the condensation's row."""
    return next(r for r in row_pages.page(conversation).rows if isinstance(r, CondensationRow))


def test_the_row_says_how_many_facts_were_kept(
    conversation: Conversation, attempt: Condensation
) -> None:
    """Kind by kind, the worst first, and in each what is lost first."""
    row = row_of(conversation)
    assert row.facts_kept == "1 of 3 facts kept; 1 lost and 1 recoverable"
    names, commands = row.facts
    assert [fact.text for fact in commands.facts] == ["make deploy", "make lint"]
    assert (names.kept, names.facts[0].state) == (0, "recoverable")


def test_what_is_only_named_is_not_called_kept(
    conversation: Conversation, attempt: Condensation
) -> None:
    """Nor is what is changed, and the line says the rest."""
    named = [finding(name, "named", "names") for name in ("host-17", "host-18")]
    attempt.receipt = condense.Receipt((*attempt.receipt.findings, *named))
    attempt.save()
    row = row_of(conversation)
    assert row.facts_kept == "1 of 5 facts kept; 1 lost, 1 recoverable, and 2 named only"
    for findings, words in (
        (named, "0 of 2 facts kept; 2 named only"),
        ([*named, finding("a", "kept")], "1 of 3 facts kept; 2 named only"),
        ([finding("a", "kept"), finding("b", "kept")], "All 2 facts kept"),
        ([finding("a", "changed")], "0 of 1 fact kept; 1 changed"),
    ):
        assert labels.facts_kept(condense.Receipt(tuple(findings))) == words


def test_a_receipt_is_one_in_the_row_and_as_it_was_stored(attempt: Condensation) -> None:
    """Nobody has to read its JSON, and what no column can hold is mended in both."""
    attempt.receipt = condense.Receipt((finding("make \ud800", "lost"),))
    attempt.save()
    stored = Condensation.objects.get(pk=attempt.pk).receipt
    assert stored == attempt.receipt
    assert stored.findings[0].text == "make \ufffd"


def test_a_missing_fact_is_put_back_with_one_click(
    conversation: Conversation, attempt: Condensation, alice: User, client: Client
) -> None:
    """As a message that the model reads, once."""
    client.force_login(alice)
    facts = client.get(reverse("condensation", args=[conversation.pk, attempt.pk]) + "?panel=facts")
    assert facts.text.count("Restore: ") == 1
    address = reverse("put_back", args=[conversation.pk, attempt.pk])
    client.post(address, {"fact": "1"})
    newest = message_store.read_effective(conversation.pk)[-1]
    assert newest.role == "user"
    assert newest.text.endswith("make deploy")
    assert row_of(conversation).facts_kept == "2 of 3 facts kept; 1 recoverable"
    attempt.refresh_from_db()
    count = len(message_store.read_effective(conversation.pk))
    undo.put_back(condensation=attempt, index=1)
    assert len(message_store.read_effective(conversation.pk)) == count


@pytest.mark.parametrize("fact", ["x", "-1", "3"])
def test_a_fact_that_is_not_there_is_refused(
    conversation: Conversation,
    attempt: Condensation,
    alice: User,
    bob: User,
    client: Client,
    fact: str,
) -> None:
    """With a sentence, and nothing is written; nobody else finds what there is."""
    client.force_login(alice)
    address = reverse("put_back", args=[conversation.pk, attempt.pk])
    answer = client.post(address, {"fact": fact}, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    client.force_login(bob)
    assert client.post(address, {"fact": "1"}).status_code == 404
    assert len(message_store.read_effective(conversation.pk)) == 1


def fill(say: Say) -> None:
    """Have a conversation that is worth condensing."""
    for number in range(8):
        role = "user" if number % 2 == 0 else "assistant"
        text = f"Message {number} has quite a few words about topic {number}. " * 20
        say(role, text, tokens=200)


@pytest.mark.django_db(transaction=True)
async def test_a_condensation_stores_its_receipt(
    conversation: Conversation, say: Say, page: Page
) -> None:
    """Probed from what it hides, and looked for in what the model reads afterwards."""
    await sync_to_async(fill)(say)
    await page.say("The port must be 4711.")
    await page.until_idle()
    await page.send("condense.start")
    await page.until_idle()
    record = await Condensation.objects.aget(conversation=conversation)
    texts = {one.text: one.state for one in record.receipt.findings}
    assert texts["The port must be 4711."] == "kept"


def test_what_the_agents_search_finds_is_not_missing(conversation: Conversation, say: Say) -> None:
    """Among all that is hidden then; a damaged index finds nothing, and says so elsewhere."""
    say("user", "Please never deploy on a Friday, that is it.")
    say("assistant", "Noted.")
    summarise(conversation)
    for _ in range(6):
        say("user", "The port of host_17 and the budget are fine with you.")
    say("assistant", "Good.")
    effective = message_store.read_effective(conversation.pk)
    hidden = [one for one in effective if not one.is_summary]
    tags = condense.Tags(condense_id=uuid.uuid4().hex)
    summary = condense.Message("user", (condense.TextBlock("Nothing."),), tags=tags, tokens=1)
    reduction = reduction_of(summary, tuple(one.id for one in hidden))

    def found() -> set[str]:
        receipt = receipt_of(conversation.pk, reduction, effective, None)
        return {one.state for one in receipt.findings if one.needle == "host_17"}

    assert found() == {"recoverable"}
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE chatapp_message_index")
    assert found() == {"lost"}
