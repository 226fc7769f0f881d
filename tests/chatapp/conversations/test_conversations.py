"""What services change, and what they refuse."""

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from chatapp import errors
from chatapp.accounts import accounts, credentials
from chatapp.condensation import undo
from chatapp.context.sizes import context_size
from chatapp.conversations import conversations, rewind
from chatapp.files import workspaces
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    Preferences,
    Profile,
    Turn,
    message_store,
)
from chatapp.models.profiles import KeySource
from chatapp.turns import assembly, lifecycle
from tests.chatapp.conftest import Say, summarise, use_tools
from tests.records import put_on_record


def test_the_owner_is_made_once(db: None) -> None:
    """With an Offline profile by default."""
    owner = accounts.prepare_owner()
    assert accounts.prepare_owner() == owner
    assert accounts.preferences_of(owner).default_profile == Profile.objects.get()
    assert Profile.objects.get().provider == "offline"


def test_a_key_in_the_environment_makes_claude_the_default(
    alice: User, settings: LazySettings
) -> None:
    """Beside the Offline profile; the key itself is not stored."""
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    default = accounts.preferences_of(alice).default_profile
    assert default is not None
    assert (default.name, default.has_key) == ("Claude", False)
    assert set(Profile.objects.values_list("name", flat=True)) == {"Offline", "Claude"}


def test_a_key_that_comes_later_adds_claude(alice: User, settings: LazySettings) -> None:
    """On the next start."""
    accounts.preferences_of(alice)
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    default = accounts.preferences_of(alice).default_profile
    assert default is not None
    assert default.name == "Claude"


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


def test_a_removed_profile_stays_removed(alice: User, settings: LazySettings) -> None:
    """Each provider's first profile is made once."""
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    accounts.preferences_of(alice)
    alice.profiles.all().delete()
    assert accounts.preferences_of(alice).default_profile is None
    assert not alice.profiles.exists()


def test_a_name_that_is_taken_is_no_obstacle(alice: User, settings: LazySettings) -> None:
    """The first profile then has a number."""
    accounts.preferences_of(alice)
    Profile.objects.update(name="Claude")
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    accounts.preferences_of(alice)
    assert {profile.name for profile in alice.profiles.all()} == {"Claude", "Claude 2"}


def test_preferences_are_read_without_a_transaction(
    alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Reading must go on while the database can't be written."""
    accounts.preferences_of(alice)
    with django_assert_num_queries(1) as queries:
        accounts.preferences_of(alice)
    assert queries.captured_queries[0]["sql"].startswith("SELECT")


def test_the_server_s_key_is_for_its_provider_at_its_own_address(
    alice: User, settings: LazySettings
) -> None:
    """Neither an address of the user's nor another provider gets it."""
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    profile = Profile(owner=alice, provider="anthropic")
    assert profile.key_source is KeySource.SERVER
    profile.base_url = "https://llm.example.org"
    assert profile.key_source is KeySource.MISSING
    profile.set_key("sk-own")
    assert profile.key_source is KeySource.OWN
    assert Profile(provider="offline").key_source is KeySource.NOT_NEEDED
    assert Profile(provider="gone").key_source is KeySource.MISSING


def test_a_sign_in_link_works_once(alice: User) -> None:
    """The token itself is not stored."""
    token = credentials.create_sign_in_token(user=alice)
    assert credentials.redeem_sign_in_token(token=token) == alice
    assert credentials.redeem_sign_in_token(token=token) is None
    assert credentials.redeem_sign_in_token(token="made up") is None


def test_a_new_sign_in_link_ends_the_one_before(alice: User) -> None:
    """Each start prints a fresh one."""
    first = credentials.create_sign_in_token(user=alice)
    credentials.create_sign_in_token(user=alice)
    assert credentials.redeem_sign_in_token(token=first) is None


def test_a_stored_key_is_encrypted_and_can_be_read_back(alice: User) -> None:
    """Only through the model's own method."""
    profile = Profile(owner=alice, name="Mine")
    profile.set_key("sk-secret")
    assert "sk-secret" not in profile.encrypted_key
    assert profile.read_key() == "sk-secret"
    profile.set_key("")
    assert not profile.has_key


def test_rewinding_is_refused_while_a_turn_runs(conversation: Conversation, say: Say) -> None:
    """The turn would go on writing to what was hidden."""
    say("user", "Hello")
    Turn.objects.create(conversation=conversation)
    with pytest.raises(errors.Refused, match="Stop it first"):
        rewind.rewind_conversation(conversation=conversation, to_seq=1)


def test_a_rewind_says_in_advance_what_it_hides(conversation: Conversation, say: Say) -> None:
    """Messages, results of tools and condensations are counted apart, as people see them."""
    for number in range(5):
        say("user" if number % 2 == 0 else "assistant", "text")
    use_tools(conversation, 2)
    summarise(conversation)
    preview = rewind.preview_rewind(conversation=conversation, to_seq=3)
    record = rewind.rewind_conversation(conversation=conversation, to_seq=3)
    for one in (preview, record):
        counted = (one.messages_hidden, one.results_hidden, one.condensations_hidden)
        assert counted == (4, 2, 1)


def test_a_rewind_is_undone_until_something_new_is_written(
    conversation: Conversation, say: Say
) -> None:
    """Then the refusal says why."""
    for number in range(4):
        say("user" if number % 2 == 0 else "assistant", f"text {number}")
    before = message_store.read_effective(conversation.pk)
    rewind.undo_rewind(rewind=rewind.rewind_conversation(conversation=conversation, to_seq=2))
    assert message_store.read_effective(conversation.pk) == before
    record = rewind.rewind_conversation(conversation=conversation, to_seq=2)
    say("user", "something new")
    with pytest.raises(errors.Refused, match="Something new"):
        rewind.undo_rewind(rewind=record)


def test_only_the_latest_of_two_rewinds_can_be_undone(conversation: Conversation, say: Say) -> None:
    """Otherwise a gap would open in between."""
    for number in range(6):
        say("user" if number % 2 == 0 else "assistant", f"text {number}")
    later = rewind.rewind_conversation(conversation=conversation, to_seq=5)
    earlier = rewind.rewind_conversation(conversation=conversation, to_seq=3)
    with pytest.raises(errors.Refused):
        rewind.undo_rewind(rewind=later)
    rewind.undo_rewind(rewind=earlier)
    rewind.undo_rewind(rewind=later)
    assert len(message_store.read_effective(conversation.pk)) == 6


def record_for(conversation: Conversation, message: Message) -> Condensation:
    """Return a record of a condensation that succeeded."""
    return put_on_record(conversation, message=message, at_seq=message.seq - 1, tokens_before=100)


def test_undoing_a_condensation_brings_the_originals_back(
    conversation: Conversation, say: Say
) -> None:
    """And the record stays, as undone."""
    for number in range(4):
        say("user" if number % 2 == 0 else "assistant", f"text {number}")
    before = message_store.read_effective(conversation.pk)
    attempt = record_for(conversation, summarise(conversation))
    undo.undo_condensation(condensation=attempt)
    assert [m.to_api() for m in message_store.read_effective(conversation.pk)] == [
        m.to_api() for m in before
    ]
    attempt.refresh_from_db()
    assert attempt.status == Condensation.Status.UNDONE
    revision = Conversation.objects.get().revision
    undo.undo_condensation(condensation=attempt)
    assert Conversation.objects.get().revision == revision


def test_undoing_is_refused_when_the_originals_do_not_fit(
    conversation: Conversation, say: Say
) -> None:
    """With the numbers, and nothing is changed."""
    for number in range(4):
        say("user" if number % 2 == 0 else "assistant", f"text {number}", tokens=4_000)
    attempt = record_for(conversation, summarise(conversation))
    before = message_store.read_effective(conversation.pk)
    with pytest.raises(errors.Refused, match=r"don't fit: about 17,\d\d\d tokens"):
        undo.undo_condensation(condensation=attempt)
    assert message_store.read_effective(conversation.pk) == before
    attempt.refresh_from_db()
    assert attempt.status == Condensation.Status.SUCCEEDED


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_what_fills_the_window_beside_the_reply_still_fits_when_it_is_undone(
    conversation: Conversation, say: Say, *, more: int, fits: bool
) -> None:
    """To the token: the threshold and the buffer for wrong estimates are for what grows."""
    say("user", "text")
    last = say("assistant", "text")
    profile = conversation.profile
    assert profile is not None
    size = context_size(conversation, profile, message_store.read_effective(conversation.pk)).value
    room = profile.context_window - profile.output_limit - size
    Message.objects.filter(pk=last.pk).update(tokens=last.tokens + room + more)
    attempt = record_for(conversation, summarise(conversation))
    if fits:
        undo.undo_condensation(condensation=attempt)
    else:
        with pytest.raises(errors.Refused, match="don't fit"):
            undo.undo_condensation(condensation=attempt)
    attempt.refresh_from_db()
    assert (attempt.status == Condensation.Status.UNDONE) is fits


def test_a_condensation_behind_a_later_one_is_undone_after_it(
    conversation: Conversation, say: Say
) -> None:
    """The refusal says so."""
    for number in range(4):
        say("user" if number % 2 == 0 else "assistant", f"text {number}")
    first = record_for(conversation, summarise(conversation))
    say("user", "more")
    say("assistant", "still more")
    second = record_for(conversation, summarise(conversation))
    first.refresh_from_db()
    with pytest.raises(errors.Refused, match="Undo that first"):
        undo.undo_condensation(condensation=first)
    undo.undo_condensation(condensation=second)
    undo.undo_condensation(condensation=Condensation.objects.get(pk=first.pk))
    assert len(message_store.read_effective(conversation.pk)) == 6


def test_a_crash_leaves_nothing_running_for_ever(conversation: Conversation, say: Say) -> None:
    """The next start closes what was open, and says why."""
    turn = Turn.objects.create(conversation=conversation)
    say("user", "Hello")
    attempt = record_for(conversation, say("user", "x"))
    open_still = {"status": Condensation.Status.RUNNING, "turn": turn}
    Condensation.objects.filter(pk=attempt.pk).change(**open_still)
    assert lifecycle.close_interrupted() == {conversation.pk}
    assert lifecycle.close_interrupted() == set()
    turn.refresh_from_db()
    attempt.refresh_from_db()
    assert turn.status == Turn.Status.INTERRUPTED
    assert "server stopped" in attempt.error


def test_only_what_began_before_is_taken_for_interrupted(
    conversation: Conversation, say: Say
) -> None:
    """What begins while somebody looks for what a crash left goes on."""
    say("user", "Hello")
    looked = timezone.now()
    turn = Turn.objects.create(conversation=conversation)
    attempt = record_for(conversation, say("user", "x"))
    open_still = {"status": Condensation.Status.RUNNING, "turn": turn}
    Condensation.objects.filter(pk=attempt.pk).change(**open_still)
    assert lifecycle.close_interrupted(conversation, started_before=looked) == set()
    turn.refresh_from_db()
    attempt.refresh_from_db()
    assert (turn.is_over, attempt.status) == (False, "running")
    later = timezone.now()
    assert lifecycle.close_interrupted(conversation, started_before=later) == {conversation.pk}
    attempt.refresh_from_db()
    assert attempt.status == "failed"


def test_a_deleted_conversation_can_be_restored(conversation: Conversation) -> None:
    """It is only out of sight."""
    conversations.delete_conversation(conversation=conversation)
    assert not Conversation.objects.present().exists()
    conversations.restore_conversation(conversation=conversation)
    assert Conversation.objects.present().get() == conversation


def test_a_blank_title_is_refused(conversation: Conversation) -> None:
    """A conversation without a name could not be found again."""
    with pytest.raises(errors.Refused):
        conversations.rename_conversation(conversation=conversation, title="  ")


def test_preferences_are_one_row_a_user(alice: User) -> None:
    """However often they are asked for."""
    assert accounts.preferences_of(alice) == accounts.preferences_of(alice)
    assert Preferences.objects.count() == 1


def test_the_samples_are_palimpsests_own_documentation(alice: User) -> None:
    """In a workspace that every conversation with samples shares."""
    conversation = conversations.start_conversation(owner=alice, workspace=workspaces.SAMPLES)
    names = [path.name for path in assembly.workspace_of(conversation).iterdir()]
    assert {"README.md", "architecture.md", "operations.md"} <= set(names)
