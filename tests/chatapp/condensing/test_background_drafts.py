"""Summaries drafted in the background: the turn that needs one finds it written.

Whether this process writes them or another one, of which rows are all that is known here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial

import pytest
import pytest_django
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from chatapp.conversations.toolbox import toolbox
from chatapp.models import (
    BackgroundDraft,
    Condensation,
    Conversation,
    ModelCall,
    Preferences,
    Profile,
)
from chatapp.page.live.channel import channel
from chatapp.turns import crash_recovery
from chatapp.turns.running_turns import running_turns
from tests.chatapp.claude import converse
from tests.chatapp.condensing.conftest import LONG, talk_long
from tests.chatapp.condensing.draft_steps import (
    MORE,
    SUMMARY,
    Drafting,
    end_jobs,
    leave_job,
    look_each,
    write_elsewhere,
)
from tests.chatapp.conftest import Say
from tests.chatapp.observers import ELSEWHERE
from tests.chatapp.profile_form import PROFILE
from tests.chatapp.runs import named
from tests.chatapp.scripted_turns import seen
from tests.chatapp.sockets import Page
from tests.chatapp.storage_faults import broken
from tests.chatapp.turns.approval_steps import start_again
from tests.chatapp.turns.losses import (
    ONE_AND_REST,
    can_be_frozen,
    lose_turn,
    nothing_was_stored_since,
    until_frozen,
)
from tests.long_texts import filler
from tests.records import put_on_record
from tests.standin.behaviours import OVERFLOW, Behaviour, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

HERE = pytest.mark.parametrize("writer", ["here"], indirect=True)
EVERYWHERE = pytest.mark.parametrize("writer", ["here", "elsewhere"], indirect=True)


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin, short_summaries: None) -> Conversation:
    """A conversation of some 9,000 tokens; at 12,000 it condenses, and from 9,600 on it drafts."""
    Preferences.objects.filter(owner=alice).update(threshold=50, draft_ahead="always")
    conversation = converse(alice, anthropic_standin, context_window=24_000, max_output=4_000)
    return talk_long(conversation)


@pytest.fixture(params=["here", pytest.param("elsewhere", marks=pytest.mark.rare)])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Say where drafts are written; rows tell whoever waits how far they are."""
    look_each(0.05, monkeypatch)
    if request.param == "elsewhere":
        write_elsewhere(monkeypatch)
    return str(request.param)


@pytest.fixture
async def drafting(
    conversation: Conversation,
    page: Page,
    anthropic_standin: Standin,
    browser: Client,
    writer: str,
) -> AsyncIterator[Drafting]:
    """A conversation while its summary is drafted."""
    drafting = Drafting(conversation, page, anthropic_standin, browser)
    try:
        await drafting.begin()
        yield drafting
    finally:
        await drafting.finish()


@pytest.fixture
async def waiting(
    conversation: Conversation,
    page: Page,
    anthropic_standin: Standin,
    browser: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> Drafting:
    """A conversation whose draft no worker is free to write."""
    leave_job("write_draft", monkeypatch)
    anthropic_standin.then(Reply(MORE))
    await page.ask("And now?")
    return Drafting(conversation, page, anthropic_standin, browser)


async def attempts() -> list[Condensation]:
    """Return all attempts, in order."""
    return [one async for one in Condensation.objects.order_by("started_at")]


@EVERYWHERE
async def test_the_turn_that_crosses_the_threshold_waits_for_no_summary(drafting: Drafting) -> None:
    """What was drafted is swapped in, and what came since stays word for word."""
    await drafting.ask()
    await drafting.finish()
    attempt = await Condensation.objects.aget()
    written = attempt.finished_at
    assert (attempt.trigger, attempt.status, attempt.turn_id) == ("ahead", "drafted", None)
    # What is sent below the threshold is all there is.
    assert MORE in str(drafting.standin.requests[-1].body["messages"][0])
    await drafting.ask()
    assert await drafting.purposes() == ["chat", "summary", "chat", "chat"]
    sent = drafting.standin.requests[-1].body["messages"]
    await attempt.arefresh_from_db()
    assert attempt.status == Condensation.Status.SUCCEEDED
    assert attempt.tokens_before >= 12_000
    assert attempt.tokens_after
    assert attempt.tokens_after < 5_000
    assert attempt.cost
    # It took as long as it was written, and not until it was applied.
    assert attempt.finished_at == written
    summary, *rest = await sync_to_async(seen)(drafting.conversation)
    assert rest == [MORE, "Yes.", MORE, "Yes."]
    assert "What was said." in summary
    assert "What was said." in str(sent[0])


async def test_a_draft_is_applied_with_the_environment_as_it_is_then(drafting: Drafting) -> None:
    """What came since it was drafted is told, once; on record is what was sent."""
    await Preferences.objects.aupdate(environment_details=True)
    folder = await sync_to_async(toolbox.workspace_of)(drafting.conversation)
    await drafting.finish()
    await drafting.ask()
    (folder / "new.txt").touch()
    await drafting.ask()
    sent = drafting.standin.requests[-1].body["messages"][0]
    attempt = await Condensation.objects.select_related("message").aget()
    assert (attempt.trigger, attempt.status) == ("ahead", Condensation.Status.SUCCEEDED)
    assert attempt.message
    texts = [block["text"] for block in attempt.message.content]
    assert str(texts).count("# Current time") == 1
    assert "# Files in the workspace\nnew.txt\n# Context window\nAbout " in texts[-1]
    assert texts[-1] in [block["text"] for block in sent["content"]]


async def test_while_the_draft_is_written_a_turn_goes_on_as_long_as_its_request_fits(
    drafting: Drafting,
) -> None:
    """Above the threshold too; it is swapped in by the first turn after its end."""
    await drafting.ask()
    await drafting.ask()
    assert await drafting.purposes() == ["chat", "summary", "chat", "chat"]
    assert (await Condensation.objects.aget()).status == Condensation.Status.RUNNING
    assert "Condenses once the summary is drafted" in str(drafting.page.frames[-1])
    await drafting.finish()
    await drafting.ask("And?")
    assert (await Condensation.objects.aget()).status == Condensation.Status.SUCCEEDED


@EVERYWHERE
async def test_where_the_provider_refuses_the_request_the_draft_is_waited_for(
    drafting: Drafting,
) -> None:
    """One call writes the summary, and the page says meanwhile what it waits for."""
    drafting.standin.overflow()
    drafting.standin.then(Reply("Yes."))
    await drafting.page.say("And?")
    while "Condensing context" not in (await drafting.page.until("panel.changed"))["condensing"]:
        pass
    await drafting.finish()
    await drafting.page.until_idle()
    assert await drafting.purposes() == ["chat", "summary", "chat", "chat"]
    assert (await Condensation.objects.aget()).status == Condensation.Status.SUCCEEDED


async def look_again(drafting: Drafting) -> None:
    """Have pages look again at what has changed."""
    await drafting.press("choose_profile", profile=drafting.conversation.profile_id)


async def change_prompt(drafting: Drafting) -> None:
    """Have the profile ask for summaries in other words."""
    named = await drafting.conversation.owner.condensing_prompts.acreate(text="Be brief.")
    own = Profile.objects.filter(pk=drafting.conversation.profile_id)
    await own.aupdate(condensing_prompt=named)
    await look_again(drafting)


async def leave_files_out(drafting: Drafting) -> None:
    """Have no summary carry outlines of files."""
    await Preferences.objects.aupdate(attach_files=False)
    await look_again(drafting)


async def change_model(drafting: Drafting) -> None:
    """Have another model answer, of the same profile."""
    own = Profile.objects.filter(pk=drafting.conversation.profile_id)
    await own.aupdate(model="claude-haiku-4-5")
    await look_again(drafting)


async def change_profile(drafting: Drafting) -> None:
    """Have another profile answer."""
    other = await Profile.objects.exclude(pk=drafting.conversation.profile_id).afirst()
    assert other
    await drafting.press("choose_profile", profile=other.pk)


async def pin_rule(drafting: Drafting) -> None:
    """Pin a rule, after all that was said."""
    await drafting.press("pin_rule", rule="Answer in one line.")


async def pin_first(drafting: Drafting) -> None:
    """Pin what the user said first."""
    await drafting.press("pin_message", 1)


async def rewind(drafting: Drafting) -> None:
    """Go back to before the second question."""
    await drafting.press("rewind", to_seq=3)


Change = Callable[[Drafting], Awaitable[None]]
FILES, PINS = "The messages it summarised changed", "Pins were changed"
PROMPT, ANOTHER = "The prompt was changed", "The profile was changed"


@pytest.mark.parametrize(
    ("change", "said", "written"),
    [
        (change_profile, ANOTHER, True),
        (pin_rule, PINS, True),
        (rewind, FILES, True),
        (leave_files_out, PROMPT, False),
        pytest.param(change_prompt, PROMPT, False, marks=EVERYWHERE),
    ],
)
async def test_what_makes_a_draft_stale_drops_it_at_once_and_its_cost_stays_on_record(
    drafting: Drafting, change: Change, said: str, written: bool
) -> None:
    """Whether or not it is written to its end."""
    if written:
        await drafting.finish()
    await change(drafting)
    await drafting.page.until("transcript.changed")
    await end_jobs()
    # The gate is closed still: whoever wrote it has stopped by itself.
    assert drafting.gate.is_open is written
    (dropped,) = await attempts()
    call = await ModelCall.objects.exclude(status="running").aget(purpose="summary")
    assert (dropped.status, dropped.cost) == ("unused", call.cost)
    assert said in dropped.error
    assert dropped.cost
    assert not await BackgroundDraft.objects.aexists()


@pytest.mark.parametrize(
    ("change", "said"),
    [(change_model, ANOTHER), (pin_rule, PINS), (pin_first, FILES), (change_prompt, PROMPT)],
)
async def test_the_turn_that_would_apply_a_stale_draft_finds_out_by_itself(
    drafting: Drafting, change: Change, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though no worker was told of the change; another summary is written for it."""
    leave_job("check_draft", monkeypatch)
    await drafting.finish()
    await drafting.ask()
    await change(drafting)
    await drafting.ask(MORE, Reply(SUMMARY))
    assert await drafting.purposes() == ["chat", "summary", "chat", "summary", "chat"]
    dropped, made = await attempts()
    assert (dropped.status, made.status) == ("unused", "succeeded")
    assert said in dropped.error


def save_settings(browser: Client, _conversation: Conversation) -> int:
    """Save another condensing prompt on the page of settings."""
    sent = {"threshold": 50, "step_limit": 20, "draft_ahead": "always", "draft_share": 80}
    sent |= {"auto_condense": "on", "condensing_prompt": "Be brief."}
    return browser.post(reverse("settings"), sent).status_code


def save_profile(browser: Client, conversation: Conversation) -> int:
    """Save another model for the profile on its page."""
    profile = conversation.profile
    assert profile
    sent = {**PROFILE, "base_url": profile.base_url, "model": "claude-haiku-4-5"}
    return browser.post(reverse("edit_profile", args=[profile.pk]), sent).status_code


def use_another(browser: Client, conversation: Conversation) -> int:
    """Put another strategy in force on the page that compares them."""
    sent = {"strategies": ["ledger"], "thresholds": "50", "use": "ledger|50|"}
    return browser.post(reverse("what_if", args=[conversation.pk]), sent).status_code


class Looking:
    """An event loop that looks, when something is to be told, at what pages would find then."""

    def __init__(self) -> None:
        """Nothing is told yet."""
        self.found: list[list[tuple[str, ...]]] = []

    def is_closed(self) -> bool:
        return False

    def call_soon_threadsafe(self, *_told: object, **_context: object) -> None:
        with ThreadPoolExecutor(1) as other:
            self.found.append(other.submit(self.look).result())

    @staticmethod
    def look() -> list[tuple[str, ...]]:
        """Return what is committed of all that the tests here save."""
        try:
            chosen = Preferences.objects.values_list("condensing_prompt", "strategy")
            return [*chosen, *Profile.objects.order_by("pk").values_list("model")]
        finally:
            connection.close()


@pytest.mark.parametrize("save", [save_settings, save_profile, use_another])
def test_pages_are_told_of_what_is_saved_once_they_can_find_it(
    conversation: Conversation,
    browser: Client,
    monkeypatch: pytest.MonkeyPatch,
    save: Callable[[Client, Conversation], int],
) -> None:
    """What they look at before the commit is as it was, and nothing tells them again."""
    loop, before = Looking(), Looking.look()
    monkeypatch.setattr(channel, "loop", loop)
    assert save(browser, conversation) == 302
    assert loop.found == [Looking.look()]
    assert loop.found != [before]


async def test_what_an_ended_process_has_drafted_is_applied_by_another(drafting: Drafting) -> None:
    """Rows have all that it takes: its own end, and what the next one clears up, leave them."""
    await drafting.finish()
    await running_turns.close()
    running_turns.closing = False
    await belong_to_ended_process()
    await start_again()
    (attempt,) = await attempts()
    assert (attempt.status, attempt.error) == ("drafted", "")
    await drafting.ask()
    await drafting.ask()
    assert await drafting.purposes() == ["chat", "summary", "chat", "chat"]
    await attempt.arefresh_from_db()
    assert (attempt.status, attempt.trigger) == ("succeeded", "ahead")


async def belong_to_ended_process() -> None:
    """Have all that is drafted be of a process that is gone: its number has another one now."""
    gone = ELSEWHERE
    await Condensation.objects.aupdate(owner=gone)
    await BackgroundDraft.objects.aupdate(owner=gone)
    await ModelCall.objects.filter(purpose="summary").aupdate(owner=gone)


@EVERYWHERE
async def test_what_an_ended_process_was_drafting_is_closed_with_its_cost(
    drafting: Drafting,
) -> None:
    """Should it only have been frozen, it writes nothing more, and another draft may be begun."""
    await start_again()
    assert (await Condensation.objects.aget()).status == "running"
    await belong_to_ended_process()
    await start_again()
    attempt = await Condensation.objects.values().aget()
    call = await ModelCall.objects.values().aget(purpose="summary")
    assert (attempt["status"], attempt["error"]) == ("unused", "The server stopped meanwhile.")
    assert (call["status"], call["cost"]) == ("interrupted", attempt["cost"])
    assert attempt["cost"]
    assert not await BackgroundDraft.objects.aexists()
    await drafting.finish()
    assert await Condensation.objects.values().aget() == attempt
    assert await ModelCall.objects.values().aget(purpose="summary") == call


@HERE
async def test_a_draft_whose_end_could_not_be_saved_is_let_go(drafting: Drafting) -> None:
    """Its process lives, and turns would wait for it for ever; what is being written stays."""
    close_left = sync_to_async(crash_recovery.close_left)
    await close_left()
    draft = await BackgroundDraft.objects.select_related("condensation").aget()
    assert draft.condensation
    before = draft.condensation
    await drafting.finish()
    # As it was before it was written.
    await before.asave()
    await BackgroundDraft.objects.all().adelete()
    await draft.asave(force_insert=True)
    await close_left()
    assert not await BackgroundDraft.objects.aexists()
    await before.arefresh_from_db()
    assert before.status == "unused"


async def test_a_turn_does_not_wait_for_a_draft_whose_writer_is_gone(
    drafting: Drafting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It condenses itself where its request does not fit."""
    look_each(3_600, monkeypatch, writer=3_600)
    await belong_to_ended_process()
    drafting.standin.overflow()
    await drafting.ask("And?", Reply(SUMMARY))
    assert await drafting.purposes() == ["chat", "summary", "chat", "summary", "chat"]
    left, made = await attempts()
    assert (left.status, left.error) == ("unused", "The server stopped meanwhile.")
    assert (made.status, made.trigger) == ("succeeded", "forced")


async def test_a_turn_waits_for_no_draft_that_nobody_has_begun(
    waiting: Drafting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where all workers are busy; what is late then does nothing."""
    look_each(3_600, monkeypatch)
    assert await BackgroundDraft.objects.filter(written_at=None).aexists()
    # What fits goes on without a summary.
    await waiting.ask()
    waiting.standin.overflow()
    await waiting.ask("And?", Reply(SUMMARY))
    await waiting.write()
    (made,) = await attempts()
    assert (made.status, made.trigger) == ("succeeded", "forced")
    assert not await BackgroundDraft.objects.aexists()


async def test_a_conversation_has_one_draft_however_many_turns_want_one(waiting: Drafting) -> None:
    """Its row stays as it is, and no other is wanted beside it."""
    draft = await BackgroundDraft.objects.values().aget()
    await waiting.ask("And?")
    assert await BackgroundDraft.objects.values().aget() == draft


@pytest.mark.parametrize(
    ("wishes", "replies"),
    [
        ({"strategy": "ledger"}, [Reply(MORE)]),
        # Far from the threshold.
        ({}, [Reply("Yes.")]),
        # After a summary failed in the same turn, which brings the context near it all the same.
        ({}, [OVERFLOW, Reply(""), Reply(""), Reply(f"{LONG} {LONG}")]),
    ],
)
async def test_no_draft_is_begun_where_no_strategy_has_a_summary_written(
    page: Page,
    anthropic_standin: Standin,
    wishes: dict[str, object],
    replies: list[Behaviour],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor far from the threshold, nor after a summary failed in the same turn."""
    leave_job("write_draft", monkeypatch)
    await Preferences.objects.aupdate(**wishes)
    anthropic_standin.then(*replies)
    await page.ask("And now?")
    assert len(anthropic_standin.requests) == len(replies)
    assert not await BackgroundDraft.objects.aexists()


@pytest.fixture
async def ready(waiting: Drafting, monkeypatch: pytest.MonkeyPatch) -> Drafting:
    """A conversation whose draft is written; its process makes writes that fail again at once."""
    can_be_frozen(monkeypatch)
    waiting.standin.then(Reply(SUMMARY))
    await waiting.write()
    await waiting.ask()
    return waiting


@asynccontextmanager
async def taking_over(drafting: Drafting) -> AsyncIterator[None]:
    """Freeze a turn that has read its draft, and is about to take it over."""
    async with broken("UPDATE ON chatapp_condensation", "NEW.status = 'running'"):
        await drafting.page.say(MORE)
        await until_frozen(drafting.page)
        yield


async def test_a_draft_is_applied_once_whoever_takes_it(ready: Drafting) -> None:
    """Two processes may have read it; the row is one's, and the other writes a summary itself."""
    async with taking_over(ready):
        await BackgroundDraft.objects.all().adelete()
        drafted = Condensation.objects.filter(status="drafted")
        await sync_to_async(drafted.change)(status="succeeded")
        ready.standin.then(Reply(SUMMARY), Reply("Yes."))
    await ready.page.until_idle()
    taken, made = await attempts()
    assert (taken.turn_id, made.status, made.trigger) == (None, "succeeded", "auto")


@pytest.mark.parametrize("loss", ONE_AND_REST)
async def test_a_process_that_lost_its_turn_takes_no_draft(ready: Drafting, loss: str) -> None:
    """However it was lost: the draft waits for whoever has the turn now."""
    async with taking_over(ready):
        before = await lose_turn(loss)
    await nothing_was_stored_since(before, ready.page)


@pytest.mark.parametrize("written", [False, True])
async def test_nothing_is_spent_on_a_conversation_that_was_deleted(
    waiting: Drafting, written: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is to be written is not begun, and what is written is dropped."""
    if written:
        waiting.standin.then(Reply(SUMMARY))
        await waiting.write()
    else:
        leave_job("check_draft", monkeypatch)
    await waiting.press("delete")
    await end_jobs()
    await waiting.write()
    assert len(waiting.standin.requests) == 1 + written
    said = [(one.status, one.error) for one in await attempts()]
    assert said == [("unused", "The conversation was deleted.")] * written
    assert not await BackgroundDraft.objects.aexists()


async def test_a_draft_that_is_not_enough_any_more_is_dropped(ready: Drafting, say: Say) -> None:
    """What came since takes as much as all that it hides."""
    await sync_to_async(say)("user", "And south?", tokens=15_000)
    await ready.ask(MORE, Reply(SUMMARY))
    attempt = (await attempts())[0]
    assert attempt.status == "unused"
    assert "Newer messages grew too large" in attempt.error


@HERE
@pytest.mark.parametrize("stop", [partial(end_jobs, 0), running_turns.close])
async def test_a_process_that_is_stopped_closes_the_draft_that_it_writes(
    drafting: Drafting, stop: Callable[[], Awaitable[None]], settings: pytest_django.Settings
) -> None:
    """A worker, or all of the server: its cost is on record, and another may be begun at once."""
    settings.SAFE_POINT = 0
    await stop()
    running_turns.closing = False
    attempt = await Condensation.objects.aget()
    assert (attempt.status, attempt.error) == ("unused", "The server was stopped.")
    call = await ModelCall.objects.aget(purpose="summary")
    assert call.status != ModelCall.Status.SUCCEEDED
    assert (call.condensation_id, call.cost) == (attempt.pk, attempt.cost)
    assert not await BackgroundDraft.objects.aexists()
    assert not drafting.gate.is_open


@HERE
async def test_pages_are_told_once_a_draft_is_written(drafting: Drafting) -> None:
    """Whoever looks at the bar then knows that the next condensation takes no time."""
    assert "The summary is being drafted." in drafting.page.frames[-1]["due"]
    drafting.gate.open()
    while "The summary is drafted." not in (await drafting.page.until("panel.changed"))["due"]:
        pass


async def test_a_draft_is_written_once_however_often_its_job_runs(waiting: Drafting) -> None:
    """A queue may hand it out twice."""
    waiting.standin.then(Reply(SUMMARY), Reply(SUMMARY))
    await asyncio.gather(waiting.write(), waiting.write(), waiting.write())
    assert await waiting.purposes() == ["chat", "summary"]
    assert (await Condensation.objects.aget()).status == "drafted"
    assert await BackgroundDraft.objects.exclude(written_at=None).aexists()


@pytest.mark.parametrize("status", ["running", "drafted"])
async def test_what_a_draft_cost_until_its_server_was_killed_is_on_record(
    conversation: Conversation, status: str
) -> None:
    """As the next start clears up: its call is not taken for one of which nothing is known.

    Versions that kept drafts in memory left no row that could be applied.
    """

    def leave() -> Condensation:
        attempt = put_on_record(
            conversation, at_seq=1, status=status, trigger="ahead", tokens_before=9_000
        )
        attempt.enter()
        called = {"purpose": "summary", **named(conversation.profile)}
        ModelCall.objects.create(conversation=conversation, condensation=attempt, **called)
        return attempt

    attempt = await sync_to_async(leave)()
    await start_again()
    await attempt.arefresh_from_db()
    assert (attempt.status, bool(attempt.cost)) == ("unused", True)
    call = await ModelCall.objects.aget(condensation=attempt)
    assert (call.status, call.cost) == (ModelCall.Status.INTERRUPTED, attempt.cost)


def test_the_settings_say_what_a_draft_may_cost(
    conversation: Conversation, browser: Client, alice: User
) -> None:
    """At most, with the dearest profile: all that is there when it is due, none of it cached."""
    page = browser.get(reverse("settings")).text
    # 12,000 tokens at $5 a million, and an answer of 4,000 at $0.
    assert f"can cost up to $0.06 with <bdi>{conversation.profile}</bdi>" in page
    form = {"threshold": 50, "step_limit": 20, "draft_ahead": "never", "draft_share": 60}
    assert browser.post(reverse("settings"), form).status_code == 302
    alice.preferences.refresh_from_db()
    assert (alice.preferences.draft_ahead, alice.preferences.draft_share) == ("never", 60)


async def test_a_draft_is_in_the_history_whatever_became_of_it_and_in_no_transcript(
    drafting: Drafting,
) -> None:
    """Its page shows what was written and what it cost."""
    get = sync_to_async(drafting.browser.get)
    await drafting.finish()
    pk, attempt = drafting.conversation.pk, await Condensation.objects.aget()
    for name in ("Summary drafted", "Draft not used"):
        record = await get(reverse("condensation", args=[pk, attempt.pk]))
        assert "What was said." in record.text
        assert name in (await get(reverse("condensations"))).text
        assert str(attempt.pk) not in (await get(reverse("chat", args=[pk]))).text
        await pin_rule(drafting)
        await end_jobs()


async def test_no_draft_is_begun_once_a_limit_is_reached(
    conversation: Conversation, page: Page, anthropic_standin: Standin
) -> None:
    """The turn took what was left; nothing of a draft is on record."""
    await Conversation.objects.filter(pk=conversation.pk).aupdate(budget="0.01")
    anthropic_standin.then(Reply(MORE))
    await page.ask("And now?")
    await end_jobs()
    assert len(anthropic_standin.requests) == 1
    assert not await BackgroundDraft.objects.aexists()
    assert not await Condensation.objects.aexists()
    assert await conversation.turns.filter(status="succeeded").acount() == 3


@HERE
async def test_a_draft_that_gains_less_than_a_tenth_by_now_is_not_applied(
    conversation: Conversation, page: Page, anthropic_standin: Standin, writer: str
) -> None:
    """Its row says so, and a shorter summary is written for it."""
    long = filler(7_700)
    anthropic_standin.then(Reply(MORE), Reply(f"<summary>{long}</summary>"))
    await page.ask("And now?")
    await end_jobs()
    anthropic_standin.then(Reply("Yes."), Reply(SUMMARY), Reply("Yes."))
    await page.ask(MORE)
    await page.ask(MORE)
    dropped, made = await attempts()
    assert (dropped.trigger, dropped.status, made.status) == ("ahead", "unused", "succeeded")
    assert "would hardly get smaller: 12," in dropped.error
    assert long not in str(anthropic_standin.requests[-1].body)
