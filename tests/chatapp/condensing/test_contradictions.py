"""A model compares summaries with the facts, where settings or profile have it; on record."""

import json
from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from chatapp.models import Condensation, Conversation, ModelCall, Preferences, Profile, accounts
from tests.chatapp.audited import problems
from tests.chatapp.claude import answered_by, converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.condensing.review_steps import answer, until_shown
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import Page, open_page
from tests.chatapp.web.api.programs import bearer
from tests.standin.behaviours import UNAUTHORIZED, Behaviour, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

WRONG = Reply("<summary>The shop listens on port 9090.</summary>")
FOUND = Reply(json.dumps({"contradictions": [{"summary": "port 9090", "fact": "port 8080"}]}))
REASON = "The summary says “port 9090”, the facts say “port 8080”"


@pytest.fixture
def conversation(alice: User, standin: Standin) -> Conversation:
    """A long conversation that names a port, whose summaries no rule checks."""
    conversation = converse(alice, standin)
    accounts.preferences_of(alice)
    Preferences.objects.update(check_summaries=False)
    end(ask(conversation, "The shop must listen on port 8080."), "It does.")
    return talk_long(conversation)


async def test_a_summary_that_contradicts_the_facts_is_refused_at_every_door(
    conversation: Conversation, alice: User, standin: Standin, browser: Client, page: Page
) -> None:
    """The profile has it checked; its calls are calls of the try, with a purpose of their own."""
    writer = await sync_to_async(answered_by)(alice, "anthropic", "claude-opus-5", standin.url)
    await Profile.objects.exclude(pk=writer.pk).aupdate(
        find_contradictions=True, summaries_by=writer
    )
    standin.then(WRONG, FOUND, WRONG, FOUND)
    await page.send("condense.start", review=True)
    review = await until_shown(page)
    assert REASON in str(page.frames)
    await answer(browser, review, "accept", summary=review.shown)
    await page.until_idle()
    whole = await Condensation.objects.aget(made_for=None)
    refused = await Condensation.objects.aget(made_for=whole)
    calls = [one async for one in refused.calls.order_by("pk")]
    assert [one.purpose for one in calls] == ["summary", "check"] * 2
    assert {one.profile_name for one in calls} == {writer.name}
    spent = sum([one.cost or 0 for one in calls], Decimal(0))
    assert (whole.whole_cost, refused.cost) == (spent, spent)
    assert calls[1].cost
    read, chat = sync_to_async(browser.get), f"/c/{conversation.pk}/"
    copies = (f"{chat}export/html/", f"{chat}export/markdown/")
    record = f"{chat}condensations/{whole.pk}/"
    for address in ("/condensations/", "/condensations/?as=csv", chat, record, *copies):
        text = (await read(address)).text
        assert REASON in text
        # Pages round it, the table for programs does not.
        assert f"{spent:.6f}"[:5] in text
    assert (await read(record)).text.count("· check of a summary") == 2
    told = await read(f"{chat}calls/{calls[1].pk}/")
    assert "Asked to check a summary" in told.text
    program = await sync_to_async(bearer)(alice)
    address = f"/api/conversations/{conversation.pk}/calls"
    listed = (await sync_to_async(Client().get)(address, headers=program)).json()["items"]
    assert [one["purpose"] for one in listed].count("check") == 2
    assert await sync_to_async(problems)(conversation) == []


@pytest.mark.parametrize(
    ("answered", "noted"),
    [
        (Reply("I see none."), "contradictions: The check's answer could not be read"),
        (Reply(stop_reason="refusal"), "contradictions: The check"),
        (UNAUTHORIZED, "contradictions: The check failed: "),
        (Reply('{"contradictions": []}'), "Checks passed: no contradictions"),
        (None, "contradictions: The check failed: "),
    ],
)
async def test_a_check_without_an_answer_is_noted(
    standin: Standin, answered: Behaviour | None, noted: str, page: Page
) -> None:
    """The summary applies, also where the budget ends before the check."""
    await Preferences.objects.aupdate(find_contradictions=True)
    standin.then(WRONG, *([answered] * 9 if answered else ()))
    if answered is None:
        await Conversation.objects.aupdate(budget=Decimal("0.01"))
    await page.send("condense.start")
    await page.until_idle()
    made = await Condensation.objects.aget()
    assert (made.status, made.summary) == ("succeeded", "The shop listens on port 9090.")
    assert noted in " ".join(made.notes)
    checks = await ModelCall.objects.filter(purpose="check", condensation=made).acount()
    assert (checks == 0) is (answered is None)


async def test_a_profile_may_go_without_the_check(
    conversation: Conversation, alice: User, standin: Standin, browser: Client
) -> None:
    """Its form has three answers; the program's interface takes them too."""
    await Preferences.objects.aupdate(find_contradictions=True)
    profile, program = (
        await Profile.objects.aget(model__startswith="claude"),
        await sync_to_async(bearer)(alice, "all"),
    )
    address = f"/profiles/{profile.pk}/"
    page = (await sync_to_async(browser.get)(address)).text
    assert '<option value="unknown" selected>As in Settings</option>' in page
    change = sync_to_async(Client().patch)
    sent = {"data": '{"find_contradictions": false}', "content_type": "application/json"}
    answered = await change(f"/api/profiles/{profile.pk}", **sent, headers=program)
    assert answered.json()["find_contradictions"] is False
    page = (await sync_to_async(browser.get)(address)).text
    assert '<option value="false" selected>No</option>' in page
    standin.then(WRONG)
    async with open_page(conversation, alice) as chat:
        await chat.send("condense.start")
        await chat.until_idle()
    assert [one.purpose async for one in ModelCall.objects.all()] == ["summary"]
