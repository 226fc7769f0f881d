"""What services change, and what they refuse."""

from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from chatapp.condensing import undo
from chatapp.conversations import conversations, rewind
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import terms_with
from chatapp.conversations.files.checkpoints import Change, Checkpoints
from chatapp.conversations.toolbox.toolbox import workspace_of
from chatapp.models import (
    Checkpoint,
    Condensation,
    Conversation,
    Message,
    Preferences,
    Profile,
    Share,
    Turn,
    accounts,
    errors,
    message_store,
)
from chatapp.models.processes import this_process
from chatapp.turns import crash_recovery
from tests.chatapp.audited import talk
from tests.chatapp.conftest import Say, summarise
from tests.records import record_for


def test_the_owner_is_made_once(db: None) -> None:
    """With an Offline profile by default."""
    owner = accounts.prepare_owner()
    assert accounts.prepare_owner() == owner
    assert accounts.preferences_of(owner).default_profile == Profile.objects.get()
    assert Profile.objects.get().provider == "offline"


def test_the_first_operator_who_can_sign_in_is_the_owner(alice: User, bob: User) -> None:
    """The link that a start prints opens something, also where the first one was deactivated."""
    User.objects.update(is_superuser=True)
    assert accounts.prepare_owner() == alice
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert accounts.prepare_owner() == bob
    User.objects.update(is_active=False)
    assert accounts.prepare_owner() == alice


def test_a_key_that_comes_adds_claude_as_the_default(alice: User, settings: LazySettings) -> None:
    """Beside the Offline profile, with a number where the name is taken; no key is stored.

    It is made once: where it is removed it stays so.
    """
    accounts.preferences_of(alice)
    Profile.objects.update(name="Claude")
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    default = accounts.preferences_of(alice).default_profile
    assert default is not None
    assert (default.name, default.has_key) == ("Claude 2", False)
    assert {profile.name for profile in alice.profiles.all()} == {"Claude", "Claude 2"}
    alice.profiles.all().delete()
    assert accounts.preferences_of(alice).default_profile is None
    assert not alice.profiles.exists()


def test_a_key_that_comes_later_does_not_replace_a_chosen_model(
    alice: User, settings: LazySettings
) -> None:
    """Whoever entered a key of their own has chosen, and needs no second profile."""
    preferences = accounts.preferences_of(alice)
    mine = Profile(owner=alice, name="Mine", provider="anthropic", context_window=1, max_output=1)
    mine.save()
    Preferences.objects.filter(pk=preferences.pk).update(default_profile=mine)
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    assert accounts.preferences_of(alice).default_profile == mine
    mine.delete()
    accounts.preferences_of(alice)
    assert [profile.name for profile in alice.profiles.all()] == ["Offline"]


def test_preferences_are_read_without_a_transaction(
    alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Reading must go on while the database can't be written."""
    accounts.preferences_of(alice)
    with django_assert_num_queries(1) as queries:
        accounts.preferences_of(alice)
    assert queries.captured_queries[0]["sql"].startswith("SELECT")


def test_a_rewind_is_undone_until_something_new_is_written(
    conversation: Conversation, say: Say
) -> None:
    """Of two, the latest comes first; while a turn runs, nothing is rewound."""
    talk(conversation, "One", "Two", "Three", "Four", "Five", "Six")
    before = message_store.read_effective(conversation.pk)
    later = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=5)
    earlier = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=3)
    with pytest.raises(errors.Refused):
        rewind.undo_rewind(rewind=later)
    for one in (earlier, later):
        rewind.undo_rewind(rewind=one)
    assert message_store.read_effective(conversation.pk) == before
    record = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=2)
    say("user", "something new")
    with pytest.raises(errors.Refused, match="Something new"):
        rewind.undo_rewind(rewind=record)
    Turn.objects.create(conversation=conversation)
    with pytest.raises(errors.Refused, match="Stop it first"):
        rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1)


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_what_fills_the_window_beside_the_reply_still_fits_when_it_is_undone(
    conversation: Conversation, say: Say, *, more: int, fits: bool
) -> None:
    """To the token: the threshold and the buffer for wrong estimates are for what grows."""
    say("user", "text")
    last = say("assistant", "text")
    profile = conversation.profile
    assert profile is not None
    scale = Scale.read(terms_with(conversation, profile))
    size = scale.weigh(message_store.read_effective(conversation.pk)).value
    room = profile.context_window - profile.output_limit - size
    Message.objects.filter(pk=last.pk).update(tokens=last.tokens + room + more)
    attempt = record_for(conversation, summarise(conversation))
    if fits:
        undo.undo_condensation(condensation=attempt)
    else:
        with pytest.raises(errors.Refused, match="The originals need about"):
            undo.undo_condensation(condensation=attempt)
    attempt.refresh_from_db()
    assert (attempt.status == Condensation.Status.UNDONE) is fits


def test_only_what_began_before_is_taken_for_interrupted(
    conversation: Conversation, say: Say
) -> None:
    """What begins while somebody looks for what a crash left goes on."""
    say("user", "Hello")
    looked = timezone.now()
    turn = Turn.objects.create(conversation=conversation, owner=this_process())
    attempt = record_for(conversation, say("user", "x"))
    open_still = {"status": Condensation.Status.RUNNING, "turn": turn}
    Condensation.objects.filter(pk=attempt.pk).change(**open_still)
    assert crash_recovery.close_unsaved([], conversation, looked) == set()
    turn.refresh_from_db()
    attempt.refresh_from_db()
    assert (turn.is_over, attempt.status) == (False, "running")
    assert crash_recovery.close_unsaved([], conversation, timezone.now()) == {conversation.pk}
    attempt.refresh_from_db()
    assert attempt.status == "failed"


@pytest.mark.skipif(not Checkpoints.are_possible(), reason="git is not installed")
def test_a_rewind_names_the_files_that_it_can_bring_back(
    conversation: Conversation, say: Say
) -> None:
    """Those that changed since the message; without a checkpoint there are none."""
    turn = Turn.objects.create(conversation=conversation)
    assert rewind.files_to_bring_back(conversation=conversation, first_hidden_seq=1) == ([], "")
    file = (folder := workspace_of(conversation)) / "a.txt"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text("one\n")
    say("user", "Change it.")
    Checkpoint.objects.create(turn=turn, seq=1, name=Checkpoints(folder).take())
    file.write_text("two\n")
    changes, diff = rewind.files_to_bring_back(conversation=conversation, first_hidden_seq=1)
    assert changes == [Change("a.txt", 1, 1)]
    assert "-two\n+one" in diff


@pytest.mark.parametrize(("system", "measured"), [("As before.", 7), ("Be brief.", None)])
def test_another_system_prompt_voids_what_was_measured(
    conversation: Conversation, system: str, measured: int | None
) -> None:
    """It was part of that; limits and tools are not."""
    conversation.system_prompt, conversation.measured_tokens = "As before.", 7
    conversation.save()
    conversations.change_settings(
        conversation=conversation, tool_policies={}, system_prompt=system, budget=Decimal(2)
    )
    conversation.refresh_from_db()
    assert (conversation.measured_tokens, conversation.budget) == (measured, 2)


def test_a_new_link_takes_the_place_of_the_old_one(conversation: Conversation, say: Say) -> None:
    """It shows what was said until then; of nothing there is none."""
    with pytest.raises(errors.Refused, match="nothing to share"):
        conversations.share_conversation(conversation=conversation)
    say("user", "Hello.")
    first = conversations.share_conversation(conversation=conversation, tools=True)
    say("assistant", "Hi.")
    assert conversations.share_conversation(conversation=conversation) != first
    share = Share.objects.get()
    assert (share.until, share.tools, share.digest == Share.digest_of(first)) == (2, False, False)
