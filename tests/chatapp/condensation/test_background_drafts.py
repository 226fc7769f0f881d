"""Summaries drafted in the background: the turn that needs one finds it written."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import pytest_django
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient, Client
from django.urls import reverse

import condense
from chatapp.condensation import background_drafts
from chatapp.conversations import pins
from chatapp.conversations.rewind import rewind_conversation
from chatapp.models import (
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
from chatapp.turns.active_conversation import ActiveConversation
from chatapp.turns.active_conversations import registry
from tests.chatapp.audited import problems
from tests.chatapp.claude import converse
from tests.chatapp.condensation.conftest import talk_long
from tests.chatapp.runs import run_in
from tests.chatapp.sockets import Page, open_page
from tests.chatapp.test_forms import PROFILE
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


@pytest.fixture
def begin(conversation: Conversation, alice: User, anthropic_standin: Standin) -> Begin:
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
        actions.announce_change(conversation.pk)
        await drafting.page.until("transcript.changed")
        await unused()
    attempt = await Condensation.objects.aget()
    assert attempt.status == Condensation.Status.UNUSED
    assert said in attempt.error
    assert attempt.cost
    assert attempt.cost == (await ModelCall.objects.aget(purpose="summary")).cost


async def unused() -> None:
    """Return once the draft is on record as one that was not used."""
    dropped = Condensation.objects.filter(status=Condensation.Status.UNUSED)
    while not await dropped.aexists():
        pass


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
    monkeypatch.setattr(registry, "loop", loop)
    active = ActiveConversation(conversation.pk, registry)
    monkeypatch.setitem(registry.conversations, conversation.pk, active)
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
    assert background_drafts.is_wanted(run_in(conversation)) is drafts


async def test_what_a_stopped_server_left_of_a_draft_is_closed_with_its_cost(
    conversation: Conversation, begin: Begin
) -> None:
    """Nobody can use it any more, whether or not it was written; those of others stay."""
    async with begin() as drafting:
        await drafting.finish()
        await sync_to_async(crash_recovery.close_left)()
        assert (await Condensation.objects.aget()).status == "drafted"
        # Its number has another process now.
        await Condensation.objects.aupdate(owner=f"{this_process()}0")
        await sync_to_async(crash_recovery.close_left)()
        await drafting.ask()
        drafting.standin.then(Reply(SUMMARY))
        await drafting.ask()
        assert await drafting.purposes() == ["chat", "summary", "chat", "summary", "chat"]
    left, made = [one async for one in Condensation.objects.order_by("started_at")]
    assert (left.status, left.error) == ("unused", "The server stopped meanwhile.")
    assert left.cost
    assert (made.status, made.trigger) == ("succeeded", "auto")


async def test_what_a_draft_cost_until_its_server_was_killed_is_on_record(
    conversation: Conversation,
) -> None:
    """As the next start clears up: its call is not taken for one of which nothing is known."""

    def leave() -> Condensation:
        attempt = put_on_record(
            conversation, at_seq=1, status="running", trigger="ahead", tokens_before=9_000
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
    registry.cleared_up = False
    await registry.clear_up()
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
    assert f"can cost up to $0.06 with {conversation.profile}" in page
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
        await background_drafts.settled(conversation.pk)
    assert len(anthropic_standin.requests) == 1
    assert not await Condensation.objects.aexists()
    assert await conversation.turns.filter(status="succeeded").acount() == 3
