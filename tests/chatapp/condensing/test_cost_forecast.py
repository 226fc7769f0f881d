"""What a condensation is predicted to cost, and what it cost, part by part, as far as known."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
import pytest_django
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense as engine
from chatapp.condensing.costs import CACHED_FOR, is_cheaper, predict, still_cached
from chatapp.conversations import conversations
from chatapp.models import (
    Condensation,
    Conversation,
    ModelCall,
    Preferences,
    Profile,
    Turn,
    message_store,
)
from chatapp.page.transcript import condensation_page
from chatapp.records.maintenance.integrity import find_problems
from chatapp.turns import follow_ups
from chatapp.turns.running_turns import running_turns
from chatapp.web.forms.profiles import ProfileForm
from tests.chatapp.claude import answered_by, converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.runs import ended, run_in
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import Page, open_page
from tests.long_texts import filler
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
# In USD per million tokens, as models cost that are read from a cache at a tenth.
PAID = {"price_input": 5, "price_output": 25, "price_cache_read": 0.5, "price_cache_write": 6.25}
FREE = {"price_input": 0, "price_cache_write": 0}
LONG = filler(2_500)


@pytest.fixture
def profile(alice: User, anthropic_standin: Standin) -> Profile:
    """A profile whose provider caches prompts, and charges for what is written there."""
    door = next(door for door in DOORS if door.name == "anthropic")
    return answered_by(alice, door.name, door.model, door.url(anthropic_standin))


async def condense(profile: Profile, user: User) -> Condensation:
    """Talk in a new conversation, press Condense, and return the record."""
    begin = sync_to_async(conversations.start_conversation)
    conversation = await begin(owner=user, profile=profile)
    async with open_page(conversation, user) as page:
        for number in range(3):
            await page.say(f"{number} {LONG}")
            await page.until_idle()
        await page.send("condense.start")
        await page.until_idle()
    return await Condensation.objects.aget(conversation=conversation)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
async def test_what_the_cache_has_is_predicted_to_be_read_from_it(
    alice: User, anthropic_standin: Standin, browser: Client, door: Door
) -> None:
    """Through every vendor's door; the record's page has both, by part."""
    profile = await sync_to_async(answered_by)(
        alice, door.name, door.model, door.url(anthropic_standin)
    )
    attempt = await condense(profile, alice)
    predicted = attempt.predicted
    assert predicted is not None
    assert attempt.predicted_cost == profile.cost_of(predicted)
    spent = (await sync_to_async(condensation_page.read_record)(attempt)).spent
    assert spent[1].predicted == pytest.approx(spent[1].tokens, rel=0.25)
    said = sum(part.predicted or 0 for part in spent[:3])
    assert said == pytest.approx(sum(part.tokens for part in spent[:3]), rel=0.25)
    address = reverse("condensation", args=[attempt.conversation_id, attempt.pk])
    page = (await sync_to_async(browser.get)(address)).content.decode()
    assert "Predicted tokens" in page
    assert "Predicted cost" in page


def test_a_call_without_an_answer_leaves_nothing_in_the_cache(
    alice: User, profile: Profile
) -> None:
    """Nor does one of another conversation, or one of long ago."""
    conversation, other = (
        conversations.start_conversation(owner=alice, profile=profile) for _ in range(2)
    )
    expected = engine.Usage(input=10, output=5, cache_read=1_000)

    terms = run_in(conversation)

    def cached() -> int:
        return predict(terms, expected, unchanged=True).cache_read

    def call(where: Conversation, minutes: int, tokens: int) -> None:
        made = ModelCall.objects.create(
            conversation=where, purpose="chat", model=profile.model, tokens_output=tokens
        )
        at = timezone.now() - timedelta(minutes=minutes)
        ModelCall.objects.filter(pk=made.pk).update(created_at=at)

    call(conversation, 0, 0)
    call(conversation, 60, 7)
    call(other, 0, 7)
    assert cached() == 0
    call(conversation, 0, 7)
    assert cached() == 1_000


@pytest.mark.parametrize(
    ("provider", "url", "prices", "expected"),
    [
        ("openai", "", FREE, None),
        ("openai", "https://openrouter.ai/api/v1", FREE, None),
        ("openai", "https://openrouter.ai/api/v1", {**FREE, "price_input": 2}, Decimal(2)),
        ("openai", "http://localhost:11434/v1", FREE, Decimal(0)),
        ("openai", "http://127.0.0.1:1/v1", FREE, Decimal(0)),
        ("offline", "", FREE, Decimal(0)),
    ],
)
def test_a_price_nobody_told_is_unknown_where_there_is_one(
    alice: User, provider: str, url: str, prices: dict[str, int], expected: Decimal | None
) -> None:
    """A server that needs no key charges nothing."""
    profile = answered_by(alice, provider, "m", url, **prices)
    assert Profile.objects.get(pk=profile.pk).cost_of(engine.Usage(1_000_000)) == expected


async def test_an_unknown_cost_is_shown_as_one(
    alice: User, browser: Client, anthropic_standin: Standin
) -> None:
    """Of a call, of its turn and of a condensation; the sums go on with what is known."""
    profile = await sync_to_async(answered_by)(
        alice, "anthropic", "claude-x", anthropic_standin.url, **FREE
    )
    attempt = await condense(profile, alice)
    assert attempt.cost is None
    costs = [one.cost async for one in ModelCall.objects.all()]
    assert costs == [None] * 4
    shown = await sync_to_async(browser.get)(reverse("chat", args=[attempt.conversation_id]))
    assert "$0" not in shown.content.decode()
    assert await sync_to_async(lambda: [*find_problems()])() == []


async def test_a_prompt_of_which_nothing_was_told_is_estimated(
    alice: User, anthropic_standin: Standin
) -> None:
    """Where a server reports no usage, what went in counts all the same, as an estimate."""
    url = f"{anthropic_standin.url}/v1"
    profile = await sync_to_async(answered_by)(alice, "openai", "m", url)
    conversation = await sync_to_async(conversations.start_conversation)(
        owner=alice, profile=profile
    )
    anthropic_standin.then(Reply("Yes.", usage=False))
    async with open_page(conversation, alice) as page:
        await page.say(LONG)
        await page.until_idle()
    call = await ModelCall.objects.aget()
    assert not call.usage_measured
    assert call.tokens_input > 1_000
    assert call.cost


@pytest.fixture
def writer(alice: User, anthropic_standin: Standin) -> Profile:
    """A cheaper profile of Alice's, with a window of its own."""
    columns = {"context_window": 60_000, "price_input": 1, "price_cache_write": 1}
    return answered_by(alice, "anthropic", "claude-haiku-4-5", anthropic_standin.url, **columns)


async def test_the_summary_is_written_by_the_other_model_at_its_prices(
    profile: Profile, alice: User, writer: Profile, anthropic_standin: Standin, browser: Client
) -> None:
    """From the conversation as text, of which it has read nothing; the record says who wrote it."""
    profile.summaries_by = writer
    await profile.asave()
    attempt = await condense(profile, alice)
    assert (attempt.status, attempt.model) == ("succeeded", profile.model)
    assert (attempt.writer_name, attempt.writer_model) == (writer.name, "claude-haiku-4-5")
    call = await ModelCall.objects.aget(purpose=ModelCall.Purpose.SUMMARY)
    assert (call.model, call.profile_name) == (writer.model, writer.name)
    assert call.cost == attempt.cost == Decimal(call.tokens_prompt) / 1_000_000
    chats = ModelCall.objects.filter(purpose=ModelCall.Purpose.CHAT)
    assert await sync_to_async(set)(chats.values_list("model", flat=True)) == {profile.model}
    sent = anthropic_standin.requests[-1].body
    assert sent["model"] == "claude-haiku-4-5"
    assert "tools" not in sent
    assert "You summarise conversations" in str(sent["system"])
    assert anthropic_standin.problems == []
    predicted = attempt.predicted
    assert predicted is not None
    assert predicted.cache_read == 0
    assert predicted.prompt > 1_000
    assert attempt.predicted_cost == writer.cost_of(predicted)
    url = reverse("chat", args=[attempt.conversation_id])
    page = " ".join((await sync_to_async(browser.get)(url)).content.decode().split())
    code = '<code title="claude-haiku-4-5">claude-haiku-4-5</code>'
    assert f"Summary by</dt> <dd>{writer.name} · {code}" in page


def test_only_the_owners_other_profiles_can_be_chosen(
    alice: User, bob: User, profile: Profile, writer: Profile
) -> None:
    """Neither the profile itself, nor one of Bob's."""
    bobs = Profile.objects.create(
        owner=bob, name="B", provider="offline", model="m", context_window=9_000, max_output=9
    )
    field = ProfileForm(instance=profile).fields["summaries_by"]
    assert [*field.queryset] == [writer]
    for wrong in (profile, bobs):
        form = ProfileForm({"summaries_by": wrong.pk}, instance=profile)
        assert "summaries_by" in form.errors


@pytest.fixture
def conversation(
    alice: User,
    anthropic_standin: Standin,
    settings: pytest_django.Settings,
    short_summaries: None,
) -> Conversation:
    """A conversation of some 9,000 tokens, which condenses at 12,000 of 24,000."""
    settings.CONDENSE_IDLE_AFTER = 0
    Preferences.objects.filter(owner=alice).update(threshold=50, condense_idle=True)
    limits = {"context_window": 24_000, "max_output": 4_000}
    conversation = converse(alice, anthropic_standin, **limits)
    Profile.objects.filter(pk=conversation.profile_id).update(**PAID)
    return talk_long(conversation)


async def test_after_a_rest_a_conversation_is_condensed_where_that_is_cheaper(
    anthropic_standin: Standin, page: Page
) -> None:
    """Once, in a turn of its own, and on record as what it is."""
    anthropic_standin.then(Reply("Yes."), Reply(SUMMARY))
    await page.say("And now?")
    await page.until_idle()
    await page.until("status.changed", text="Condensing context…")
    await page.until_idle()
    attempt = await Condensation.objects.aget()
    assert (attempt.trigger, attempt.status) == ("idle", "succeeded")
    calls = [one.purpose async for one in ModelCall.objects.order_by("pk")]
    assert calls == ["chat", "summary"]


def answer_another(conversation: Conversation) -> None:
    """Have somebody say something since, which was answered."""
    end(ask(conversation), "So.")


def close_server(_conversation: Conversation) -> None:
    """Let nothing begin any more."""
    running_turns.closing = True


def do_nothing(_conversation: Conversation) -> None:
    """Let all be as it was."""


@pytest.mark.parametrize(
    ("meanwhile", "condensed"),
    [(do_nothing, 1), (ask, 0), (answer_another, 0), (close_server, 0)],
)
async def test_a_rest_ends_in_nothing_where_something_was_said_or_the_server_stops(
    conversation: Conversation,
    anthropic_standin: Standin,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: Callable[[Conversation], object],
    condensed: int,
) -> None:
    """It looks again when its time is over."""
    monkeypatch.setattr(running_turns, "closing", False)
    anthropic_standin.then(Reply(SUMMARY))
    last = await conversation.turns.alatest("started_at")
    await sync_to_async(meanwhile)(conversation)
    await follow_ups.condense_idle(str(last.pk))
    await ended(conversation)
    assert await conversation.turns.filter(origin=Turn.Origin.CONDENSED).acount() == condensed
    assert await Condensation.objects.filter(status="succeeded").acount() == condensed


@pytest.mark.parametrize(
    ("paid", "wishes", "cheaper"),
    [
        ({}, {}, True),
        # An output so dear that the summary costs more than the prompt.
        ({"price_output": 100}, {}, False),
        # One that pays only as long as nobody counts the system prompt and tools of the next call.
        ({"price_output": 60}, {}, False),
        # Nothing is saved where the cache is as dear as the rest, or nothing has a price.
        ({"price_cache_read": 6.25}, {}, False),
        (dict.fromkeys(PAID, 0), {}, False),
        ({}, {"condense_idle": False}, False),
        ({}, {"review_automatic": True}, False),
        # It is not half way yet.
        ({"context_window": 60_000}, {}, False),
    ],
)
def test_it_is_cheaper_by_the_prices_of_the_profile(
    conversation: Conversation, paid: dict[str, float], wishes: dict[str, object], cheaper: bool
) -> None:
    """A summary now and a short prompt later, against the whole prompt, uncached, later."""
    Profile.objects.filter(pk=conversation.profile_id).update(**paid)
    Preferences.objects.filter(owner=conversation.owner).update(**wishes)
    terms = run_in(conversation)
    assert is_cheaper(terms, message_store.read_effective(conversation.pk)) is cheaper


def test_what_was_put_off_is_not_condensed_in_a_rest(conversation: Conversation) -> None:
    """Nobody wants it now."""
    message_store.put_off(conversation, True)
    assert not run_in(conversation).condenses_idle


def test_a_model_that_only_writes_summaries_has_no_prompt_in_its_cache(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """So nothing is saved by asking it in a rest."""
    other = answered_by(alice, "anthropic", "claude-opus-5", anthropic_standin.url)
    Profile.objects.filter(pk=conversation.profile_id).update(summaries_by=other)
    history = message_store.read_effective(conversation.pk)
    assert not is_cheaper(run_in(conversation), history)


@pytest.mark.parametrize(
    ("minutes", "changed", "known"), [(0, {}, 3_000), (4.5, {}, 3_000), (5, {}, 0),
     (0, {"usage_measured": False}, 0), (0, {"error": "x"}, 0), (0, {"model": "other"}, 0)],
)  # fmt: skip
def test_a_provider_keeps_what_the_last_answer_read_and_wrote_for_five_minutes(
    conversation: Conversation, minutes: float, changed: dict[str, object], known: int
) -> None:
    """As long as nothing of it has changed since."""
    at = timezone.now() - timedelta(minutes=minutes)
    told = {"model": conversation.profile.model, "tokens_estimated": 1, "purpose": "chat"}
    sizes = {"tokens_cache_read": 1_000, "tokens_cache_write": 2_000}
    made = ModelCall.objects.create(conversation=conversation, **told | sizes | changed)
    ModelCall.objects.filter(pk=made.pk).update(created_at=at)
    conversation.measured_tokens = 3_000
    found = still_cached(conversation, conversation.profile)
    assert found == (known, at + CACHED_FOR if known else None)
    conversation.measured_tokens = None
    assert still_cached(conversation, conversation.profile) == (0, None)
