"""What programs do to steer a context: review a summary, pin, fork, undo below, set a budget."""

from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from pytest_django import Settings

from chatapp.conversations import conversations
from chatapp.models import Condensation, Conversation, Review
from tests.chatapp.audited import condense_on_record, entries, talk
from tests.chatapp.condensing.review_steps import until_shown
from tests.chatapp.scripted_turns import ask, end, seen
from tests.chatapp.sockets import Page
from tests.chatapp.web.api.programs import LONG, Manager, Sender, act
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

SUMMARY = "<analysis>Short.</analysis><summary>The port is 8123.</summary>"


@pytest.fixture
def _short_summaries(settings: Settings, conversation: Conversation) -> None:
    """Have something to condense, and let a summary of one sentence pass."""
    settings.CONDENSE_DEFAULT_HOOKS = False
    for text in ("The first answer.", "The second answer."):
        end(ask(conversation, LONG), text)
    conversation.messages.filter(role="user").update(tokens=3_750)


@pytest.mark.usefixtures("_short_summaries")
@pytest.mark.django_db(transaction=True)
async def test_a_summary_is_written_again_changed_and_accepted(
    sender: Sender, conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """As on the page: each word counts once, and the record says whose it was."""
    again = "<summary>The port is 8124.</summary>"
    anthropic_standin.then(Reply(SUMMARY), Reply(again))
    await act(sender, "condense", review=True)
    await until_shown(page)
    [shown] = (await act(sender, "reviews", "GET")).json()
    assert (shown["shown"], shown["status"]) == ("The port is 8123.", "pending")
    place = f"reviews/{shown['id']}/answer"
    assert (await act(sender, place, decision="maybe")).status_code == 422
    assert (await act(sender, place, decision="accept", summary=" ")).status_code == 409
    answer = await act(sender, place, decision="again", focus="The port.")
    assert (answer.json()["status"], answer.json()["focus"]) == ("again", "The port.")
    await until_shown(page)
    [second] = (await act(sender, "reviews", "GET")).json()
    assert (second["ordinal"], second["shown"]) == (2, "The port is 8124.")
    place = f"reviews/{second['id']}/answer"
    for _twice in range(2):
        answer = await act(sender, place, decision="accept", summary="Port 8125, I say.")
        assert answer.json()["status"] == "edited"
    assert (await act(sender, place, decision="discard")).status_code == 409
    await page.until_idle()
    assert "Port 8125, I say." in "".join(await sync_to_async(seen)(conversation))
    review = await Review.objects.aget(pk=second["id"])
    assert (review.text, review.answered_by_id) == ("Port 8125, I say.", alice.pk)
    assert (await act(sender, "reviews", "GET")).json() == []


@pytest.mark.usefixtures("_short_summaries")
@pytest.mark.django_db(transaction=True)
async def test_a_summary_is_taken_as_it_is(
    sender: Sender, anthropic_standin: Standin, page: Page
) -> None:
    """Without a summary of one's own, the one that was shown is meant."""
    anthropic_standin.then(Reply(SUMMARY))
    await act(sender, "condense", review=True)
    review = await until_shown(page)
    answer = await act(sender, f"reviews/{review.pk}/answer", decision="accept")
    assert answer.json()["status"] == "accepted"
    await page.until_idle()
    assert (await Condensation.objects.aget()).status == "succeeded"


def place_of(conversation: Conversation, path: str = "") -> str:
    """Return an address in a conversation."""
    return f"/api/conversations/{conversation.pk}{path}"


def test_messages_passages_and_rules_are_pinned_and_listed(
    manager: Manager, conversation: Conversation
) -> None:
    """Each once, however often it is asked for; what is neither is refused."""
    talk(conversation, "Where is north?", "Up, always up.")
    pins = place_of(conversation, "/pins")
    wanted: list[dict[str, Any]] = [
        {"seq": 1},
        {"seq": 2, "selected": "always up"},
        {"rule": "Answer briefly.\ud800"},
    ]
    for one in wanted * 2:
        answer = manager.client.post(pins, one, "application/json")
        assert answer.status_code == 200, answer.text
    listed = manager.client.get(pins).json()
    assert listed == answer.json()
    said = [(one["seq"], one["text"]) for one in listed["pins"]]
    assert said == [(1, "Where is north?"), (3, "always up"), (4, "Answer briefly.\ufffd")]
    assert 0 < listed["tokens"] == sum(one["tokens"] for one in listed["pins"]) < listed["most"]
    for wrong in ({}, {"rule": "x", "seq": 1}, {"selected": "x"}, {"seq": 0}):
        assert manager.client.post(pins, wrong, "application/json").status_code == 422
    for refused in ({"seq": 99}, {"rule": " "}, {"seq": 2, "selected": "never down"}):
        assert manager.client.post(pins, refused, "application/json").status_code == 409
    for _twice in range(2):
        assert manager.client.delete(f"{pins}/1").status_code == 204
    assert [one["seq"] for one in manager.client.get(pins).json()["pins"]] == [3, 4]
    told = [entry.kind for entry in entries(conversation)]
    assert told.count("pin") == 4


def test_a_conversation_is_forked(manager: Manager, conversation: Conversation) -> None:
    """At a message, into one of its own."""
    talk(conversation, "Where is north?", "Up.", "And south?", "Down.")
    answer = manager.client.post(place_of(conversation, "/messages/2/fork"))
    assert (answer.status_code, answer.json()["last_seq"]) == (201, 2)
    fork = Conversation.objects.get(pk=answer.json()["id"])
    assert seen(fork) == ["Where is north?", "Up."]
    refused = manager.client.post(place_of(conversation, "/messages/99/fork"))
    assert (refused.status_code, "no such message" in refused.text) == (409, True)


def test_a_condensation_is_undone_with_the_later_ones(
    manager: Manager, conversation: Conversation
) -> None:
    """What it comes to is said before; without the number it is refused as ever."""
    talk(conversation, "Where is north?", "Up.")
    first = condense_on_record(conversation)
    talk(conversation, "And south?", "Down.")
    condense_on_record(conversation)
    undo = place_of(conversation, f"/condensations/{first.pk}/undo")
    before = seen(conversation)
    assert manager.client.post(undo).status_code == 409
    preview = manager.client.get(undo).json()
    assert preview["later"] == 1
    assert 0 < preview["tokens"] < preview["allowed"]
    assert seen(conversation) == before
    for _twice in range(2):
        answer = manager.client.post(f"{undo}?later=1")
        assert answer.json()["status"] == "undone"
    assert seen(conversation) == ["Where is north?", "Up.", "And south?", "Down."]
    redo = manager.client.post(place_of(conversation, f"/condensations/{first.pk}/redo"))
    assert redo.json()["status"] == "succeeded"
    assert seen(conversation) == before


def test_what_holds_in_a_conversation_is_set_by_who_may_change_settings(
    manager: Manager, conversation: Conversation, alice: User
) -> None:
    """What limits a program is not its own to raise."""
    place = f"conversations/{conversation.pk}"
    for budget in ("2.50", None):
        assert manager.patch(place, budget=budget).json()["budget"] == budget
    assert manager.patch(place, budget="3").json()["budget"] == "3.00"
    assert manager.patch(place).json()["budget"] == "3.00"
    for nonsense in ("0", "-1", "NaN", "1e30", "x"):
        answer = manager.patch(place, budget=nonsense)
        assert (answer.status_code, "budget" in answer.json()["detail"]) == (422, True)
    assert Manager(alice, "write").patch(place, budget="9").status_code == 403
    for recalls in (True, False, None):
        told = manager.patch(place, auto_recall=recalls).json()
        assert (told["auto_recall"], told["budget"]) == (recalls, "3.00")
    assert Conversation.objects.get(pk=conversation.pk).budget == 3


def test_a_change_of_one_setting_leaves_those_made_meanwhile(conversation: Conversation) -> None:
    """Such as a tool that somebody allows while a program changes the budget."""
    now = Conversation.objects.get(pk=conversation.pk)
    conversations.change_settings(conversation=now, tool_policies={"run_command": "allow"})
    conversations.change_settings(conversation=conversation, budget=Decimal(3))
    now.refresh_from_db()
    assert (now.tool_policies, now.budget) == ({"run_command": "allow"}, 3)


def test_a_review_that_nobody_waits_for_is_not_answered(
    manager: Manager, conversation: Conversation
) -> None:
    """As when the condensation was stopped."""
    talk(conversation, "Where is north?", "Up.")
    review = Review.objects.create(condensation=condense_on_record(conversation), ordinal=1)
    place = place_of(conversation, f"/reviews/{review.pk}/answer")
    answer = manager.client.post(place, {"decision": "accept"}, "application/json")
    assert (answer.status_code, "Nobody waits" in answer.text) == (409, True)
