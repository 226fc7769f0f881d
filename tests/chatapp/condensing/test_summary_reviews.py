"""A person looks at a summary before it applies: it waits for them, and their word counts."""

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from chatapp.agent.errors import TurnEndedElsewhere
from chatapp.agent.ports import Nobody
from chatapp.condensing import summary_reviews
from chatapp.condensing.summary_reviews import SummaryReviewer
from chatapp.conversations.toolbox import toolbox
from chatapp.models import (
    Condensation,
    Conversation,
    ModelCall,
    Preferences,
    Profile,
    Review,
    Turn,
    accounts,
    message_store,
)
from chatapp.page.transcript import condensation_page
from chatapp.turns.running_turns import running_turns
from tests.chatapp.audited import problems, raw
from tests.chatapp.claude import converse
from tests.chatapp.condensing.conftest import LONG, talk_long
from tests.chatapp.condensing.review_steps import answer, until_shown
from tests.chatapp.runs import all_ended, journal_of, run_in
from tests.chatapp.sockets import PATIENCE, Page, connect, open_page
from tests.chatapp.turns.approval_steps import restart
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("short_summaries"),
]

FIRST = "<analysis>Short.</analysis><summary>The port is 8123.</summary>"
SECOND = "<summary>The port is 8124, said the user.</summary>"
Status = Review.Status


@pytest.fixture
def conversation(alice: User, standin: Standin) -> Conversation:
    """A conversation with two answers, long enough to be condensed."""
    return talk_long(converse(alice, standin))


async def begin(page: Page, standin: Standin, *summaries: str, **fields: Any) -> Review:
    """Condense by hand, to be reviewed; return the review that waits."""
    standin.then(*map(Reply, summaries))
    await page.send("condense.start", review=True, **fields)
    return await until_shown(page)


async def go_on(page: Page, standin: Standin) -> Review:
    """Say something that is due for a condensation; return the review that its turn waits for."""
    standin.then(Reply(FIRST), Reply("Done."))
    await page.say("Go on.")
    return await until_shown(page)


async def attempt_of(conversation: Conversation) -> Condensation:
    """Return the only attempt."""
    attempts = Condensation.objects.select_related("message", "conversation")
    return await attempts.aget(conversation=conversation)


def seen(conversation: Conversation) -> str:
    """Return all that the model sees."""
    return "\n".join(message.text for message in message_store.read_effective(conversation.pk))


async def test_a_summary_waits_on_every_page_and_nothing_is_applied_before(
    conversation: Conversation, alice: User, standin: Standin, browser: Client
) -> None:
    """With what it would come to; what is accepted is applied as it was shown."""
    async with open_page(conversation, alice) as page, open_page(conversation, alice) as other:
        before = await sync_to_async(seen)(conversation)
        review = await begin(page, standin, FIRST)
        await other.until("status.changed", waits=True)
        shown = (await other.until("panel.changed"))["condensing"]
        assert all(name in shown for name in ("Review before it is applied", "The port is 8123."))
        assert all(name in shown for name in ("Accept", "Discard", "Write again", "must be kept"))
        assert "tokens" in shown
        assert (await Turn.objects.alatest("started_at")).status == Turn.Status.WAITING
        assert await sync_to_async(seen)(conversation) == before
        assert (await answer(browser, review, "accept", summary=review.shown)).status_code == 204
        await page.until_idle()
        await other.until_idle()
    attempt = await attempt_of(conversation)
    assert (attempt.status, attempt.summary) == ("succeeded", "The port is 8123.")
    await review.arefresh_from_db()
    assert (review.status, review.answered_by_id) == (Status.ACCEPTED, alice.pk)


async def test_a_page_that_opens_later_shows_the_summary_that_waits(
    conversation: Conversation, alice: User, standin: Standin, browser: Client
) -> None:
    """And stopping the turn withdraws it; nobody's words are lost because a key was pressed."""
    async with open_page(conversation, alice) as page:
        asked = await begin(page, standin, FIRST)
        async with open_page(conversation, alice) as late:
            snapshot = late.frames[-1]
            assert snapshot["waits"]
            assert "The port is 8123." in snapshot["panel"]["condensing"]
        await answer(browser, asked, "", "figures/", summary="Own words, half")
        await page.send("turn.stop")
        await page.until_idle()
    assert (await attempt_of(conversation)).status == "cancelled"
    review = await Review.objects.aget()
    assert (review.status, review.answered_by_id) == (Status.WITHDRAWN, None)
    assert review.answered_at is not None
    address = f"/c/{conversation.pk}/condensations/{review.condensation_id}/"
    assert "Own words, half</pre>" in (await sync_to_async(browser.get)(address)).text


async def test_sentences_without_a_source_are_marked_before_the_summary_applies(
    conversation: Conversation, standin: Standin, browser: Client, page: Page
) -> None:
    """As the record marks them later; also in a person's own words, and the page asks for it."""
    mark = '<span class="unsupported">not in the originals</span>'
    said = "They gave the number 4711 first. Then they gave the number 4712."
    read = sync_to_async(browser.get)
    review = await begin(page, standin, f"<summary>{said}</summary>")
    path = f"/c/{conversation.pk}/reviews/{review.pk}/figures/"
    assert f'hx-get="{path}"' in str(page.frames)
    marked = (await read(path)).text
    assert marked.count(mark) == 2
    assert "source-mark" not in marked
    own = "Then they gave the number 4712."
    held = await answer(browser, review, "", "figures/", summary=own, edit="on")
    assert f'hx-get="{path}"' in held.text
    marked = (await read(path)).text
    assert (marked.count(mark), "4711" in marked) == (1, False)
    await answer(browser, review, "accept", summary=own)
    await page.until_idle()
    record = f"/c/{conversation.pk}/condensations/{review.condensation_id}/?sources=1"
    assert (await read(record)).text.count(mark) == 1
    assert (await read(path)).status_code == 204


async def test_a_persons_words_apply_and_are_on_record_as_theirs(
    conversation: Conversation, alice: User, standin: Standin, browser: Client, page: Page
) -> None:
    """Who, when, and what they changed; the chain tells of it, and holds."""
    own = "The port is 9000.\r\nTabs, not spaces."
    review = await begin(page, standin, FIRST)
    assert (await answer(browser, review, "accept", summary=own)).status_code == 204
    await page.until_idle()
    attempt = await attempt_of(conversation)
    assert attempt.summary == "The port is 9000.\nTabs, not spaces."
    text = await sync_to_async(seen)(conversation)
    assert "Tabs, not spaces." in text
    assert "8123" not in text
    (line,) = await sync_to_async(condensation_page.review_lines)(attempt)
    assert (line.who, line.review.shown) == (alice.username, "The port is 8123.")
    assert ("removed", "The port is 8123.") in line.lines
    assert ("added", "Tabs, not spaces.") in line.lines
    shown = await sync_to_async(browser.get)(f"/c/{conversation.pk}/condensations/{attempt.pk}/")
    assert "changed and accepted" in shown.content.decode()
    assert not await sync_to_async(problems)(conversation)
    entries = [one.kind async for one in conversation.audit_entries.all()]
    assert entries.count("review") == 2
    await raw(Review).filter(pk=review.pk).aupdate(status=Status.ACCEPTED, text="")
    assert len(await sync_to_async(problems)(conversation)) == 2
    own_text = {"status": Status.EDITED, "text": attempt.summary}
    await raw(Review).filter(pk=review.pk).aupdate(**own_text)


async def test_it_is_written_again_with_a_focus_and_both_drafts_are_paid_and_kept(
    conversation: Conversation, standin: Standin, browser: Client, page: Page
) -> None:
    """The second request asks for it; the record has both drafts and both calls."""
    first = await begin(page, standin, FIRST, SECOND)
    long = await answer(browser, first, "again", focus="x" * 2_001)
    assert (long.status_code, b"up to 2,000 characters" in long.content) == (422, True)
    sent = await answer(browser, first, "again", focus="the port number")
    assert sent.status_code == 204
    second = await until_shown(page)
    assert (second.ordinal, second.shown) == (2, "The port is 8124, said the user.")
    await answer(browser, second, "accept", summary=second.shown)
    await page.until_idle()
    assert "the port number" in str(standin.requests[-1].body["messages"][-1])
    attempt = await attempt_of(conversation)
    assert (attempt.summary, attempt.focus) == (second.shown, "the port number")
    calls = [call async for call in ModelCall.objects.filter(condensation=attempt)]
    assert len(calls) == 2
    assert attempt.cost == sum(call.cost or 0 for call in calls)
    lines = await sync_to_async(condensation_page.review_lines)(attempt)
    assert [line.review.status for line in lines] == [Status.AGAIN, Status.ACCEPTED]
    assert not await sync_to_async(problems)(conversation)


async def test_an_answer_in_time_is_not_overtaken_by_the_time_out(
    conversation: Conversation, standin: Standin, browser: Client, page: Page
) -> None:
    """Whatever clock strikes at that very moment."""
    review = await begin(page, standin, FIRST)
    turn = await Turn.objects.aget(condensations=review.condensation)
    await answer(browser, review, "discard")
    own = Review.objects.filter(pk=review.pk)
    await sync_to_async(own.change)(applies_at=review.shown_at)
    run = await sync_to_async(run_in)(conversation, turn)
    reviewer = SummaryReviewer(journal_of(run, Nobody()))
    # The turn may be over by now.
    with contextlib.suppress(TurnEndedElsewhere):
        await sync_to_async(reviewer._expire)(review)
    await page.until_idle()
    assert (await Review.objects.aget()).status == Status.DISCARDED


async def test_a_summary_that_would_not_help_is_refused_and_waits_on(
    conversation: Conversation, standin: Standin, browser: Client, page: Page
) -> None:
    """An empty one, and one that is larger than what it stands for; figures follow the words."""
    review = await begin(page, standin, FIRST)
    short = await answer(browser, review, "", "figures/", summary="x")
    long = await answer(browser, review, "", "figures/", summary="many words " * 300)
    assert short.status_code == long.status_code == 200
    assert short.content != long.content
    empty = await answer(browser, review, "accept", summary=" \n")
    assert (empty.status_code, b"empty" in empty.content) == (422, True)
    large = await answer(browser, review, "accept", summary="many words " * 20_000)
    assert (large.status_code, b"not get smaller" in large.content) == (422, True)
    assert (await answer(browser, review, "nonsense")).status_code == 422
    now = await Review.objects.aget()
    assert (now.status, now.text) == (Status.PENDING, "")
    await page.send("turn.stop")
    await page.until_idle()
    assert (await answer(browser, review, "", "figures/", summary="x")).status_code == 204


async def test_what_is_discarded_leaves_the_context_as_it_was_and_its_cost_on_record(
    conversation: Conversation, standin: Standin, browser: Client, bob: User, page: Page
) -> None:
    """Only the first answer counts: another tab is told so, and another user finds nothing."""
    stranger = Client()
    await sync_to_async(stranger.force_login)(bob)
    before = await sync_to_async(seen)(conversation)
    review = await begin(page, standin, FIRST)
    assert (await answer(stranger, review, "accept")).status_code == 404
    assert (await answer(stranger, review, "", "figures/")).status_code == 404
    assert (await answer(browser, review, "discard")).status_code == 204
    assert (await answer(browser, review, "discard")).status_code == 204
    late = await answer(browser, review, "accept")
    assert (late.status_code, b"another tab" in late.content) == (422, True)
    await page.until_idle()
    attempt = await attempt_of(conversation)
    assert attempt.status == "cancelled"
    assert attempt.cost == (await ModelCall.objects.aget(condensation=attempt)).cost > Decimal(0)
    assert await sync_to_async(seen)(conversation) == before
    assert (await Review.objects.aget()).status == Status.DISCARDED


@pytest.mark.parametrize("answered", ["as the process leaves", "before the start"])
async def test_a_review_outlives_the_process_that_asked(
    conversation: Conversation, alice: User, standin: Standin, browser: Client, answered: str
) -> None:
    """The next one asks no model, and applies what the person said before it began."""
    async with open_page(conversation, alice) as page:
        review = await begin(page, standin, FIRST)
        if answered == "as the process leaves":
            said = {"status": Status.EDITED, "text": "Own words."}
            await sync_to_async(Review.objects.filter(pk=review.pk).change)(**said)
        await restart()
    asked = len(standin.requests)
    assert (await Turn.objects.alatest("started_at")).status == Turn.Status.WAITING
    if answered == "before the start":
        await answer(browser, review, "accept", summary="Own words.")
    async with open_page(conversation, alice) as page:
        await page.until_idle()
    assert len(standin.requests) == asked
    assert (await attempt_of(conversation)).summary == "Own words."
    assert (await Turn.objects.alatest("started_at")).status == Turn.Status.SUCCEEDED


@pytest.fixture
def automatic(conversation: Conversation, alice: User) -> Preferences:
    """Alice wants to see automatic ones too, and her conversation is due for one."""
    preferences = accounts.preferences_of(alice)
    preferences.review_automatic = True
    preferences.threshold = 5
    preferences.save()
    Profile.objects.filter(pk=conversation.profile_id).update(context_window=60_000)
    return preferences


async def test_an_automatic_one_applies_when_nobody_answers_in_time(
    conversation: Conversation, standin: Standin, automatic: Preferences, page: Page
) -> None:
    """And the record says that nobody did."""
    await Preferences.objects.aupdate(review_seconds=0)
    standin.then(Reply(FIRST), Reply("Done."))
    await page.say("Go on.")
    await page.until_idle()
    review = await Review.objects.aget()
    assert (review.status, review.answered_by_id) == (Status.EXPIRED, None)
    assert (await attempt_of(conversation)).status == "succeeded"
    assert "8123" in str(standin.requests[-1].body["messages"])


@pytest.mark.parametrize("is_on", [True, False])
async def test_an_automatic_one_tells_of_the_surroundings_where_that_is_wanted(
    conversation: Conversation,
    alice: User,
    standin: Standin,
    browser: Client,
    automatic: object,
    is_on: bool,
) -> None:
    """As beside a message, and as they are when it is accepted, where the person is."""
    await Preferences.objects.aupdate(environment_details=is_on)
    folder = await sync_to_async(toolbox.workspace_of)(conversation)
    socket = connect(conversation, alice)
    socket.scope["cookies"] = {"zone": "Asia/Kolkata"}
    await socket.connect(PATIENCE)
    page = Page(socket)
    review = await go_on(page, standin)
    (folder / "new.txt").touch()
    await answer(browser, review, "accept", summary=review.shown)
    await page.until_idle()
    await socket.disconnect(timeout=PATIENCE)
    message = (await attempt_of(conversation)).message
    assert message
    text = message_store.to_engine(message).text
    parts = ("(Asia/Kolkata, UTC+05:30)", "\nnew.txt\n", "# Context window\nAbout ")
    assert [part in text for part in ("<environment_details>", *parts)] == [is_on] * 4
    assert not await sync_to_async(problems)(conversation)


async def test_an_automatic_one_waits_for_whoever_changes_it_and_the_turn_goes_on(
    conversation: Conversation, standin: Standin, browser: Client, automatic: object, page: Page
) -> None:
    """From the first letter on, on all pages; then with the person's words in its request."""
    review = await go_on(page, standin)
    assert any("data-draft" in frame.get("condensing", "") for frame in page.frames)
    assert review.applies_at
    assert "data-applies" in page.frames[-1]["condensing"]
    held = await answer(browser, review, "", "figures/", summary="Own w")
    assert b'id="review-applies"' in held.content
    shown = (await page.until("panel.changed"))["condensing"]
    assert "data-applies" not in shown
    assert f'data-review="{review.pk}"' in shown
    now = await Review.objects.aget()
    assert (now.status, now.applies_at) == (Status.PENDING, None)
    await answer(browser, review, "accept", summary="Own words.")
    await page.until_idle()
    assert "Own words." in str(standin.requests[-1].body["messages"])
    assert (await Turn.objects.alatest("started_at")).status == Turn.Status.SUCCEEDED
    assert not await sync_to_async(problems)(conversation)


async def test_what_is_typed_is_there_after_a_restart(
    conversation: Conversation, alice: User, standin: Standin, browser: Client
) -> None:
    """On every page that opens, with its figures; what was said in the end is no draft any more."""
    async with open_page(conversation, alice) as page:
        review = await begin(page, standin, FIRST)
        typed = {"summary": "Own words, half", "focus": "the vault"}
        before = await answer(browser, review, "", "figures/", **typed)
    await restart()
    async with open_page(conversation, alice) as page:
        shown = page.frames[-1].get("panel", page.frames[-1])["condensing"]
        # After a restart the status comes first, and the review once its turn was taken over.
        while "</textarea>" not in shown:
            shown = (await page.until("panel.changed"))["condensing"]
        assert "Own words, half</textarea>" in shown
        assert 'value="the vault"' in shown
        assert before.content.decode().split("</p>")[0] in shown
        await answer(browser, review, "accept", summary="Own words.")
        await page.until_idle()
    assert (await Review.objects.aget()).typed is None
    assert (await attempt_of(conversation)).summary == "Own words."
    assert not await sync_to_async(problems)(conversation)


async def test_an_automatic_one_applies_in_time_when_the_server_is_back_though_nobody_visits(
    conversation: Conversation, alice: User, standin: Standin, automatic: object
) -> None:
    """Its time was over while nothing ran; the turn goes on and answers."""
    async with open_page(conversation, alice) as page:
        review = await go_on(page, standin)
    await restart()
    await raw(Review).filter(pk=review.pk).aupdate(applies_at=review.shown_at)
    running_turns.open()
    await running_turns.clear_up()
    await all_ended()
    await review.arefresh_from_db()
    assert review.status == Status.EXPIRED
    assert (await Turn.objects.alatest("started_at")).status == Turn.Status.SUCCEEDED
    assert "8123" in str(standin.requests[-1].body["messages"])


async def test_what_is_answered_in_another_process_is_heard(
    conversation: Conversation, alice: User, standin: Standin, page: Page
) -> None:
    """It can't wake a turn of this one, which looks by itself every few seconds."""
    review = await begin(page, standin, FIRST)
    say = sync_to_async(summary_reviews.answer_review)
    await say(review=review, user=alice, decision="accept", summary="Own words.")
    await running_turns.look_after()
    await page.until_idle()
    assert (await attempt_of(conversation)).summary == "Own words."


async def test_a_turn_goes_on_without_an_automatic_one_that_was_discarded(
    conversation: Conversation, standin: Standin, browser: Client, automatic: object, page: Page
) -> None:
    """Its request is sent as it was, and the same turn does not try again."""
    await answer(browser, await go_on(page, standin), "discard")
    await page.until_idle()
    assert LONG in str(standin.requests[-1].body["messages"])
    assert await Condensation.objects.acount() == 1
