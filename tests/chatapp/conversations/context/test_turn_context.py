"""Where condensing starts is said in one sentence, with one number, wherever it is said."""

from dataclasses import replace

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

import condense
from chatapp.conversations.context import turn_context
from chatapp.conversations.context.sizes import CondensingPoint, figures_of
from chatapp.conversations.context.turn_context import TurnSettings
from chatapp.models import Condensation, Conversation, accounts
from chatapp.page.live.status_panel import state_of
from chatapp.web.forms.preferences import PreferencesForm


def budget(threshold: float = 100) -> condense.Budget:
    """A window of 16,000 tokens with 1,600 of headroom and 4,000 for the reply's sake."""
    return condense.Budget(window=16_000, max_output=4_000, threshold=threshold)


def test_where_a_request_would_be_too_long_decides_unless_the_threshold_is_lower() -> None:
    """The number is what is allowed, not the one after it."""
    whole = CondensingPoint.of_budget(budget(), automatic=True)
    assert whole.at == int(budget().allowed) == 16_000 - 4_000 - 1_600
    kept = "4,000 reserved, 1,600 for wrong estimates"
    assert str(whole) == f"Condenses at {whole.at:,} tokens (65%): {kept}"
    lower = CondensingPoint.of_budget(budget(30), automatic=True)
    assert (lower.at, str(lower)) == (4_800, "Condenses at 4,800 tokens (30%)")


def test_the_sentence_says_what_happens_instead_and_what_held_when_an_attempt_was_made() -> None:
    """Without automatic condensing only what no longer fits is hidden, whatever the threshold."""
    said = str(CondensingPoint.of_budget(budget(30), automatic=False))
    assert said.startswith(f"Truncates at {int(budget().allowed):,} tokens")
    assert said.endswith("automatic condensing is off")
    attempt = Condensation(context_window=16_000, threshold=100.0, allowed=10_400)
    assert str(CondensingPoint.of_attempt(attempt)) == "Condenses at 10,400 tokens (65%)"


def test_the_servers_buffer_is_kept_free_wherever_a_window_is_shown(
    settings: Settings, client: Client, alice: User
) -> None:
    """In what a request may hold, and in what the pages of settings and profiles calculate with."""
    settings.CONDENSE_BUFFER = 25
    client.force_login(alice)
    preferences = accounts.preferences_of(alice)
    profile = alice.profiles.get()
    budget = turn_context.budget_for(profile, preferences)
    assert budget.allowed == 0.75 * profile.context_window - profile.output_limit
    page = client.get(reverse("settings")).content.decode()
    assert f'data-allowed="{int(budget.allowed)}"' in page
    german = {"Accept-Language": "de"}
    assert 'data-buffer="0.25"' in client.get(reverse("new_profile"), headers=german).text


def test_the_threshold_adapts_to_the_conversation_where_the_user_wants_it(
    browser: Client, alice: User
) -> None:
    """Until a turn is complete the percentage holds, and a profile's own value always."""
    assert "Adapt the threshold to the conversation" in browser.get(reverse("settings")).text
    preferences, profile = accounts.preferences_of(alice), alice.profiles.get()
    wishes = {"threshold": 60, "adaptive": "on", "step_limit": 9}
    PreferencesForm(wishes, instance=preferences).save()
    turn = [condense.Message("user", "Go on."), condense.Message("assistant", "Done.")]
    found = turn_context.budget_for(profile, preferences, (*turn, turn[0]))
    assert (found.threshold > 60, found.threshold_source) == (True, "adaptive")
    before = turn_context.budget_for(profile, preferences)
    assert (before.threshold, before.threshold_source) == (60, "global")
    profile.threshold = 70
    own = turn_context.budget_for(profile, preferences, (*turn, turn[0]))
    assert (own.threshold, own.threshold_source) == (70, "profile")


def grow_with_the_talk(wanted: condense.Configuration) -> condense.Configuration:
    """Change the configuration as a server's operator does."""
    return replace(wanted, thresholds=(condense.Adaptive(turns=2), *wanted.thresholds))


def start_early(wanted: condense.Configuration) -> condense.Configuration:
    """Change the configuration to one percentage for everybody."""
    return replace(wanted, thresholds=(condense.Fixed(20),))


def test_the_server_may_have_thresholds_of_its_own(
    settings: Settings, conversation: Conversation
) -> None:
    """They see the conversation, also for the bar; where they know nothing the user's hold."""
    settings.CONDENSE_CONFIGURATION = f"{__name__}.grow_with_the_talk"
    preferences, profile = accounts.preferences_of(conversation.owner), conversation.profile
    assert profile is not None
    turn = [condense.Message("user", "Go on."), condense.Message("assistant", "word " * 2_000)]
    history = (*turn, *turn, turn[0])
    found = turn_context.budget_for(profile, preferences, history)
    assert found.threshold_source == "adaptive"
    assert turn_context.budget_for(profile, preferences).threshold == preferences.threshold
    terms = TurnSettings(conversation=conversation, profile=profile, preferences=preferences)
    size = condense.TokenCount(5_000)
    early = state_of(terms, figures_of(terms, history, size)).condenses_at
    assert early < state_of(terms, figures_of(terms, (), size)).condenses_at
    assert state_of(terms, figures_of(terms, history, size)).source == "Adapted"
    settings.CONDENSE_CONFIGURATION = f"{__name__}.start_early"
    terms = TurnSettings(conversation=conversation, profile=profile, preferences=preferences)
    assert state_of(terms, figures_of(terms, history, size)).source == "Operator"
