"""A condensation beside what it hid: facts by their sources, and the summary before."""

import re
import uuid

import pytest
from django.test import Client
from django.urls import reverse

import condense
from chatapp.condensing import undo
from chatapp.conversations import conversations
from chatapp.models import Condensation, Conversation, Message, hidden_messages, message_store
from chatapp.page.transcript import originals
from condense.reduction import carryover
from tests.chatapp.conftest import Say, reduction_of, summarise
from tests.records import append_many, put_on_record

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 }} %s"


def condensed(conversation: Conversation, summary: str = "", **columns: object) -> Condensation:
    """Condense all that is visible, and return the record, with a receipt of what was hidden."""
    hidden = message_store.read_effective(conversation.pk)
    made = summarise(conversation)
    receipt = condense.receipt(hidden, summary)
    row = {"message": made, "at_seq": made.seq - 1, "summary": summary, "receipt": receipt}
    attempt = put_on_record(conversation, **row | columns)
    return Condensation.objects.get(pk=attempt.pk)


def three(conversation: Conversation, say: Say) -> list[Condensation]:
    """Return three condensations, each going on from the one before."""
    made = []
    for number in range(3):
        say("user", f"Question {number}")
        made.append(condensed(conversation, f"Same words. Part {number} is done."))
    return made


def truncated(conversation: Conversation, hidden: Message, text: str) -> Message:
    """Hide a message behind a marker, and return that."""
    marker = condense.Message("user", text, tags=condense.Tags(truncation_id=uuid.uuid4().hex))
    reduction = reduction_of(marker, (str(hidden.pk),))
    return hidden_messages.apply_reduction(conversation.pk, reduction)


def page_of(browser: Client, attempt: Condensation, **query: object) -> str:
    """Return the record, which the page that compared leads to."""
    address = reverse("compare", args=[attempt.conversation_id, attempt.pk])
    return browser.get(address, query, follow=True).text


def test_a_summary_is_told_with_its_generation(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """How many summaries of its conversation stand behind one another, and what is new in it.

    One that is written again from all originals begins anew; the next one goes on from it.
    """
    other = conversations.start_conversation(owner=conversation.owner)
    for _ in range(5):
        message_store.append_message(other.pk, condense.Message("user", "Elsewhere"), tokens=1)
        condensed(other)
    attempts = three(conversation, say)
    for generation, attempt in enumerate(attempts, start=1):
        assert originals.read_descent(attempt).generation == generation
    descent = originals.read_descent(attempts[2])
    assert descent.before == attempts[1]
    parts = [("removed", "Part 1 is done."), ("added", "Part 2 is done.")]
    assert descent.lines == [("same", "Same words."), *parts]
    page = page_of(browser, attempts[2])
    assert "Its beginning was summarised 2 times before." in page
    assert "Written from the originals (first summary)." in page_of(browser, attempts[0])
    assert "<ins>+ Part 2 is done.</ins>" in page
    assert "Against the summary before" not in page_of(browser, attempts[0])
    Condensation.objects.filter(pk=attempts[1].pk).change(strategy="from_originals")
    assert [originals.read_descent(one).generation for one in attempts] == [1, 1, 2]


def test_the_summary_of_a_part_is_a_generation_for_what_hides_it(
    conversation: Conversation, say: Say
) -> None:
    """It is in a marker, and is retold all the same."""
    hidden = [say("user", f"Question {number}") for number in range(3)][1]
    made = truncated(conversation, hidden, "## Conversation Summary\nA part.")
    part = put_on_record(conversation, message=made, at_seq=3, summary="A part.")
    whole = condensed(conversation, "All of it.")
    assert originals.read_descent(part).generation == 1
    descent = originals.read_descent(whole)
    assert (descent.generation, descent.before) == (2, part)


def test_a_truncation_has_no_generation(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """It hides without a summary, and says so; what came to nothing has a page all the same."""
    made = truncated(conversation, say("user", "Begin"), "Hidden.")
    attempt = put_on_record(conversation, message=made, at_seq=1, kind="truncated")
    page = page_of(browser, attempt)
    words = ("Nothing stands in place of the hidden messages.", "Begin", "Written from")
    assert [one in page for one in words] == [True, True, False]
    attempt = put_on_record(conversation, at_seq=0, status="failed")
    assert "What was hidden" not in page_of(browser, attempt)


def test_thousands_of_originals_come_a_page_at_a_time(conversation: Conversation, say: Say) -> None:
    """Each is on one page, and a result on that of its call."""
    say("user", "Begin")
    condensed(conversation, "Begun.")
    rows = [(condense.Message("user", f"Message {number} of many"), 5) for number in range(150)]
    call = condense.ToolUseBlock("a", "read_file", {"path": "a.py"})
    rows[28] = (condense.Message("assistant", (call,)), 5)
    rows[29] = (condense.Message("user", (condense.ToolResultBlock("a", "Text"),)), 5)
    append_many(conversation.pk, rows)
    large = condensed(conversation, "Much was said. " * 5_000)
    start, seen, left = None, [], 151
    while True:
        found = originals.read_originals(large, start)
        seen += [key for one in found.shown for key in one.keys]
        left -= sum(len(one.keys) for one in found.shown)
        assert found.left == left
        if found.later is None:
            break
        start = found.later
    assert len(seen) == len(set(seen)) == 151
    assert originals.read_originals(large, seen[60]).earlier == seen[30]
    (card,) = originals.read_originals(large, seen[30]).shown[0].calls
    assert (card.kind, card.state, originals.read_originals(large, seen[31]).earlier) == (
        "tool",
        "done",
        seen[1],
    )


def test_a_sentence_of_a_summary_leads_to_its_sources(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """And is marked where no message says it; the originals stand there whole."""
    asked = say("user", "Move the **billing** database (212 GB) to eu-west-1. " + "More. " * 900)
    say("assistant", "The nightly window is 40 minutes, from 02:10.")
    summary = "# Done\n\n- Move the billing database (212 GB).\n- The window is 41 minutes.\n- So:"
    attempt = condensed(conversation, summary)
    page, sourced = page_of(browser, attempt), page_of(browser, attempt, sources=1)
    record = reverse("condensation", args=[conversation.pk, attempt.pk])
    told = re.findall(
        r'(?s)<span class="sentence(.*?)" id="sentence-[\w-]+-(\d)">(.*?)</(?:li|p)>', sourced
    )
    assert 'hx-get="?sources=1"' in page
    chat = browser.get(reverse("chat", args=[conversation.pk])).text
    assert f'hx-get="{record}?sources=1" hx-trigger="intersect once"' in chat
    assert [(kind, number) for kind, number, _rest in told] == [("", "0"), (" is-unsupported", "1")]
    mark = f'<a class="source-mark" href="{record}?from={asked.pk}#original-{asked.pk}"'
    assert mark in told[0][2]
    assert "not in the originals" in told[1][2]
    assert f'id="original-{asked.pk}"' in page
    assert "<strong>billing</strong>" in page
    assert page.count("More. ") >= 899


def test_long_summaries_are_cut_before_they_are_compared(
    conversation: Conversation, say: Say
) -> None:
    """To compare what repeats itself takes a time that grows faster than its length."""
    say("user", "Begin")
    condensed(conversation, "a.\nb.\n" * 40_000)
    say("user", "Go on")
    descent = originals.read_descent(condensed(conversation, "b.\na.\nc.\n" * 40_000))
    assert descent.cut
    assert len(descent.lines) <= 2 * originals.MAX_SENTENCES


def test_a_sentence_that_is_cut_in_a_difference_says_so(
    conversation: Conversation, say: Say
) -> None:
    """Two that differ behind the cut would be the same otherwise."""
    for words in ("x" * originals.MAX_SENTENCE, "x" * originals.MAX_SENTENCE + " more."):
        say("user", "Go on")
        made = condensed(conversation, words)
    assert [line for _kind, line in originals.read_descent(made).lines] == [
        "x" * originals.MAX_SENTENCE, "x" * originals.MAX_SENTENCE + "…"
    ]  # fmt: skip


def test_what_models_write_is_text(conversation: Conversation, say: Say, browser: Client) -> None:
    """In originals, facts, summaries, what differs between them, refusals and words kept."""
    say("user", f"Never do {HOSTILE}")
    condensed(conversation, HOSTILE)
    said = say("assistant", HOSTILE)
    failed = {"status": "failed", "fell_back_to": "truncation", "at_seq": said.seq}
    put_on_record(conversation, **failed, error=f"No: {HOSTILE}", details=f"Why: {HOSTILE}")
    marker = truncated(conversation, said, f"{carryover.REQUEST}\n{HOSTILE}")
    kept = put_on_record(conversation, kind="truncated", message=marker, at_seq=said.seq)
    chat = browser.get(reverse("chat", args=[conversation.pk])).text
    assert all(f"{word}&lt;script" in chat for word in ("No: ", "Why: ", "<li>"))
    last = condensed(conversation, HOSTILE)
    sourced = page_of(browser, last, sources=1)
    assert "&lt;script&gt;" in sourced
    for page in (chat, page_of(browser, kept), page_of(browser, last), sourced):
        assert "<script>alert" not in page
        assert "<img src=x" not in page


def test_a_ledgers_files_are_those_that_were_edited_and_those_only_read(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """What stands once in the ledger stands once on the page."""
    text = '## Ledger\n### Files (* changed)\n- "new.py"*\n- "old.py"\n(end of ledger)'
    marker = truncated(conversation, say("user", "Begin"), text)
    kept = put_on_record(conversation, kind="truncated", message=marker, at_seq=1)
    facts = r'(?s)fact-kind">([^<]+)</h3>\s+<ul[^>]*><li>(.*?)</ul>'
    listed = re.findall(facts, page_of(browser, kept))
    assert listed == [("Edited files", "new.py</li>"), ("Files read", "old.py</li>")]


def test_a_receipt_may_name_any_source(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """What is no number of a message leads nowhere, and breaks nothing."""
    say("user", "Begin")
    other = conversations.start_conversation(owner=conversation.owner)
    foreign = message_store.append_message(other.pk, condense.Message("user", "Foreign"), tokens=1)
    for source in ("", "x", "9" * 5_000, "\u0663", "-1", str(foreign.pk)):
        lost = condense.Finding("names", "one fact", "one", source=source)
        receipt = condense.Receipt((lost,))
        attempt = condensed(conversation, "Well.", receipt=receipt)
        page = page_of(browser, attempt, **{"from": source})
        assert ("<b>one</b> fact" in page, "Foreign" in page) == (True, False)
        say("user", "Go on")


def test_what_is_long_in_a_row_is_fetched_when_somebody_looks_at_it(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """Lost facts can be restored as long as the model reads the summary, and no longer."""
    say("user", "Begin")
    receipt = condense.Receipt((condense.Finding("names", "one fact", "one"),))
    attempt = condensed(conversation, "Well.", receipt=receipt, prompt="Sum **this** up.")
    row = browser.get(reverse("chat", args=[conversation.pk])).text
    assert "<b>one</b>" not in row
    address = reverse("condensation", args=[conversation.pk, attempt.pk])
    assert all(f"{address}?panel={one}" in row for one in ("facts", "prompt"))
    facts, prompt = (browser.get(address, {"panel": one}).text for one in ("facts", "prompt"))
    assert ("<b>one</b> fact" in facts, "<strong>this</strong>" in prompt) == (True, True)
    assert ("can be restored" in facts, "Restore:" in facts) == (True, True)
    assert "<html" not in facts + prompt
    undo.undo_condensation(condensation=attempt)
    facts = browser.get(address, {"panel": "facts"}).text
    assert ("<b>one</b> fact" in facts, "estore" in facts) == (True, False)
    # A part that it lacks is none.
    assert "<html" in browser.get(address, {"panel": "folded"}).text
