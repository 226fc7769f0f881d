"""Other settings tried on a stored conversation: side by side, and nothing of it is applied."""

from decimal import Decimal
from typing import Any

import pytest
import pytest_django
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations import conversations
from chatapp.models import (
    Condensation,
    Conversation,
    ModelCall,
    Preferences,
    Profile,
    Turn,
    accounts,
)
from chatapp.project.sentences import money
from tests.chatapp.browsers import HTMX
from tests.chatapp.claude import answered_by, converse
from tests.chatapp.conftest import Say
from tests.chatapp.gateway.streams import event
from tests.records import append_many
from tests.standin.behaviours import Answer
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 }} %s"
HEARD: list[condense.Event] = []
LISTENING = condense.Hooks(listeners=(HEARD.append,))
NOTHING = "Nothing new to condense yet."
FREE = ["clear", "ledger", "sliding_window", "last_messages", "newest_exchange"]


def talk(conversation: Conversation, turns: int = 20) -> None:
    """Fill a conversation with questions and answers."""
    rows: list[tuple[condense.Message, int]] = []
    for number in range(turns):
        asked = f"Version {number}.5 is out. " + f"You must never touch file_{number}.py. " * 8
        said = f"It took {number}.5 s and nothing else. " * 20
        rows += [(condense.Message("user", asked), 80), (condense.Message("assistant", said), 240)]
    append_many(conversation.pk, [*rows, (condense.Message("user", "And now?"), 5)])


def compare(browser: Client, conversation: Conversation, **fields: Any) -> Any:
    """Press Compare, or another button, and return the answer."""
    data = {"strategies": FREE, "thresholds": "60, 100", "writer": "", "prompt": ""} | fields
    return browser.post(reverse("what_if", args=[conversation.pk]), data)


def as_stored(conversation: Conversation) -> tuple[object, ...]:
    """Return what must not change where something is only tried."""
    whole = Conversation.objects.get(pk=conversation.pk)
    rows = whole.messages.order_by("seq").values_list("pk", "hidden", "condense_parent")
    return (*rows, whole.revision, whole.audit_number, Condensation.objects.count())


def test_strategies_stand_side_by_side_and_nothing_is_applied(
    conversation: Conversation, browser: Client, settings: pytest_django.Settings
) -> None:
    """Tokens, cost, receipt and groundedness of each, and how each threshold would have done.

    The server's listeners hear of what happens, and nothing does.
    """
    talk(conversation)
    before = as_stored(conversation)
    settings.CONDENSE_HOOKS = f"{__name__}.LISTENING"
    answer = compare(browser, conversation, thresholds="5, 100")
    assert HEARD == []
    cards = {card.tried.variant.strategy: card for card in answer.context["cards"]}
    assert {*cards} == {*FREE}
    ledger = cards["ledger"]
    assert ledger.tried.reduction.tokens_after.value < ledger.tried.reduction.tokens_before.value
    assert ledger.hidden_text == "40 messages"
    assert ledger.tried.cost == 0
    assert ledger.tried.receipt.total.kept > 0
    assert ledger.grounded_percent > 90
    assert cards["sliding_window"].grounded_percent is None
    assert [row.variant.threshold for row in ledger.tried.so_far] == [5, 100]
    starts = [row.starts for row in ledger.tried.so_far]
    page = answer.text
    for words in ("Side by side", "are in the originals", "Use this", "At 100%", *map(str, starts)):
        assert words in page
    assert as_stored(conversation) == before
    assert not ModelCall.objects.exists()


def test_a_lower_threshold_would_have_condensed_more_often(
    conversation: Conversation, browser: Client
) -> None:
    """Told from what was written, as if nothing had been condensed; the model reads less."""
    Profile.objects.filter(pk=conversation.profile_id).update(context_window=9_000, max_output=500)
    talk(conversation, 40)
    answer = compare(browser, conversation, strategies=["ledger"], thresholds="40 100")
    low, high = answer.context["cards"][0].tried.so_far
    assert low.followed.condensations > high.followed.condensations > 0
    assert low.followed.largest < high.followed.largest < 9_000
    assert low.followed.tokens_read < high.followed.tokens_read


def test_what_is_used_from_now_on_is_in_the_settings(
    conversation: Conversation, alice: User, browser: Client
) -> None:
    """Strategy and threshold; the conversation stays as it is."""
    talk(conversation)
    before = as_stored(conversation)
    answer = compare(browser, conversation, use="ledger|60|")
    assert answer.status_code == 302
    preferences = Preferences.objects.get(owner=alice)
    assert (preferences.strategy, preferences.threshold) == ("ledger", 60)
    assert Profile.objects.get(pk=conversation.profile_id).threshold == condense.INHERIT
    assert as_stored(conversation) == before
    compare(browser, conversation, use="clear|60|")
    preferences.refresh_from_db()
    assert (preferences.strategy, preferences.clear_tool_output) == ("ledger", True)


def test_more_thresholds_than_are_compared_are_refused(
    conversation: Conversation, browser: Client
) -> None:
    """Nothing that was entered is left out silently."""
    talk(conversation, 2)
    answer = compare(browser, conversation, thresholds="50 60 70 80 90")
    assert answer.context["form"].errors == {"thresholds": ["Up to four, as in “60, 80”."]}
    assert not compare(browser, conversation, thresholds="50 60 70 80 80").context["form"].errors


def test_a_profile_with_a_threshold_of_its_own_gets_the_new_one(
    conversation: Conversation, alice: User, bob: User, browser: Client
) -> None:
    """The one that answers here; neither one that does elsewhere, nor another user's settings."""
    theirs = conversations.start_conversation(owner=bob).profile
    assert theirs is not None
    Profile.objects.update(threshold=90)
    wanted = accounts.preferences_of(bob)
    compare(browser, conversation, use="ledger|60|")
    assert Profile.objects.get(pk=conversation.profile_id).threshold == 60
    assert Preferences.objects.get(owner=alice).threshold == 100
    assert Profile.objects.get(pk=theirs.pk).threshold == 90
    compare(browser, conversation, use="clear|60|", prompt="In one line.")
    assert accounts.preferences_of(bob).strategy == wanted.strategy == ""
    assert not accounts.preferences_of(bob).clear_tool_output


def test_a_prompt_and_a_writer_are_used_where_they_were_tried(
    conversation: Conversation, alice: User, browser: Client
) -> None:
    """Only the button of the card that has them; the other one keeps the prompt in force."""
    writer = conversations.start_conversation(owner=alice).profile
    assert writer is not None
    other = answered_by(alice, "offline", "offline", "")
    named = alice.condensing_prompts.create(name="Own", text="Named.")
    mine = Profile.objects.filter(pk=conversation.profile_id)
    mine.update(condensing_prompt=named)
    assert "Named." in browser.get(reverse("what_if", args=[conversation.pk])).text
    fields = {"strategies": ["fresh_start"], "prompt": "In one line.", "writer": other.pk}
    compare(browser, conversation, use="fresh_start|60|", **fields)
    assert Preferences.objects.get(owner=alice).condensing_prompt == ""
    assert mine.get().condensing_prompt == named
    compare(browser, conversation, use="fresh_start|60|1", **fields)
    assert Preferences.objects.get(owner=alice).condensing_prompt == "In one line."
    assert (mine.get().condensing_prompt, mine.get().summaries_by) == (None, other)


@pytest.fixture
def claude(alice: User, anthropic_standin: Standin) -> Conversation:
    """A conversation that the stand-in answers."""
    conversation = converse(alice, anthropic_standin)
    talk(conversation)
    return conversation


def test_a_model_is_asked_once_its_price_was_confirmed(
    claude: Conversation, browser: Client, anthropic_standin: Standin
) -> None:
    """Not by comparing; the call is on record and in the costs, and belongs to no turn.

    It begins as the conversation's own calls do, whose beginning the provider may have.
    """
    Conversation.objects.filter(pk=claude.pk).update(system_prompt="Speak as a pirate would.")
    before = as_stored(claude)
    fields = {"strategies": ["fresh_start"], "thresholds": "100"}
    card = compare(browser, claude, **fields).context["cards"][0].tried
    assert card.reduction is None
    assert card.predicted_cost > 0
    assert anthropic_standin.requests == []
    ask = {"ask": "fresh_start||", **fields}
    for confirmed in ("0.00001", "nan"):
        sent = {"prompt": "", "writer": "", "predicted": confirmed, **ask}
        refused = browser.post(reverse("what_if", args=[claude.pk]), sent, headers=HTMX)
        assert refused.status_code == 422
    assert anthropic_standin.requests == []
    answer = compare(browser, claude, predicted=str(card.predicted_cost), **ask)
    tried = answer.context["card"].tried
    assert tried.reduction.summary
    assert tried.predicted_cost == card.predicted_cost
    assert "Speak as a pirate would." in str(anthropic_standin.requests[0].body["system"])
    assert [row.variant.threshold for row in tried.so_far] == [100]
    call = ModelCall.objects.get()
    assert (call.purpose, call.status) == ("summary", ModelCall.Status.SUCCEEDED)
    assert (call.turn, call.condensation) == (None, None)
    assert call.cost == tried.cost
    assert call.cost == pytest.approx(card.predicted_cost, rel=Decimal("0.5"))
    assert as_stored(claude) == before
    assert not Turn.objects.exists()
    assert money(call.cost) in browser.get(reverse("costs")).text


def test_what_a_trial_was_charged_is_its_cost(
    claude: Conversation, browser: Client, anthropic_standin: Standin
) -> None:
    """Whatever its prices say."""
    said = "<analysis>Short.</analysis><summary>What was said.</summary>"
    usage = {"input_tokens": 5, "cost": 0.25}
    told = event("message_start", message={"usage": usage})
    told += event("content_block_start", index=0, content_block={"type": "text", "text": said})
    told += event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 9})
    anthropic_standin.then(Answer([told + event("message_stop")]))
    fields = {"strategies": ["fresh_start"], "thresholds": "100", "ask": "fresh_start||"}
    answer = compare(browser, claude, predicted="9", **fields)
    # A summary that left something out was completed by a second call.
    spent = ModelCall.objects.spent()["cost"]
    assert answer.context["card"].tried.cost == spent > Decimal("0.25")


def test_a_prompt_stands_beside_the_one_in_force_where_a_model_reads_it(
    conversation: Conversation, browser: Client
) -> None:
    """What asks no model is the same with either; a free one is confirmed to be that."""
    talk(conversation)
    both = ["ledger", "fresh_start"]
    answer = compare(browser, conversation, strategies=both, prompt="In one line.")
    found = [(card.tried.variant.strategy, card.entered) for card in answer.context["cards"]]
    assert found == [("ledger", False), ("fresh_start", False), ("fresh_start", True)]
    fields = {"strategies": ["fresh_start"], "ask": "fresh_start||", "predicted": "0"}
    answer = compare(browser, conversation, **fields)
    assert answer.status_code == 200
    assert answer.context["card"].tried.reduction.summary
    assert ModelCall.objects.get().cost == 0


def test_a_price_that_nobody_knows_has_to_be_confirmed_as_such(
    claude: Conversation, browser: Client, anthropic_standin: Standin
) -> None:
    """With no figure, however large."""
    prices = dict.fromkeys(("price_input", "price_cache_write"), 0)
    Profile.objects.filter(pk=claude.profile_id).update(**prices)
    fields = {"strategies": ["fresh_start"], "ask": "fresh_start||"}
    for confirmed in ("1000", "inf"):
        assert compare(browser, claude, predicted=confirmed, **fields).status_code == 302
    assert anthropic_standin.requests == []
    answer = compare(browser, claude, predicted="unknown", **fields)
    assert answer.context["card"].tried.reduction.summary
    assert ModelCall.objects.get().cost is None


def test_what_asks_no_model_is_offered_first(conversation: Conversation, browser: Client) -> None:
    """And is chosen to begin with, beside the strategy in force; chat and records link to it."""
    address = reverse("what_if", args=[conversation.pk])
    listed = f"{reverse('condensations')}?conversation={conversation.pk}"
    for page in (reverse("chat", args=[conversation.pk]), listed):
        assert f'href="{address}"' in browser.get(page).text
    form = browser.get(address).context["form"]
    names = [value for value, _label in form.fields["strategies"].choices]
    assert {*names[: len(FREE)]} == {*FREE}
    assert {*form.initial["strategies"]} == {*FREE, "fresh_start"}


def test_a_writer_of_its_own_is_not_sent_what_the_conversation_begins_with(
    claude: Conversation, alice: User, browser: Client, anthropic_standin: Standin
) -> None:
    """So its system prompt makes a summary dearer only where its own model writes that."""
    other = answered_by(alice, "anthropic", "claude-opus-5", anthropic_standin.url)
    predicted: dict[str, list[int]] = {"": [], str(other.pk): []}
    for prompt in ("", "Speak as a pirate would. " * 200):
        Conversation.objects.filter(pk=claude.pk).update(system_prompt=prompt)
        for writer, found in predicted.items():
            answer = compare(browser, claude, strategies=["fresh_start"], writer=writer)
            found.append(answer.context["cards"][0].tried.predicted.total)
    grown = {writer: long - short for writer, (short, long) in predicted.items()}
    # How long a summary should be goes by the size of the whole.
    assert grown[""] > 800
    assert abs(grown[str(other.pk)]) < 200


def test_a_spending_limit_stops_it_as_well(
    claude: Conversation, browser: Client, anthropic_standin: Standin
) -> None:
    """It is said on the card, and nobody is asked."""
    ModelCall.objects.create(conversation=claude, purpose="chat", model="x", cost=Decimal(2))
    Conversation.objects.filter(pk=claude.pk).update(budget=Decimal(1))
    fields = {"strategies": ["fresh_start"], "ask": "fresh_start||", "predicted": "1"}
    answer = compare(browser, claude, **fields)
    assert "budget" in answer.context["card"].tried.error
    assert anthropic_standin.requests == []


def test_what_was_said_is_text(conversation: Conversation, say: Say, browser: Client) -> None:
    """In facts, summaries and what is not in the originals."""
    for _ in range(4):
        say("user", f"You must never do {HOSTILE}", tokens=200)
        say("assistant", f"{HOSTILE} took 3.5 s", tokens=200)
    say("user", HOSTILE)
    page = compare(browser, conversation, prompt=HOSTILE).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page


@pytest.mark.parametrize(
    "fields", [{"thresholds": "4"}, {"strategies": ["no"]}, {"writer": "99999999"}]
)
def test_what_cannot_be_tried_is_said(
    conversation: Conversation, browser: Client, fields: dict[str, Any]
) -> None:
    """At its field."""
    answer = compare(browser, conversation, **fields)
    assert answer.status_code == 422
    assert "errorlist" in answer.text


@pytest.mark.parametrize("use", ["ledger", "ledger|61|", "other|60|"])
def test_only_what_was_compared_is_used(
    conversation: Conversation, alice: User, browser: Client, use: str
) -> None:
    """A button of another page changes nothing that was not there."""
    assert compare(browser, conversation, use=use).status_code == 302
    preferences = Preferences.objects.get(owner=alice)
    assert preferences.strategy in {"", "ledger"}
    assert preferences.threshold in {60, 100}


def test_an_empty_conversation_has_nothing_to_try_on(
    conversation: Conversation, browser: Client
) -> None:
    """One sentence says so, and one without a profile says what to do first."""
    answer = compare(browser, conversation)
    assert {card.tried.error for card in answer.context["cards"]} == {NOTHING}
    assert answer.text.count(NOTHING) == 1
    assert "<article" not in answer.text
    Conversation.objects.filter(pk=conversation.pk).update(profile=None)
    answer = browser.get(reverse("what_if", args=[conversation.pk]), follow=True)
    assert "has no profile" in answer.text


def test_what_condensing_may_cost_is_told_before(
    claude: Conversation, alice: User, browser: Client, anthropic_standin: Standin
) -> None:
    """With the settings in force, without asking anybody; the ledger costs nothing.

    What the provider has in its cache is read from there.
    """
    address = reverse("forecast", args=[claude.pk])
    called = {"purpose": "chat", "model": "claude-opus-5", "tokens_output": 7}
    ModelCall.objects.create(conversation=claude, **called)
    Conversation.objects.filter(pk=claude.pk).update(measured_tokens=6_000, measured_seq=41)
    card = compare(browser, claude, strategies=["fresh_start"]).context["cards"][0].tried
    assert card.predicted.cache_read > 0
    said = browser.get(address).text
    assert money(card.predicted_cost) in said
    Preferences.objects.filter(owner=alice).update(strategy="ledger")
    assert "no model is called" in browser.get(address).text
    assert anthropic_standin.requests == []
