"""What the model sees next, and saw in any call: in order, in parts, checked and compared."""

import hashlib
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp.agent.events import SentRequest
from chatapp.condensing.costs import CACHED_FOR
from chatapp.conversations import pins
from chatapp.conversations.context import sizes
from chatapp.models import (
    Condensation,
    Conversation,
    ModelCall,
    Profile,
    accounts,
    hidden_messages,
    message_store,
)
from chatapp.page.inspector.next_request import NextRequest, read_next_request
from chatapp.page.inspector.request_chart import draw_chart
from chatapp.page.inspector.sent_call import read_call
from chatapp.page.transcript.condensation_page import read_record
from chatapp.providers.anthropic.request import AnthropicRequestWriter
from chatapp.providers.openai.request import OpenAIRequestWriter as ChatWriter
from tests.chatapp.conftest import reduction_of
from tests.chatapp.queries import statements
from tests.chatapp.runs import bar_of
from tests.chatapp.storage.recorded_session import MODEL, Session, text
from tests.records import put_on_record

pytestmark = pytest.mark.django_db

SUMMARY = (
    f"## Conversation Summary\n{condense.load_prompt('summary_preface')}\n\nThe lexer is done.",
    "## Ledger ~\nCopied from hidden messages, newest first.\n~ errors\nlint ⇒ E501\n~ end",
    "<system-reminder>\n## File Context: a.py\n1--2 | def f()\n</system-reminder>",
    "<environment_details>\n# Current time\nnoon\n</environment_details>",
)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
Places = dict[str, list[object]]
FORMATS = {"anthropic": AnthropicRequestWriter, "openai": ChatWriter}


@pytest.fixture
def session(conversation: Conversation) -> Session:
    """A session without a message."""
    return Session(conversation)


def condense_all(session: Session, *, keep: int = 2) -> Condensation:
    """Hide all but the last messages behind a summary with all its parts; return the record."""
    conversation = session.conversation
    effective = message_store.read_effective(conversation.pk)
    hidden = tuple(message.id for message in effective[: len(effective) - keep])
    blocks = tuple(map(condense.TextBlock, SUMMARY))
    tags = condense.Tags(condense_id=condense.Message("user", "").id)
    made = condense.Message("user", blocks, tags=tags, tokens=200)
    row = hidden_messages.apply_reduction(conversation.pk, reduction_of(made, hidden))
    columns = {"message": row, "at_seq": row.seq - 1, "trigger": "auto", "tokens_after": 9_120}
    return put_on_record(
        conversation,
        **columns,
        messages_hidden=len(hidden),
        summary="The lexer is done.",
        prompt="Summarise the conversation.",
    )


def answered(session: Session, provider: str = "anthropic", **columns: Any) -> ModelCall:
    """Send what the model sees, and return the call on record."""
    session.send()
    call = ModelCall.objects.latest("pk")
    columns = {"tokens_input": 1_000, "provider": provider} | columns
    ModelCall.objects.filter(pk=call.pk).update(**columns)
    return ModelCall.objects.select_related("manifest").get(pk=call.pk)


def upcoming(conversation: Conversation) -> NextRequest:
    """Return the next request of a conversation as it is stored."""
    seen = read_next_request(Conversation.objects.get(pk=conversation.pk))
    assert seen is not None
    return seen


def kinds(cards: Any) -> list[str]:
    """Return what the cards are, in order."""
    return [card.kind for card in cards]


def with_head(sent: SentRequest, head: bytes) -> SentRequest:
    """Return the request with something else before its messages, and the hash of it."""
    body = b"".join((head, b",".join(sent.fragments), sent.tail))
    return replace(sent, head=head, body=body, digest=hashlib.sha256(body).digest())


def call_address(call: ModelCall, name: str = "call") -> str:
    """Return the address of a call's page."""
    return reverse(name, args=[call.conversation_id, call.pk])


def test_the_next_request_is_shown_in_the_order_in_which_it_is_sent(
    session: Session, browser: Client
) -> None:
    """System, tools, what the summary is made of, messages, the newest request; all of its size."""
    session.say("user", condense.TextBlock("Begin"))
    session.use_tool(1, "A long result. " * 20)
    condense_all(session)
    for role in ("user", "assistant", "user"):
        session.say(role, condense.TextBlock("And now the parser"))
    wishes = accounts.preferences_of(session.conversation.owner)
    wishes.adaptive, wishes.threshold = True, 20
    wishes.save()
    seen, bar = upcoming(session.conversation), bar_of(session.conversation)
    assert bar
    assert (str(seen.starts), bar.source) == (bar.reason, "Adapted")
    parts = ["summary", "ledger", "files", "environment", "messages", "newest"]
    assert kinds(seen.cards) == ["system", "tools", *parts]
    assert sum(card.tokens for card in seen.cards) == pytest.approx(seen.tokens, abs=8)
    page = browser.get(reverse("inspector", args=[session.conversation.pk])).text
    for words in ("System prompt", "Key facts", "Folded files", "Environment", "Newest request"):
        assert words in page
    assert "And now the parser" in page
    assert page.partition('aria-selected="true">')[2].startswith("Next request<")


def test_the_next_request_says_what_of_it_the_provider_should_have_in_its_cache(
    session: Session, browser: Client
) -> None:
    """What the last call read from there and wrote to it, for as long as that is kept."""
    session.say("user", condense.TextBlock("Begin"))
    session.use_tool(1, "A long result. " * 20)
    profile = Profile.objects.get(pk=session.conversation.profile_id)
    Profile.objects.filter(pk=profile.pk).update(provider="anthropic")
    figures = {"tokens_cache_read": 60, "tokens_cache_write": 40, "tokens_estimated": 100}
    call = ModelCall.objects.create(
        conversation=session.conversation, purpose="chat", model=profile.model, **figures
    )
    whole = Conversation.objects.filter(pk=session.conversation.pk)
    address = reverse("inspector", args=[session.conversation.pk])
    assert "provider's cache" not in unescape(browser.get(address).text)
    whole.update(measured_tokens=120, measured_seq=1)
    seen = upcoming(session.conversation)
    assert sum(card.cached or 0 for card in seen.cards) == pytest.approx(100, abs=8)
    assert "The first 100 should be in the provider's cache" in unescape(browser.get(address).text)
    ModelCall.objects.filter(pk=call.pk).update(created_at=timezone.now() - CACHED_FOR)
    assert "provider's cache" not in unescape(browser.get(address).text)


def test_a_call_names_only_the_records_whose_summaries_it_was_sent(
    session: Session, browser: Client
) -> None:
    """Not one that was made later; the next request names it too, and leads to it.

    Without a profile there is no next request, and the page says so.
    """
    for role in ("user", "assistant", "user"):
        session.say(role, condense.TextBlock("Go on"))
    before = answered(session)
    attempt = condense_all(session, keep=1)
    after = answered(session)
    assert read_call(before).hiders == ()
    assert [one.attempt.pk for one in read_call(after).hiders] == [attempt.pk]
    page = browser.get(reverse("inspector", args=[session.conversation.pk])).text
    assert "2 messages hidden" in page
    assert f"#condensation-{attempt.pk}" in page
    Conversation.objects.filter(pk=session.conversation.pk).update(profile=None)
    address = reverse("inspector", args=[session.conversation.pk])
    assert "This conversation has no profile." in browser.get(address).text


def test_a_rule_is_a_pin_and_not_what_the_model_works_on(session: Session) -> None:
    """In the next request and in past ones, also where it was sent together with a request."""
    for role in ("user", "assistant"):
        session.say(role, condense.TextBlock("Begin"))
    pins.pin_rule(conversation=session.conversation, text="Answer in one line.")
    seen = upcoming(session.conversation)
    assert kinds(seen.cards)[2:] == ["newest", "since", "pins"]
    session.say("user", condense.TextBlock("And now?"))
    past = read_call(answered(session))
    told = {card.kind: [one.text for one in card.pieces] for card in past.cards}
    assert told["newest"] == ["And now?"]
    assert told["pins"] == ["<pinned_rule>\nAnswer in one line.\n</pinned_rule>"]


@pytest.mark.parametrize("provider", FORMATS)
def test_a_past_request_is_read_in_the_same_parts_whatever_its_api(
    session: Session, provider: str
) -> None:
    """Each vendor's folder says how its requests are read; nobody else knows."""
    session.writer = FORMATS[provider](MODEL)
    session.say("user", condense.TextBlock("Begin"))
    session.use_tool(1, "A result. " * 20)
    attempt = condense_all(session)
    session.say("user", condense.TextBlock("And now the parser"))
    session.use_tool(2, "Another result. " * 20)
    past = read_call(answered(session, provider, tokens_cache_read=500))
    parts = ["summary", "ledger", "files", "environment", "messages", "newest", "since"]
    assert kinds(past.cards) == ["system", "tools", *parts]
    assert past.cards[0].pieces[0].text == "You are kind."
    assert [piece.name for piece in past.cards[1].pieces] == ["read_file"]
    assert past.cards[7].pieces[0].text == "And now the parser"
    assert sum(card.cached or 0 for card in past.cards) == pytest.approx(500, abs=8)
    assert [hider.attempt.pk for hider in past.hiders] == [attempt.pk]
    assert ("Errors", ["lint ⇒ E501"]) in [(p.label, p.items) for p in read_record(attempt).reads]
    assert past.seen is not None
    assert past.seen.matches


REPORTED = {
    "whole": ({}, True),
    "broken off": ({"usage_measured": False, "tokens_estimated": 900}, True),
    "stopped before its first word": ({"usage_measured": False, "tokens_estimated": 1_000}, False),
    "of a program, without usage": ({"usage_measured": False, "tokens_estimated": None}, False),
}


@pytest.mark.parametrize(("columns", "measured"), REPORTED.values(), ids=REPORTED)
def test_a_prompt_that_no_provider_measured_is_an_estimate(
    session: Session, browser: Client, columns: dict[str, Any], measured: bool
) -> None:
    """In a call, in the chart, and in the figures of a reply."""
    session.say("user", condense.TextBlock("Begin"))
    call = answered(session, **columns)
    past, chart = read_call(call), draw_chart(session.conversation)
    assert (past.tokens, past.measured) == (1_000, measured)
    assert chart
    assert chart.columns[0].measured is measured
    assert ("The provider measured the total." in browser.get(call_address(call)).text) is measured


@pytest.mark.parametrize("provider", FORMATS)
def test_what_was_recalled_is_a_card_of_its_own(session: Session, provider: str) -> None:
    """Each passage leads to its message and has its rank, which was not sent."""
    session.writer = FORMATS[provider](MODEL)
    found = [condense.Passage("", seq, f"Fact {seq}.", fit) for seq, fit in ((7, 0.9), (3, 0.5))]
    block = condense.recalled_block(found, counter=sizes.COUNTER, limit=500)
    assert block
    session.say("user", block, condense.TextBlock("And now?"))
    for cards in (
        upcoming(session.conversation).cards,
        read_call(answered(session, provider)).cards,
    ):
        assert kinds(cards)[2:] == ["recalled", "newest"]
        told = [(one.seq, one.name, one.text) for one in cards[2].pieces]
        assert told == [(3, "Rank 2", "Fact 3."), (7, "Rank 1", "Fact 7.")]
        assert cards[2].tokens > 2 * cards[3].tokens


@pytest.mark.parametrize("provider", FORMATS)
def test_only_what_the_engine_wrote_is_taken_apart_in_a_past_call(
    session: Session, provider: str
) -> None:
    """Whatever its API: a summary is stored as such, and the environment is a card of its own."""
    session.writer = FORMATS[provider](MODEL)
    beside = condense.TextBlock(SUMMARY[3], {condense.BESIDE: {"kind": "environment"}})
    session.say("user", *map(condense.TextBlock, SUMMARY[:2]), beside)
    assert kinds(upcoming(session.conversation).cards)[2:] == ["newest", "environment"]
    past = read_call(answered(session, provider))
    assert kinds(past.cards) == ["system", "tools", "newest", "environment"]
    assert past.hiders == ()


def test_a_request_that_is_lost_or_was_never_kept_is_no_error(
    session: Session, browser: Client
) -> None:
    """Imported conversations have none; one in a format of another day is there as its bytes."""
    call = ModelCall.objects.create(
        conversation=session.conversation, purpose="chat", profile_name="p", model="m"
    )
    assert "is not on record" in browser.get(call_address(call)).text
    assert browser.get(call_address(call, "call_request")).status_code == 404
    session.say("user", condense.TextBlock("Begin"))
    session.record(with_head(session.send(), b"strange<"))
    page = browser.get(call_address(ModelCall.objects.latest("pk"))).text
    assert "can't be told apart" in page
    assert "Matches its hash" in page


def test_a_call_is_compared_with_the_one_before(session: Session) -> None:
    """What came, what fell out, and where the two part."""
    session.say("user", condense.TextBlock("Begin"))
    answered(session)
    session.use_tool(1, "A result. " * 20)
    longer = read_call(answered(session))
    assert longer.comparison is not None
    assert longer.comparison.begins_the_same
    assert [message.role for message in longer.comparison.added] == ["assistant", "user"]
    assert longer.comparison.gone == []
    condense_all(session, keep=0)
    session.say("user", condense.TextBlock("Go on"))
    after = read_call(answered(session))
    assert after.comparison is not None
    assert (after.comparison.same, len(after.comparison.gone)) == (0, 3)
    assert "Already the first message differs" in after.comparison.prefix_words


def test_why_the_cache_was_missed_is_said(session: Session, browser: Client) -> None:
    """In the provider's words where it has some; else as the two requests show it."""
    session.say("user", condense.TextBlock("Begin"))
    answered(session, tokens_input=10, tokens_cache_write=990)
    session.say("assistant", condense.TextBlock("Yes"))
    session.say("user", condense.TextBlock("Go on"))
    told = answered(session, cache_miss="system_changed")
    assert "the system prompt changed" in browser.get(call_address(told)).text
    session.say("assistant", condense.TextBlock("Well"))
    session.say("user", condense.TextBlock("On and on"))
    expired = answered(session)
    ModelCall.objects.filter(pk=told.pk).update(tokens_cache_write=900)
    assert "had probably expired" in browser.get(call_address(expired)).text


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [(b"kind", b"rude", "ends in the system prompt"), (b"read_file", b"read_mail", "in the tools")],
)
def test_another_system_prompt_or_tool_is_another_beginning(
    session: Session, old: bytes, new: bytes, where: str
) -> None:
    """They stand before the messages, so nothing behind them is read from a cache."""
    session.say("user", condense.TextBlock("Begin"))
    answered(session)
    sent = session.send()
    session.record(with_head(sent, sent.head.replace(old, new)))
    call = ModelCall.objects.latest("pk")
    ModelCall.objects.filter(pk=call.pk).update(provider="anthropic")
    found = read_call(ModelCall.objects.get(pk=call.pk)).comparison
    assert found is not None
    assert (found.same, found.before, found.begins_the_same) == (1, 1, False)
    assert (found.system_changed, bool(found.tools)) == (old == b"kind", old == b"read_file")
    assert where in found.prefix_words


def test_what_people_and_models_write_is_text(session: Session, browser: Client) -> None:
    """On every page, in every part."""
    session.say("user", condense.TextBlock(HOSTILE))
    use = condense.ToolUseBlock("c1", HOSTILE, {"path": HOSTILE})
    session.say("assistant", condense.TextBlock(HOSTILE), use)
    session.say("user", condense.ToolResultBlock("c1", HOSTILE))
    answered(session)
    session.say("user", condense.TextBlock(f"{HOSTILE} again"))
    call = answered(session)
    attempt = condense_all(session)
    names: Places = {"inspector": [], "call": [call.pk], "condensation": [attempt.pk]}
    for name, more in names.items():
        page = browser.get(reverse(name, args=[session.conversation.pk, *more])).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page


def test_the_chart_marks_where_the_context_was_condensed(session: Session, browser: Client) -> None:
    """With a table that has the same figures, each leading to its call."""
    session.say("user", condense.TextBlock(text(300, 1)))
    first = answered(session)
    session.use_tool(1, text(300, 2))
    answered(session, tokens_input=2_000)
    condense_all(session, keep=0)
    session.say("assistant", condense.TextBlock("Well"))
    session.say("user", condense.TextBlock("Go on"))
    answered(session, tokens_input=400)
    chart = draw_chart(session.conversation)
    assert chart is not None
    assert [column.dropped for column in chart.columns] == [False, False, True]
    assert [column.tokens for column in chart.columns] == [1_000, 2_000, 400]
    assert all(one.x < one.middle < one.x + one.width for one in chart.columns)
    shares = {part.name: part.tokens for part in chart.columns[2].slices}
    assert shares["summary"] > shares["messages"] > 0
    assert chart.limit
    assert chart.limit_y == pytest.approx(chart.height * (1 - chart.limit.at / chart.most))
    session.conversation.named_window = 1_500
    narrowed = draw_chart(session.conversation)
    assert narrowed
    assert narrowed.limit
    assert narrowed.limit.window == 1_500
    page = browser.get(reverse("history", args=[session.conversation.pk])).text
    assert page.count("<tr>") == 4
    assert call_address(first) in page


def test_a_long_conversation_opens_with_as_few_statements_as_a_short_one(
    session: Session, browser: Client
) -> None:
    """The inspector, a call and a condensation."""
    counts = []
    for turns in (2, 6):
        for _ in range(turns):
            session.say("user", condense.TextBlock("A question"))
            call = answered(session)
            session.say("assistant", condense.TextBlock("An answer"))
        places: Places = {
            "inspector": [],
            "call": [call.pk],
            "condensation": [condense_all(session).pk],
        }
        for name, more in places.items():
            address = reverse(name, args=[session.conversation.pk, *more])
            browser.get(address)
            with statements() as sent:
                browser.get(address)
            counts.append(len(sent))
    assert all(many <= few + 2 for few, many in zip(counts[:3], counts[3:], strict=True))
