"""The context bar: how full the window is, and where and why condensing starts."""

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string

from chatapp.condensing.undo import undo_condensation
from chatapp.conversations.rewind import rewind_conversation
from chatapp.models import Conversation, Preferences, Profile, accounts, message_store
from chatapp.page.live.status_panel import ContextState
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.runs import bar_of
from tests.records import put_on_record, record_for

WINDOW, OUTPUT = 100_000, 10_000


@pytest.fixture
def profile(conversation: Conversation) -> Profile:
    """The profile that answers, of round numbers."""
    profile = conversation.profile
    assert profile
    profile.context_window, profile.max_output = WINDOW, OUTPUT
    profile.save()
    return profile


def state_of(conversation: Conversation, **wishes: object) -> ContextState:
    """Return the bar's numbers under these preferences."""
    accounts.preferences_of(conversation.owner)
    Preferences.objects.filter(owner=conversation.owner).update(**wishes)
    state = bar_of(conversation)
    assert state
    return state


@pytest.mark.parametrize(
    ("wishes", "own", "at", "source"),
    [
        ({}, -1, 80_000, ""),
        ({"threshold": 50}, -1, 50_000, "Settings"),
        ({"threshold": 50}, 30, 30_000, "Profile"),
        ({"threshold": 50}, 95, 80_000, ""),
        ({"auto_condense": False, "threshold": 50}, 30, 80_000, ""),
    ],
)
def test_it_says_where_condensing_starts(
    conversation: Conversation,
    profile: Profile,
    wishes: dict[str, object],
    own: int,
    at: int,
    source: str,
) -> None:
    """The profile's own threshold before the user's, and what a request may hold before both."""
    profile.threshold = own
    profile.save()
    state = state_of(conversation, **wishes)
    assert (state.condenses_at, state.source) == (at, source)
    assert f"{at:,} tokens ({at // 1_000}%)" in state.reason


def test_it_warns_ten_points_before(conversation: Conversation, profile: Profile, say: Say) -> None:
    """So that nobody is surprised."""
    say("user", "Hello", tokens=35_000)
    assert not state_of(conversation, threshold=50).warn
    say("user", "And more", tokens=6_000)
    assert state_of(conversation, threshold=50).warn


def test_from_then_on_it_says_how_far_it_is_to_go(
    conversation: Conversation, profile: Profile, say: Say
) -> None:
    """Unless nothing could be condensed; a truncation is called one.

    Each says how long it can wait, which is offered only while the next request fits.
    """
    say("user", "Hello", tokens=41_000)
    assert state_of(conversation, threshold=50).due is None
    say("assistant", "Hello", tokens=10)
    near = state_of(conversation, threshold=50)
    assert near.due
    assert near.due.words == f"Condenses in about {50_000 - near.used:,} tokens."
    room = 90_000 - near.used
    assert near.due.note == f"Can wait for about {room:,} more tokens."
    assert state_of(conversation, threshold=60).due is None
    over = state_of(conversation, threshold=30).due
    assert over
    assert (over.words, over.may_wait) == (
        "Your next message will condense the context first.",
        True,
    )
    message_store.put_off(conversation, True)
    put_off = state_of(conversation, threshold=30).due
    assert put_off
    assert (put_off.words, put_off.note, put_off.may_wait) == (
        f"About {room:,} more tokens fit.",
        "Won't condense this turn.",
        False,
    )
    say("user", "More", tokens=50_000)
    full = state_of(conversation, threshold=30).due
    assert full
    assert (full.words, full.note) == (over.words, "")
    assert not full.may_wait
    cut = state_of(conversation, auto_condense=False).due
    assert cut
    assert cut.words == "Your next message will hide the oldest messages, unsummarised."


def test_after_an_attempt_it_is_due_once_enough_is_new(
    conversation: Conversation, profile: Profile, say: Say
) -> None:
    """Also where it was undone; one that was rewound or a draft that was not used was none."""
    say("user", "Hello", tokens=500)
    say("assistant", "Hello", tokens=45_000)
    undo_condensation(condensation=record_for(conversation, summarise(conversation)))
    put_on_record(conversation, trigger="ahead", status="unused", at_seq=4)
    say("user", "More", tokens=1_000)
    say("assistant", "Sure", tokens=1_000)
    waits = state_of(conversation, threshold=30).due
    assert waits
    assert waits.words == "Condenses in about 3,000 tokens."
    say("user", "Enough", tokens=3_000)
    over = state_of(conversation, threshold=30).due
    assert over
    assert over.words == "Your next message will condense the context first."
    rewound = record_for(conversation, summarise(conversation))
    rewind_conversation(conversation=conversation, first_hidden_seq=rewound.message.seq)
    assert state_of(conversation, threshold=30).due == over


def test_its_parts_add_up_to_what_is_used(
    conversation: Conversation, profile: Profile, say: Say
) -> None:
    """A summary is told from the messages that follow it."""
    say("user", "Hello", tokens=500)
    say("assistant", "Hello", tokens=700)
    summarise(conversation, keep=1, tokens=300)
    state = state_of(conversation)
    parts = {one.name: one.tokens for one in state.segments}
    drawn = render_to_string("chat/_context_bar.html", {"context": state})
    assert all(f"<dd>≈ {tokens:,}</dd>" in drawn for tokens in parts.values() if tokens)
    assert list(parts) == ["system", "tools", "summary", "messages"]
    assert (parts["summary"], parts["messages"]) == (300, 700)
    assert sum(parts.values()) == state.used
    assert state.used + state.reserved + state.available == WINDOW


def test_without_a_profile_there_is_no_window(conversation: Conversation, alice: User) -> None:
    """Whoever removed it has to choose another first."""
    alice.profiles.all().delete()
    assert bar_of(conversation) is None
