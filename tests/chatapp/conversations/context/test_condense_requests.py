"""A person condenses a range of messages, or one tool's output, and nothing else."""

import json
import uuid
from html import escape
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

import condense
from chatapp.condensing import undo
from chatapp.conversations.context.condense_requests import (
    NO_REQUEST,
    CondenseRequest,
    CondenseScope,
    find_ends,
    read_request,
)
from chatapp.models import Condensation, Conversation, Message, Turn, TurnRequest, message_store
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.rows import FailureRow
from chatapp.turns import lifecycle, turns_without_message
from tests.chatapp.claude import converse
from tests.chatapp.conftest import summarise
from tests.chatapp.scripted_turns import ask
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<summary>The middle was settled.</summary>"
LONG, OUTPUT = (" ".join(map(str, range(100, end))) for end in (400, 1_600))
HTMX = {"HX-Request": "true"}


def say(conversation: Conversation, role: condense.Role, *blocks: condense.Block) -> Message:
    """Append a message of about as many tokens as it has."""
    message = condense.Message(role, blocks)
    return message_store.append_message(conversation.pk, message, tokens=2_000)


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin) -> Conversation:
    """Two exchanges, a tool's long output and its answer, and one more exchange."""
    conversation = converse(alice, anthropic_standin)
    for number in range(2):
        say(conversation, "user", condense.TextBlock(f"Question {number}. {LONG}"))
        say(conversation, "assistant", condense.TextBlock(f"Answer {number}. {LONG}"))
    say(conversation, "user", condense.TextBlock("Read it."))
    call = condense.ToolUseBlock("call_1", "read_file", {"path": "a.txt"})
    say(conversation, "assistant", call)
    say(conversation, "user", condense.ToolResultBlock("call_1", OUTPUT))
    say(conversation, "assistant", condense.TextBlock("I have read it."))
    return conversation


async def start(conversation: Conversation, user: User, **scope: Any) -> None:
    """Ask for a condensation of this scope, and wait for its end."""
    async with open_page(conversation, user) as page:
        await page.send("condense.start", **scope)
        await page.until_idle()


@sync_to_async
def visible(conversation: Conversation) -> list[tuple[int, str]]:
    """Return number and beginning of what the model sees."""
    return [
        (one.seq, str(one.to_api()["content"]))
        for one in message_store.read_effective(conversation.pk)
    ]


async def test_a_chosen_range_is_condensed_undone_and_redone(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """What stands around it stays as it is, and the chain tells of it as of any other."""
    before = await visible(conversation)
    anthropic_standin.then(Reply(SUMMARY))
    await start(conversation, alice, first=3, last=4)
    attempt = await Condensation.objects.select_related("conversation").aget()
    assert (attempt.status, attempt.kind) == ("succeeded", "condensed")
    assert (attempt.strategy, attempt.messages_hidden) == ("chosen_messages", 2)
    seen = await visible(conversation)
    assert [seq for seq, _text in seen] == [1, 2, 9, 5, 6, 7, 8]
    assert "The middle was settled." in seen[2][1]
    asked = str(anthropic_standin.requests[-1].raw)
    assert "Question 1" in asked
    assert "Question 0" not in asked
    assert "I have read it" not in asked
    await sync_to_async(undo.undo_condensation)(condensation=attempt)
    assert await visible(conversation) == before
    await sync_to_async(undo.redo_condensation)(condensation=attempt)
    assert await visible(conversation) == seen


async def test_a_summary_is_read_in_place_of_one_output(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """The call, its message and the stored output stay; people read it as before."""
    anthropic_standin.then(Reply("<summary>1,500 numbers in a row.</summary>"))
    await start(conversation, alice, first=6, call="call_1")
    attempt = await Condensation.objects.aget()
    assert (attempt.kind, attempt.results_hidden) == ("cleared", 1)
    seen = dict(await visible(conversation))
    assert "1,500 numbers in a row." in seen[7]
    assert OUTPUT not in seen[7]
    stored = await Message.objects.aget(conversation=conversation, seq=7)
    assert OUTPUT in str(stored.content)
    page = await sync_to_async(shown)(alice, conversation)
    assert "Condensed; the model sees a summary instead of this output." in page
    assert OUTPUT[:500] in page
    asked = str(anthropic_standin.requests[-1].raw)
    assert "Answer 1" not in asked


def shown(user: User, conversation: Conversation) -> str:
    """Return the page."""
    browser = Client()
    browser.force_login(user)
    return browser.get(reverse("chat", args=[conversation.pk])).text


@pytest.mark.parametrize(
    ("scope", "reason"),
    [
        ({"first": 3, "last": 6}, "split a tool call from its result"),
        ({"first": 7, "last": 8}, "does not see this message any more"),
        ({"first": 6, "call": "call_9"}, "does not see this output any more"),
    ],
)
async def test_a_scope_that_cannot_be_is_refused_with_the_reason(
    scope: dict[str, Any], reason: str, page: Page
) -> None:
    """Before anything is asked of a model; the page stays as it was."""
    await page.send("condense.start", **scope)
    refused = await page.until("refused")
    assert reason in str(refused)
    assert not await Condensation.objects.aexists()


@pytest.mark.parametrize("scope", [{"first": "3"}, {"first": 1}, {"last": 2}])
async def test_half_a_scope_is_no_command(scope: dict[str, Any], page: Page) -> None:
    """It must not become a condensation of everything."""
    await page.send("condense.start", nonce=str(uuid.uuid4()), **scope)
    await page.send("ping")
    await page.until("pong")
    assert not await Condensation.objects.aexists()


def test_the_dialog_offers_ends_that_part_nothing(
    conversation: Conversation, alice: User, browser: Client, bob: User
) -> None:
    """The one before the next question is chosen; nobody else sees any of it.

    It is opened from a message's actions, and long output has a button, while the model sees them.
    """
    address = reverse("range", args=[conversation.pk, 3])
    page = shown(alice, conversation)
    assert 'data-condense-call="call_1" data-of="6"' in page
    assert address in page
    dialog = browser.get(address, headers=HTMX).text
    assert [seq for seq in range(1, 9) if f'<option value="{seq}"' in dialog] == [3, 4, 5, 7, 8]
    assert '<option value="4" selected ' in dialog
    assert "1 message · ≈ 2,000 → ≈ 250 tokens" in dialog
    ends = find_ends(message_store.read_effective(conversation.pk), 3)
    assert [(one.messages, one.tokens) for one in ends] == [(n, 2_000 * n) for n in (1, 2, 3, 5, 6)]
    summarise(conversation)
    page = shown(alice, conversation)
    assert "data-condense-call" not in page
    assert address not in page
    answer = browser.get(address, headers=HTMX)
    assert (answer.status_code, "does not see" in answer.text) == (422, True)
    stranger = Client()
    stranger.force_login(bob)
    assert stranger.get(address).status_code == 404


async def test_a_summary_is_written_again_from_all_originals(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """Through the one that it went on from; undo brings back the one that stood there."""
    for text in ("The first summary.", "The second summary."):
        anthropic_standin.then(Reply(f"<summary>{text}</summary>"))
        await start(conversation, alice)
        await sync_to_async(say)(conversation, "user", condense.TextBlock(f"After it. {text}"))
        await sync_to_async(say)(conversation, "assistant", condense.TextBlock("I see."))
    before = await visible(conversation)
    assert "The second summary." in before[0][1]
    page = await sync_to_async(shown)(alice, conversation)
    assert f'data-condense-again="{before[0][0]}"' in page
    anthropic_standin.then(Reply("<summary>The whole, anew.</summary>"))
    await start(conversation, alice, first=before[0][0], again=True)
    seen = await visible(conversation)
    assert "The whole, anew." in seen[0][1]
    assert [seq for seq, _ in seen[1:]] == [seq for seq, _ in before[1:]]
    asked = str(anthropic_standin.requests[-1].raw)
    assert all(text in asked for text in ("Question 0", "Answer 1", "After it. The first summary."))
    assert "<summary>The first summary." not in asked
    attempts = Condensation.objects.select_related("conversation").order_by("-started_at")
    attempt = await attempts.afirst()
    assert attempt
    assert (attempt.strategy, attempt.condensations_hidden) == ("from_originals", 1)
    await sync_to_async(undo.undo_condensation)(condensation=attempt)
    assert await visible(conversation) == before


@pytest.mark.parametrize("scope", [{"first": 3, "last": 4}, {"first": 6, "call": "call_1"}])
async def test_a_part_that_could_not_be_condensed_can_be_tried_again_from_its_row(
    conversation: Conversation, alice: User, anthropic_standin: Standin, scope: dict[str, Any]
) -> None:
    """The row says what it was of, as the page asks for it."""
    anthropic_standin.then(*[Reply("")] * 9)
    await start(conversation, alice, **scope)
    page = await sync_to_async(row_pages.page)(conversation)
    *_, failed = (row for row in page.rows if isinstance(row, FailureRow))
    assert failed.repeatable
    assert json.loads(failed.scope) == scope
    shown_page = await sync_to_async(shown)(alice, conversation)
    assert f'data-scope="{escape(failed.scope)}"' in shown_page


SCOPES = (
    st.none()
    | st.builds(CondenseScope, st.integers(1), st.integers(1))
    | st.builds(CondenseScope, st.integers(1), call=st.text(min_size=1))
    | st.builds(CondenseScope, st.integers(1), again=st.just(True))
)


@given(made=st.builds(CondenseRequest, st.uuids(), st.text(), st.booleans(), SCOPES, st.booleans()))
def test_a_request_to_condense_is_read_as_it_was_stored(made: CondenseRequest) -> None:
    """Whatever is to be condensed, and how."""
    assert CondenseRequest.from_json(made.nonce, made.to_json()) == made


def test_only_a_condensation_was_opened_for_a_request(conversation: Conversation) -> None:
    """A turn that answers may be asked by the same nonce; nothing is known of older ones."""
    turn = ask(conversation)
    asked = {"nonce": turn.nonce, "details": CondenseRequest(turn.nonce).to_json()}
    TurnRequest.objects.ask("condense", conversation_id=conversation.pk, **asked)
    assert read_request(turn) is NO_REQUEST
    lifecycle.finish_turn(turn=turn, status=Turn.Status.STOPPED)
    older = turns_without_message.open_condensing(conversation=conversation, nonce=uuid.uuid4())
    assert older
    assert read_request(older) is NO_REQUEST
