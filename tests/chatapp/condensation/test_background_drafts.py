"""Summaries drafted in the background: the turn that needs one finds it written.

Whether this process writes them or another one, of which rows are all that is known here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest
import pytest_django
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient, Client
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp import background_jobs
from chatapp.background_jobs import JOBS
from chatapp.condensation import background_drafts, draft_writer
from chatapp.condensation.attempt_log import AttemptLog
from chatapp.context.sizes import wants_drafts
from chatapp.context.turn_context import TurnContext
from chatapp.conversations import pins
from chatapp.conversations.rewind import rewind_conversation
from chatapp.live.channel import channel
from chatapp.models import (
    BackgroundDraft,
    Condensation,
    Conversation,
    ModelCall,
    Preferences,
    Profile,
    message_store,
)
from chatapp.models.turns import this_process
from chatapp.storage.request_reader import find_changed
from chatapp.toolbox import toolbox
from chatapp.turns import actions, crash_recovery
from chatapp.turns.running_turns import running_turns
from tests.chatapp.agent.fakes import RecordingAudience
from tests.chatapp.audited import problems
from tests.chatapp.claude import converse
from tests.chatapp.condensation import other_process
from tests.chatapp.condensation.conftest import talk_long
from tests.chatapp.conftest import Say
from tests.chatapp.profile_form import PROFILE
from tests.chatapp.runs import journal_of, run_in
from tests.chatapp.sockets import PATIENCE, Page, open_page
from tests.records import put_on_record
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
# 1,250 tokens.
MORE = " ".join(map(str, range(100, 725)))


@pytest.fixture
def conversation(
    alice: User, anthropic_standin: Standin, settings: pytest_django.Settings
) -> Conversation:
    """A conversation of some 9,000 tokens; at 12,000 it condenses, and from 9,600 on it drafts."""
    # One word is summary enough here.
    settings.CONDENSE_DEFAULT_HOOKS = False
    Preferences.objects.filter(owner=alice).update(threshold=50, draft_ahead="always")
    conversation = converse(alice, anthropic_standin, context_window=24_000, max_output=4_000)
    return talk_long(conversation)


class Drafting:
    """A page of a conversation whose summary is drafted, and the gate that holds it."""

    def __init__(self, conversation: Conversation, page: Page, standin: Standin) -> None:
        """Take the conversation, its page, and who answers."""
        self.conversation = conversation
        self.page = page
        self.standin = standin
        self.gate = Gate()

    async def begin(self) -> None:
        """Have a draft begun, at the end of a turn that brings the context near its threshold."""
        self.standin.then(Reply(MORE), Reply(SUMMARY, gate=self.gate))
        await self.page.say("And now?")
        await self.page.until_idle()
        assert await asyncio.to_thread(self.gate.wait_until_reached)

    async def ask(self, text: str = MORE) -> None:
        """Ask, and wait for the end of the turn."""
        self.standin.then(Reply("Yes."))
        await self.page.say(text)
        await self.page.until_idle()

    async def finish(self) -> None:
        """Let the draft be written to its end."""
        self.gate.open()
        await background_drafts.settled(self.conversation.pk)

    async def purposes(self) -> list[str]:
        """Return what the calls so far were for."""
        calls = ModelCall.objects.filter(conversation=self.conversation).order_by("pk")
        return [one.purpose async for one in calls]


Begin = Callable[[], AbstractAsyncContextManager[Drafting]]


@pytest.fixture(params=["here", "elsewhere"])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Say where drafts are written; rows tell whoever waits how far they are."""
    for module in (background_drafts, draft_writer):
        monkeypatch.setattr(module, "LOOK", 0.05)
    if request.param == "elsewhere":
        monkeypatch.setitem(JOBS, "write_draft", f"{other_process.__name__}.write_draft")
    return str(request.param)


@pytest.fixture
def begin(
    conversation: Conversation, alice: User, anthropic_standin: Standin, writer: str
) -> Begin:
    """Return what yields a conversation while its summary is drafted."""

    @asynccontextmanager
    async def beginning() -> AsyncIterator[Drafting]:
        async with open_page(conversation, alice) as page:
            drafting = Drafting(conversation, page, anthropic_standin)
            try:
                await drafting.begin()
                yield drafting
            finally:
                await drafting.finish()
                await background_drafts.drop(conversation.pk, "The test is over.")
                await background_jobs.close()

    return beginning


async def test_the_turn_that_crosses_the_threshold_waits_for_no_summary(
    conversation: Conversation, begin: Begin
) -> None:
    """What was drafted is swapped in, and what came since stays word for word."""
    async with begin() as drafting:
        await drafting.ask()
        await drafting.finish()
        attempt = await Condensation.objects.aget()
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
    seen = await sync_to_async(message_store.read_effective)(conversation.pk)
    assert [one.is_summary for one in seen] == [True, False, False, False, False]
    assert [one.text for one in seen[1:]] == [MORE, "Yes.", MORE, "Yes."]
    assert "What was said." in str(sent[0])


async def test_a_draft_is_applied_with_the_environment_as_it_is_then(
    conversation: Conversation, begin: Begin
) -> None:
    """What came since it was drafted is told, once; record and audit chain have what was sent."""
    await Preferences.objects.aupdate(environment_details=True)
    folder = await sync_to_async(toolbox.workspace_of)(conversation)
    async with begin() as drafting:
        await drafting.finish()
        await drafting.ask()
        (folder / "new.txt").touch()
        await drafting.ask()
        sent = drafting.standin.requests[-1].body["messages"][0]
    attempt = await Condensation.objects.select_related("message").aget()
    assert (attempt.trigger, attempt.status) == ("ahead", Condensation.Status.SUCCEEDED)
    assert attempt.message
    stored = message_store.to_engine(attempt.message)
    last = stored.blocks[-1]
    assert isinstance(last, condense.TextBlock)
    assert stored.text.count("# Current time") == 1
    assert "# Files in the workspace\nnew.txt\n# Context window\nAbout " in last.text
    assert last.text in [block["text"] for block in sent["content"]]
    assert not await sync_to_async(problems)(conversation)
    assert not await sync_to_async(lambda: [*find_changed()])()


async def test_while_the_draft_is_written_a_turn_goes_on_as_long_as_its_request_fits(
    begin: Begin,
) -> None:
    """Above the threshold too; it is swapped in by the first turn after its end."""
    async with begin() as drafting:
        await drafting.ask()
        await drafting.ask()
        assert await drafting.purposes() == ["chat", "summary", "chat", "chat"]
        assert (await Condensation.objects.aget()).status == Condensation.Status.RUNNING
        assert "Condenses once the summary is drafted" in str(drafting.page.frames[-1])
        await drafting.finish()
        await drafting.ask("And?")
    assert (await Condensation.objects.aget()).status == Condensation.Status.SUCCEEDED


async def test_where_the_provider_refuses_the_request_the_draft_is_waited_for(
    begin: Begin,
) -> None:
    """One call writes the summary, and the page says meanwhile what it waits for."""
    async with begin() as drafting:
        drafting.standin.overflow()
        drafting.standin.then(Reply("Yes."))
        await drafting.page.say("And?")
        while (
            "Condensing context" not in (await drafting.page.until("panel.changed"))["condensing"]
        ):
            pass
        await drafting.finish()
        await drafting.page.until_idle()
        assert await drafting.purposes() == ["chat", "summary", "chat", "chat"]
    assert (await Condensation.objects.aget()).status == Condensation.Status.SUCCEEDED


async def change_prompt(conversation: Conversation) -> None:
    """Have the profile ask for summaries in other words."""
    named = await conversation.owner.condensing_prompts.acreate(text="Be brief.")
    own = Profile.objects.filter(pk=conversation.profile_id)
    await own.aupdate(condensing_prompt=named)


async def leave_files_out(conversation: Conversation) -> None:
    """Have no summary carry outlines of files."""
    await Preferences.objects.filter(owner=conversation.owner).aupdate(attach_files=False)


async def change_profile(conversation: Conversation) -> None:
    """Have another profile answer."""
    other = await Profile.objects.exclude(pk=conversation.profile_id).afirst()
    await Conversation.objects.filter(pk=conversation.pk).aupdate(profile=other)


async def pin_rule(conversation: Conversation) -> None:
    """Pin a rule, after all that was said."""
    await sync_to_async(pins.pin_rule)(conversation=conversation, text="Answer in one line.")


async def rewind(conversation: Conversation) -> None:
    """Go back to before the second question."""
    await sync_to_async(rewind_conversation)(conversation=conversation, first_hidden_seq=3)


@pytest.mark.parametrize(
    ("change", "said", "written"),
    [
        (change_profile, "The profile was changed", True),
        (pin_rule, "Pins were changed", True),
        (rewind, "The messages it summarised changed", True),
        (change_prompt, "The prompt was changed", False),
        (leave_files_out, "The prompt was changed", False),
    ],
)
async def test_what_makes_a_draft_stale_drops_it_at_once_and_its_cost_stays_on_record(
    conversation: Conversation,
    begin: Begin,
    change: Callable[[Conversation], object],
    said: str,
    written: bool,
) -> None:
    """Whether or not it is written to its end."""
    async with begin() as drafting:
        if written:
            await drafting.finish()
        await change(conversation)
        await sync_to_async(actions.announce_change)(conversation.pk)
        await drafting.page.until("transcript.changed")
        await dropped_with_its_cost(said)
        # The gate is closed still: whoever wrote it has stopped by itself.
        assert drafting.gate.is_open is written


async def dropped_with_its_cost(said: str) -> None:
    """Return once a draft was dropped for this reason, and its cost is that of its call."""
    attempts = Condensation.objects.filter(status="unused", error__contains=said, cost__gt=0)
    calls = ModelCall.objects.filter(purpose="summary").exclude(status="running")
    async with asyncio.timeout(PATIENCE):
        while not await attempts.filter(cost__in=calls.values("cost")).aexists():
            pass
    assert await calls.acount() == 1
    assert not await BackgroundDraft.objects.aexists()


async def change_model(conversation: Conversation) -> None:
    """Have another model answer, of the same profile."""
    await Profile.objects.filter(pk=conversation.profile_id).aupdate(model="claude-haiku-4-5")


async def pin_first(conversation: Conversation) -> None:
    """Pin what the user said first."""
    await sync_to_async(pins.pin_message)(conversation=conversation, seq=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (change_model, "The profile was changed"),
        (pin_rule, "Pins were changed"),
        (pin_first, "The messages it summarised changed"),
        (change_prompt, "The prompt was changed"),
    ],
)
async def test_the_turn_that_would_apply_a_stale_draft_finds_out_by_itself(
    begin: Begin, conversation: Conversation, change: Callable[[Conversation], object], said: str
) -> None:
    """Though nobody told of the change; another summary is written for it."""
    async with begin() as drafting:
        await drafting.finish()
        await drafting.ask()
        await change(conversation)
        drafting.standin.then(Reply(SUMMARY))
        await drafting.ask()
        assert await drafting.purposes() == ["chat", "summary", "chat", "summary", "chat"]
    dropped, made = [one async for one in Condensation.objects.order_by("started_at")]
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


@pytest.mark.parametrize(
    ("wishes", "price", "drafts"),
    [
        ({"draft_ahead": "free"}, 4, False),
        ({"draft_ahead": "free"}, 0, True),
        ({"draft_ahead": "always"}, 4, True),
        ({"draft_ahead": "never"}, 0, False),
        # Nothing condenses by itself, or tool output is cleared before a summary is written.
        ({"auto_condense": False}, 4, False),
        ({"clear_tool_output": True}, 4, False),
    ],
)
def test_unless_it_is_asked_for_drafts_are_written_where_tokens_cost_nothing(
    conversation: Conversation, wishes: dict[str, object], price: int, drafts: bool
) -> None:
    """A server without a key and without prices charges nothing; nobody else's price is guessed."""
    Preferences.objects.filter(owner=conversation.owner).update(**wishes)
    paid = {"price_input": price, "price_cache_write": price}
    if not price:
        paid |= {"provider": "openai", "model": "llama", "base_url": "http://localhost:11434/v1"}
    Profile.objects.filter(pk=conversation.profile_id).update(**paid)
    assert wants_drafts(run_in(conversation)) is drafts


async def test_what_an_ended_process_has_drafted_is_applied_by_another(begin: Begin) -> None:
    """Rows have all that it takes: its own end, and what the next one clears up, leave them."""
    async with begin() as drafting:
        await drafting.finish()
        await background_drafts.drop_all("The server was stopped.")
        await belong_to_ended_process()
        await sync_to_async(crash_recovery.close_left)()
        attempt = await Condensation.objects.aget()
        assert (attempt.status, attempt.error) == ("drafted", "")
        await drafting.ask()
        await drafting.ask()
        assert await drafting.purposes() == ["chat", "summary", "chat", "chat"]
    await attempt.arefresh_from_db()
    assert (attempt.status, attempt.trigger) == ("succeeded", "ahead")


async def belong_to_ended_process() -> None:
    """Have all that is drafted be of a process that is gone: its number has another one now."""
    gone = f"{this_process()}0"
    await Condensation.objects.aupdate(owner=gone)
    await BackgroundDraft.objects.aupdate(owner=gone)
    await ModelCall.objects.filter(purpose="summary").aupdate(owner=gone)


async def test_what_an_ended_process_was_drafting_is_closed_with_its_cost(begin: Begin) -> None:
    """Should it only have been frozen, it writes nothing more, and another draft may be begun."""
    async with begin() as drafting:
        await sync_to_async(crash_recovery.close_left)()
        assert (await Condensation.objects.aget()).status == "running"
        await belong_to_ended_process()
        await sync_to_async(crash_recovery.close_left)()
        attempt = await Condensation.objects.values().aget()
        call = await ModelCall.objects.values().aget(purpose="summary")
        assert (attempt["status"], attempt["error"]) == ("unused", "The server stopped meanwhile.")
        assert (call["status"], call["cost"]) == ("interrupted", attempt["cost"])
        assert attempt["cost"]
        assert not await BackgroundDraft.objects.aexists()
        await drafting.finish()
        await background_jobs.close()
        assert await Condensation.objects.values().aget() == attempt
        assert await ModelCall.objects.values().aget(purpose="summary") == call


async def test_a_turn_does_not_wait_for_a_draft_whose_process_has_ended(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It condenses itself where its request does not fit."""
    async with begin() as drafting:
        monkeypatch.setattr(background_drafts, "LOOK", 3_600)
        await belong_to_ended_process()
        drafting.standin.overflow()
        drafting.standin.then(Reply(SUMMARY), Reply("Yes."))
        await drafting.page.say("And?")
        await drafting.page.until_idle()
        assert await drafting.purposes() == ["chat", "summary", "chat", "summary", "chat"]
    left, made = [one async for one in Condensation.objects.order_by("started_at")]
    assert (left.status, left.error) == ("unused", "The server stopped meanwhile.")
    assert (made.status, made.trigger) == ("succeeded", "forced")


@pytest.mark.parametrize(("owner", "seconds"), [("", 0), ("0", 3_600)])
async def test_nobody_waits_for_a_draft_whose_writer_gives_no_sign_of_life(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, owner: str, seconds: int
) -> None:
    """Though its process may live; where that has ended, one look is enough."""
    monkeypatch.setattr(background_drafts, "LOOK", seconds)
    owner = this_process() + owner
    at_work = {"status": "running", "trigger": "ahead", "owner": owner}
    attempt = await sync_to_async(put_on_record)(conversation, at_seq=4, **at_work)
    await BackgroundDraft.objects.acreate(
        conversation=conversation, condensation=attempt, owner=owner
    )
    assert not await background_drafts.settled(conversation.pk)
    await attempt.arefresh_from_db()
    assert (attempt.status, attempt.error) == ("unused", "The server stopped meanwhile.")


async def test_a_turn_waits_for_no_draft_that_nobody_has_begun(
    conversation: Conversation,
    alice: User,
    anthropic_standin: Standin,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where all workers are busy; what is late then does nothing."""
    monkeypatch.setitem(JOBS, "write_draft", f"{other_process.__name__}.leave_draft")
    monkeypatch.setattr(background_drafts, "LOOK", 3_600)
    anthropic_standin.then(Reply(MORE), Reply("Yes."))
    async with open_page(conversation, alice) as page:
        await page.ask("And now?")
        assert await sync_to_async(background_drafts.is_being_written)(conversation.pk)
        # What fits goes on without a summary.
        await page.ask(MORE)
        anthropic_standin.overflow()
        anthropic_standin.then(Reply(SUMMARY), Reply("Yes."))
        await page.ask("And?")
    await draft_writer.write_draft(conversation.pk)
    made = await Condensation.objects.aget()
    assert (made.status, made.trigger) == ("succeeded", "forced")
    assert not await BackgroundDraft.objects.aexists()


@pytest.fixture
async def run(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> TurnContext:
    """A turn near its threshold, in which no worker is free for background jobs."""
    monkeypatch.setitem(JOBS, "write_draft", f"{other_process.__name__}.leave_draft")
    await Preferences.objects.aupdate(draft_share=60)
    return await sync_to_async(run_in)(conversation)


async def situation_in(run: TurnContext, tokens: int = 11_000) -> condense.Situation:
    """Return a run's situation with a context of so many tokens."""
    effective = await sync_to_async(message_store.read_effective)(run.conversation.pk)
    return condense.Situation(
        effective=effective, tokens=condense.TokenCount(tokens), budget=run.budget(effective)
    )


async def test_a_conversation_has_one_draft_whoever_begins_one(run: TurnContext) -> None:
    """Its row stays as it is, and no other is wanted beside it."""
    situation = await situation_in(run)
    await background_drafts.begin(run, situation)
    draft = await BackgroundDraft.objects.values().aget()
    begin = [background_drafts.begin(run, situation) for _ in range(3)]
    await asyncio.gather(*begin)
    assert await BackgroundDraft.objects.values().aget() == draft


async def test_no_draft_is_begun_where_no_strategy_has_a_summary_written(run: TurnContext) -> None:
    """Nor far from the threshold, nor after a summary failed in the same turn."""
    situation = await situation_in(run)
    await background_drafts.begin(run, await situation_in(run, tokens=7_000))
    await background_drafts.begin(run, replace(situation, may_ask=False))
    run.preferences.strategy = "ledger"
    await background_drafts.begin(replace(run), situation)
    assert not await BackgroundDraft.objects.aexists()


async def test_a_draft_is_applied_once_whoever_takes_it(
    run: TurnContext, anthropic_standin: Standin
) -> None:
    """Two processes may read it; the row is one's."""
    await background_drafts.begin(run, await situation_in(run))
    anthropic_standin.then(Reply(SUMMARY))
    await draft_writer.write_draft(run.conversation.pk)
    situation = await situation_in(run, 12_000)
    found = [await background_drafts.take(run, situation) for _ in range(2)]
    logs = [AttemptLog(journal_of(run, RecordingAudience())) for _ in found]
    taken = [
        await log.take_over(one[0], situation)
        for log, one in zip(logs, found, strict=True)
        if one is not None
    ]
    assert taken == [True, False]
    assert await background_drafts.take(run, situation) is None
    assert (await Condensation.objects.aget()).turn_id == run.turn.pk


async def test_nothing_is_spent_on_a_conversation_that_was_deleted(
    run: TurnContext, conversation: Conversation, anthropic_standin: Standin
) -> None:
    """What is to be written is not begun, and what is written is dropped."""
    situation, write = await situation_in(run), draft_writer.write_draft
    anthropic_standin.then(Reply(SUMMARY))
    for deleted_at in (timezone.now(), None):
        await Conversation.objects.aupdate(deleted_at=deleted_at)
        await background_drafts.begin(run, situation)
        await write(conversation.pk)
        ready = await sync_to_async(background_drafts.is_ready)(conversation.pk)
        assert ready is (deleted_at is None)
    await Conversation.objects.aupdate(deleted_at=timezone.now())
    await background_drafts.check(conversation.pk)
    attempt = await Condensation.objects.aget()
    assert (attempt.status, attempt.error) == ("unused", "The conversation was deleted.")
    assert not await BackgroundDraft.objects.aexists()


async def test_a_draft_that_is_not_enough_any_more_is_dropped(
    run: TurnContext, anthropic_standin: Standin, say: Say
) -> None:
    """What came since takes as much as all that it hides."""
    await background_drafts.begin(run, await situation_in(run))
    anthropic_standin.then(Reply(SUMMARY))
    await draft_writer.write_draft(run.conversation.pk)
    await sync_to_async(say)("user", "And south?", tokens=15_000)
    assert await background_drafts.take(run, await situation_in(run, 24_000)) is None
    attempt = await Condensation.objects.aget()
    assert attempt.status == "unused"
    assert "Newer messages grew too large" in attempt.error


async def test_a_worker_that_is_stopped_closes_the_draft_that_it_writes(
    run: TurnContext, anthropic_standin: Standin
) -> None:
    """Its cost is on record, and another may be begun at once."""
    await background_drafts.begin(run, await situation_in(run))
    anthropic_standin.then(Reply(SUMMARY, gate=(gate := Gate())))
    job = asyncio.create_task(draft_writer.write_draft(run.conversation.pk))
    assert await asyncio.to_thread(gate.wait_until_reached)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    attempt = await Condensation.objects.aget()
    assert (attempt.status, attempt.error) == ("unused", "The server was stopped.")
    assert attempt.cost == (await ModelCall.objects.aget()).cost
    assert attempt.cost
    assert not await BackgroundDraft.objects.aexists()
    gate.open()


async def test_an_orderly_stop_drops_what_is_being_written_here(
    run: TurnContext, anthropic_standin: Standin
) -> None:
    """Nobody would write the rest of it."""
    await background_drafts.begin(run, await situation_in(run))
    anthropic_standin.then(Reply(SUMMARY, gate=(gate := Gate())))
    job = asyncio.create_task(draft_writer.write_draft(run.conversation.pk))
    assert await asyncio.to_thread(gate.wait_until_reached)
    await background_drafts.drop_all("The server was stopped.")
    attempt = await Condensation.objects.aget()
    assert (attempt.status, attempt.error) == ("unused", "The server was stopped.")
    await job
    assert not gate.is_open
    gate.open()


async def test_pages_are_told_once_a_draft_is_written(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """Whoever looks at the bar then knows that the next condensation takes no time."""
    anthropic_standin.then(Reply(MORE), Reply(SUMMARY, gate=(gate := Gate())))
    async with open_page(conversation, alice) as page:
        await page.ask("And now?")
        assert "The summary is being drafted." in page.frames[-1]["due"]
        gate.open()
        while "The summary is drafted." not in (await page.until("panel.changed"))["due"]:
            pass
    await background_jobs.close()


async def test_a_draft_is_written_once_however_often_its_job_runs(
    run: TurnContext, conversation: Conversation, anthropic_standin: Standin
) -> None:
    """A queue may hand it out twice."""
    await background_drafts.begin(run, await situation_in(run))
    anthropic_standin.then(Reply(SUMMARY), Reply(SUMMARY))
    write = draft_writer.write_draft
    await asyncio.gather(write(conversation.pk), write(conversation.pk), write(conversation.pk))
    assert len(anthropic_standin.requests) == 1
    assert (await Condensation.objects.aget()).status == "drafted"
    assert await sync_to_async(background_drafts.is_ready)(conversation.pk)


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
        profile = conversation.profile
        assert profile
        ModelCall.objects.create(
            conversation=conversation,
            condensation=attempt,
            purpose="summary",
            profile_name=profile.name,
        )
        return attempt

    attempt = await sync_to_async(leave)()
    running_turns.cleared_up = False
    await running_turns.clear_up()
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
    begin: Begin, alice: User
) -> None:
    """Its page shows what was written and what it cost."""
    client = AsyncClient()
    await client.aforce_login(alice)
    async with begin() as drafting:
        await drafting.finish()
        attempt = await Condensation.objects.aget()
        for name in ("Summary drafted", "Draft not used"):
            record = await client.get(
                reverse("condensation", args=[attempt.conversation_id, attempt.pk])
            )
            assert "What was said." in record.text
            listed = await client.get(reverse("condensations"))
            assert name in listed.text
            chat = await client.get(reverse("chat", args=[attempt.conversation_id]))
            assert str(attempt.pk) not in chat.text
            await background_drafts.drop(attempt.conversation_id, "It was not needed.")


async def test_no_draft_is_begun_once_a_limit_is_reached(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """The turn took what was left; nothing of a draft is on record."""
    await Conversation.objects.filter(pk=conversation.pk).aupdate(budget="0.01")
    anthropic_standin.then(Reply(MORE))
    async with open_page(conversation, alice) as page:
        await page.say("And now?")
        await page.until_idle()
        await background_jobs.close()
    assert len(anthropic_standin.requests) == 1
    assert not await BackgroundDraft.objects.aexists()
    assert not await Condensation.objects.aexists()
    assert await conversation.turns.filter(status="succeeded").acount() == 3
