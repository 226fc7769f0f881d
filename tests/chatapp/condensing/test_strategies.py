"""How a context is made smaller is the user's choice: the strategy, and clearing before it."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
import pytest_django
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.urls import reverse

import condense
from chatapp.condensing import condenser_setup, undo
from chatapp.conversations.context.sizes import COUNTER
from chatapp.conversations.context.turn_context import TurnSettings
from chatapp.models import Condensation, Conversation, Preferences, Profile, accounts, message_store
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.rows import CondensationRow, MessageRow
from chatapp.web.forms.preferences import PreferencesForm
from chatapp.web.forms.profiles import ProfileForm
from condense.strategies.sliding_window import SlidingWindow
from tests.chatapp.claude import converse
from tests.chatapp.sockets import open_page
from tests.standin.behaviours import UNAUTHORIZED, Reply
from tests.standin.server import Standin

FILE = "one line of the file\n" * 100


def ladder(preferences: Preferences, **profile: Any) -> list[condense.Strategy]:
    """Return the strategies of a turn with these preferences and columns of its profile."""
    conversation, asked = Conversation(owner=preferences.owner), Profile(**profile)
    terms = TurnSettings(conversation=conversation, profile=asked, preferences=preferences)
    loaded = condenser_setup.loaded_configuration(terms).strategies
    return [one for one in loaded if not isinstance(one, str)]


def rungs(owner: User, **choices: Any) -> list[str]:
    """Return the ladder of a user who chose this."""
    preferences = accounts.preferences_of(owner)
    form = PreferencesForm({"threshold": 80, "step_limit": 9, **choices}, instance=preferences)
    assert form.is_valid(), form.errors
    return [strategy.name for strategy in ladder(form.save())]


def read_twice(conversation: Conversation) -> None:
    """Have the agent read one file, then the same again."""
    for number in range(2):
        call = condense.ToolUseBlock(f"toolu_{number}", "read_file", {"path": "a.py"})
        result = condense.ToolResultBlock(f"toolu_{number}", FILE)
        for message in (
            condense.Message("user", "Look at a.py"),
            condense.Message("assistant", (call,)),
            condense.Message("user", (result,)),
            condense.Message("assistant", "Seen."),
        ):
            tokens = condense.count_message(message, COUNTER)
            message_store.append_message(conversation.pk, message, tokens=tokens)


@pytest.fixture
def cleared(alice: User, standin: Standin) -> Conversation:
    """A conversation of Alice's, who has superseded output cleared."""
    preferences = accounts.preferences_of(alice)
    preferences.clear_tool_output = True
    preferences.save()
    conversation = converse(alice, standin)
    read_twice(conversation)
    return conversation


def test_the_users_strategy_comes_first_and_simpler_ones_follow(alice: User) -> None:
    """Whatever is chosen, the last rung needs no model."""
    assert rungs(alice, strategy="keep_recent") == ["keep_recent", "ledger", "sliding_window"]
    assert rungs(alice, strategy="ledger") == ["ledger", "sliding_window"]
    chosen = rungs(alice, strategy="sliding_window", clear_tool_output="on")
    assert chosen == ["clear", "sliding_window"]
    # Who wants no truncation in place of a summary may still choose it.
    assert rungs(alice, strategy="sliding_window", stop_when_full="on") == ["sliding_window"]
    both = {"stop_when_full": "on", "clear_tool_output": "on"}
    assert rungs(alice, strategy="fresh_start", **both) == ["clear", "fresh_start"]


def test_the_guides_windows_can_be_chosen(alice: User) -> None:
    """By name; as many messages are kept as the user says, and the first one where they want it.

    An empty field keeps what was stored.
    """
    form = PreferencesForm(instance=accounts.preferences_of(alice))
    assert "Last messages" in str(form["strategy"])
    first = [one["label"] for one in form.methods if one["is_first"]]
    assert first == ["Summary", "Summary + recent messages", "Key facts only"]
    kept = rungs(alice, strategy="last_messages", last_messages=7, truncated_percent=30)
    assert kept == ["last_messages", "ledger", "sliding_window"]
    windows, _ledger, last = map(vars, ladder(accounts.preferences_of(alice)))
    assert (windows, last["fraction"]) == ({"last": 7}, 0.3)
    assert rungs(alice, strategy="newest_exchange")[0] == "newest_exchange"
    rungs(alice, strategy="keep_recent", messages_kept=7)
    rungs(alice, strategy="keep_recent", messages_kept="", keep_first="on")
    recent: Any = ladder(accounts.preferences_of(alice))[0]
    assert (recent.messages, recent.tokens, recent.keep_first) == (7, None, True)


def test_newest_messages_are_kept_by_tokens_where_settings_or_profile_say_so(alice: User) -> None:
    """The profile's own number counts before that of the settings; too small a one is refused."""
    rungs(alice, strategy="keep_recent", tokens_kept=20_000)
    preferences = accounts.preferences_of(alice)
    kept = [ladder(preferences)[0], ladder(preferences, tokens_kept=4_000)[0]]
    assert [getattr(one, "tokens") for one in kept] == [20_000, 4_000]  # noqa: B009 - a strategy's own
    form = PreferencesForm({"threshold": 80, "step_limit": 9, "tokens_kept": 499})
    assert "tokens_kept" in form.errors
    profile = Profile.objects.filter(owner=alice).first()
    assert "tokens_kept" in ProfileForm(instance=profile).fields


def test_who_chooses_the_servers_strategy_follows_the_server(alice: User) -> None:
    """Also when it changes later."""
    assert rungs(alice, strategy="fresh_start")[0] == "fresh_start"
    with override_settings(CONDENSE_STRATEGY="ledger"):
        assert ladder(accounts.preferences_of(alice))[0].name == "ledger"


def only_truncate(wanted: condense.Configuration) -> condense.Configuration:
    """Return an operator's configuration, which has one strategy by name and one of its own."""
    return replace(wanted, strategies=("keep_recent", SlidingWindow(0.25)))


def test_the_strategies_of_the_operators_configuration_hold(alice: User) -> None:
    """In place of the user's; one that is named is made with the user's options."""
    rungs(alice, strategy="ledger", messages_kept=7)
    with override_settings(CONDENSE_CONFIGURATION=f"{__name__}.only_truncate"):
        kept, window = ladder(accounts.preferences_of(alice))
    assert (kept.name, getattr(kept, "messages")) == ("keep_recent", 7)  # noqa: B009 - as above
    assert isinstance(window, SlidingWindow)
    assert window.fraction == 0.25


def test_a_strategy_of_the_servers_own_can_be_chosen(alice: User) -> None:
    """By its dotted path; one that nobody offers is refused."""
    path = "condense.strategies.keep_recent.KeepRecent"
    with override_settings(CONDENSE_STRATEGY=path):
        form = PreferencesForm(instance=accounts.preferences_of(alice))
        assert path in str(form["strategy"])
        assert rungs(alice, strategy=path)[0] == "keep_recent"
    form = PreferencesForm({"strategy": "os.system"}, instance=accounts.preferences_of(alice))
    assert "strategy" in form.errors


def save(browser: Client, **sent: Any) -> None:
    """Save settings on their page."""
    answer = browser.post(reverse("settings"), {"threshold": 80, "step_limit": 9, **sent})
    assert answer.status_code == 302, answer.context["form"].errors


def long_conversation(owner: User, standin: Standin, **limits: int) -> Conversation:
    """Return a conversation of 30 messages, which take 300 tokens each."""
    conversation = converse(owner, standin, **limits)
    for number in range(30):
        said = condense.Message("assistant" if number % 2 else "user", f"Topic {number}. " * 80)
        message_store.append_message(conversation.pk, said, tokens=300)
    return conversation


@pytest.mark.parametrize("stops", [False, True])
async def test_a_full_window_is_truncated_unless_its_owner_wants_an_error(
    browser: Client, alice: User, standin: Standin, stops: bool
) -> None:
    """The share to hide is the owner's as well."""
    wanted = {"truncated_percent": 90, **({"stop_when_full": "on"} if stops else {})}
    await sync_to_async(save)(browser, **wanted)
    full = await sync_to_async(long_conversation)(alice, standin, context_window=6_000)
    async with open_page(full, alice) as page:
        await page.say("And now?")
        await page.until_idle()
    turn = await full.turns.alatest("started_at")
    assert (len(standin.requests), "truncation is off" in turn.error) == (not stops, stops)
    cut = [one async for one in Condensation.objects.filter(kind="truncated")]
    assert [one.messages_hidden > 20 for one in cut] == ([] if stops else [True])


@pytest.mark.parametrize("stops", [False, True])
async def test_a_failed_summary_hides_nothing_where_its_owner_wants_an_error(
    browser: Client, alice: User, standin: Standin, stops: bool
) -> None:
    """The turn ends with the reason, and asks anew when it is tried again."""
    await sync_to_async(save)(
        browser, auto_condense="on", **({"stop_when_full": "on"} if stops else {})
    )
    full = await sync_to_async(long_conversation)(alice, standin, context_window=9_000)
    standin.then(UNAUTHORIZED, *([] if stops else [Reply("Here.")]))
    async with open_page(full, alice) as page:
        await page.say("And now?")
        await page.until_idle()
        turn = await full.turns.alatest("started_at")
        assert (turn.status, bool(turn.error)) == ("failed" if stops else "succeeded", stops)
        assert await full.messages.filter(hidden=True).aexists() is not stops
        if stops:
            seq = turn.at_seq if turn.last_seq is None else turn.last_seq
            await page.send("turn.retry", nonce=str(uuid.uuid4()), seq=seq)
            await page.until_idle()
    made = Condensation.objects.order_by("started_at").values_list("status", flat=True)
    assert [one async for one in made] == ["failed", "succeeded"]


@pytest.fixture
def prompted(browser: Client, alice: User, standin: Standin) -> Conversation:
    """A conversation whose profile has a prompt of its own, and no summary carries facts."""
    conversation = long_conversation(alice, standin)
    new = {"prompts-TOTAL_FORMS": 1, "prompts-INITIAL_FORMS": 0, "prompts-0-name": "Code"}
    save(browser, **new, **{"prompts-0-text": "Name every file."}, check_summaries="false")
    named = alice.condensing_prompts.get().pk
    chosen = {"mode": "own", "own_threshold": 60, "condensing_prompt": named}
    sent = {f"profile-{conversation.profile_id}-{name}": one for name, one in chosen.items()}
    save(browser, **sent, attach_ledger="false")
    return conversation


async def test_a_profiles_prompt_asks_for_its_summaries(
    prompted: Conversation, alice: User, standin: Standin
) -> None:
    """All is saved together; what was switched off is not there, what was not sent as it was."""
    standin.reply("<summary>All of it.</summary>")
    async with open_page(prompted, alice) as page:
        await page.send("condense.start")
        await page.until_idle()
    attempt = await Condensation.objects.select_related("message").aget()
    assert (attempt.status, attempt.prompt) == ("succeeded", "Name every file.")
    assert attempt.prompt in str(standin.requests[0].body["messages"][-1])
    assert "Topic 2." not in str(attempt.message and attempt.message.content)
    wanted = await Preferences.objects.aget()
    assert (wanted.threshold, attempt.threshold) == (80, 60)
    assert (wanted.auto_condense, wanted.attach_files, wanted.check_summaries) == (0, 1, 0)


async def test_superseded_output_is_one_line_in_the_next_request(
    cleared: Conversation, alice: User, standin: Standin
) -> None:
    """No call is made for it; the newest read is sent whole, and an undo brings all back.

    A row tells of it, and marks the output, which is still there to read.
    """
    before = await sync_to_async(message_store.read_effective)(cleared.pk)
    async with open_page(cleared, alice) as page:
        await page.send("condense.start")
        await page.until_idle()
        assert "one line each" in page.frames[-1]["notice"]
        assert not standin.requests
        await page.say("And now?")
        await page.until_idle()
    (sent,) = standin.requests
    assert not standin.problems
    results = [
        block["content"]
        for message in sent.body["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert "cleared" in str(results[0])
    assert FILE not in str(results[0])
    assert FILE.split("\n", maxsplit=1)[0] in str(results[1])
    await sync_to_async(check_row)(cleared, alice)
    attempt = await Condensation.objects.select_related("conversation", "message").aget()
    assert (attempt.kind, attempt.status, attempt.cost) == ("cleared", "succeeded", 0)
    assert (attempt.messages_hidden, attempt.results_hidden) == (0, 1)
    await sync_to_async(undo.undo_condensation)(condensation=attempt)
    assert (await sync_to_async(message_store.read_effective)(cleared.pk))[: len(before)] == before


def check_row(conversation: Conversation, owner: User) -> None:
    """Check what the page shows of a clearing."""
    rows = row_pages.page(conversation).rows
    (row,) = [row for row in rows if isinstance(row, CondensationRow)]
    assert (row.words.name, row.hidden_text) == ("Tool output cleared", "1 result cleared")
    cards = [part for one in rows if isinstance(one, MessageRow) for part in one.parts]
    first, second = [card for card in cards if card.kind == "tool"]
    assert (first.result, second.result) == (FILE, FILE)
    assert first.cleared is not None
    assert first.cleared.row_id == row.id
    assert second.cleared is None
    client = Client()
    client.force_login(owner)
    page = client.get(reverse("chat", args=[conversation.pk])).content.decode()
    assert "Undo clearing" in page
    hidden = client.get(reverse("hidden", args=[conversation.pk, row.attempt.pk]))
    assert hidden.text.count('class="row original') == 1
    assert FILE.split("\n", maxsplit=1)[0] in hidden.text


ASKED: set[tuple[str, str, str]] = set()


def resolve(query: condense.ThresholdQuery) -> None:
    """Note whose threshold is looked for, and leave it to others."""
    ASKED.add(("resolver", query.user, query.conversation))


async def decide(situation: condense.Situation) -> bool:
    """Note whose context it is, and have it condensed."""
    ASKED.add(("hook", situation.user, situation.conversation))
    return True


def listen(event: condense.Event) -> None:
    """Note whose attempt it is."""
    ASKED.add(("listener", event.attempt.user, event.attempt.conversation))


def note_all(wanted: condense.Configuration) -> condense.Configuration:
    """Return an operator's configuration that notes whom it is for."""
    hooks = condense.Hooks(should_condense=(decide,), listeners=(listen,))
    return replace(wanted, thresholds=(resolve, *wanted.thresholds), hooks=hooks)


async def test_hooks_and_resolvers_know_user_and_conversation(
    alice: User, standin: Standin, settings: pytest_django.Settings
) -> None:
    """By the ids that the application has for them."""
    settings.CONDENSE_CONFIGURATION = f"{__name__}.note_all"
    settings.CONDENSE_DEFAULT_HOOKS = False
    talk = await sync_to_async(long_conversation)(alice, standin)
    standin.reply("<summary>All of it.</summary>")
    ASKED.clear()
    async with open_page(talk, alice) as page:
        await page.ask("And now?")
    ids = str(alice.pk), str(talk.pk)
    assert {("resolver", *ids), ("hook", *ids), ("listener", *ids)} <= ASKED
