from datetime import timedelta
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatapp.conversations import conversations
from chatapp.models import Conversation, Deletion, Turn, TurnRequest, errors
from chatapp.operations import background_jobs
from chatapp.records.account_deletions import delete_accounts, delete_due, look_for_due
from tests.chatapp.accounts.members import RIGHT, change, is_in, signed_in
from tests.chatapp.browsers import browser_of
from tests.chatapp.conftest import Say
from tests.chatapp.scripted_turns import ask
from tests.chatapp.web.api.programs import bearer

PLACE = "/settings/account/delete/"
SURE = {"password": RIGHT["password"]}


def delete(browser: Client) -> None:
    """Have the account deleted, as its user does: the button is asked for the password."""
    asked = browser.post(PLACE)
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert not Deletion.objects.exists()
    browser.post(asked["Location"], SURE | {"next": PLACE})


def let_a_week_pass() -> None:
    """Make every deletion due, and have what is due done."""
    Deletion.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    delete_due()


@pytest.fixture
def here(alice: User) -> Client:
    """Alice's browser, in which she has signed in by her password."""
    return signed_in()


def test_an_account_is_deleted_after_a_week(here: Client, alice: User) -> None:
    """Its page says what that means. Until then one can sign in, and each page says until when."""
    page = here.get(PLACE).text
    assert "7 days" in page
    assert reverse("download_account") in page
    delete(here)
    due = Deletion.objects.get(user=alice).due_at - timezone.now()
    assert timedelta(days=7) - timedelta(minutes=1) < due <= timedelta(days=7)
    delete_due()
    again = signed_in()
    for place in ("conversations", "settings", "users"):
        assert ("Keep this account" in again.get(reverse(place)).text) == (place != "users")
    let_a_week_pass()
    assert not is_in(here)
    assert not is_in(again)
    assert not is_in(signed_in())
    assert not User.objects.filter(username="alice").exists()


def test_a_deletion_is_taken_back(here: Client) -> None:
    """With one click, while there is time."""
    delete(here)
    here.post(reverse("keep_account"))
    assert "Keep this account" not in here.get(reverse("settings")).text
    let_a_week_pass()
    assert is_in(here)
    assert is_in(signed_in())


def test_what_is_due_is_taken_back_no_more(here: Client, alice: User) -> None:
    """Part of it may be gone already."""
    delete(here)
    Deletion.objects.update(due_at=timezone.now())
    here.post(reverse("keep_account"))
    assert Deletion.objects.filter(user=alice).exists()


def test_tokens_links_and_other_sessions_end_at_once(
    here: Client, alice: User, conversation: Conversation, say: Say
) -> None:
    """Whoever keeps the account has the first two as they were."""
    say("user", "Hello.")
    there = signed_in(REMOTE_ADDR="192.0.2.7")
    assert is_in(there)
    program = Client(headers=bearer(alice))
    link = reverse("shared", args=[conversations.share_conversation(conversation=conversation)])

    def answers() -> list[int]:
        called = program.get("/api/conversations")
        return [called.status_code, Client().get(link).status_code]

    assert answers() == [200, 200]
    delete(here)
    assert answers() == [401, 404]
    assert (is_in(here), is_in(there)) == (True, False)
    here.post(reverse("keep_account"))
    assert answers() == [200, 200]


def test_what_runs_is_stopped_and_nothing_begins(here: Client, conversation: Conversation) -> None:
    """Neither by hand nor by itself; what is kept goes on when it is asked to."""
    turn = ask(conversation)
    delete(here)
    asked = TurnRequest.objects.get(turn=turn)
    assert asked.kind == TurnRequest.Kind.STOP
    Turn.objects.filter(pk=turn.pk).update(finished_at=timezone.now())
    with pytest.raises(errors.Refused, match="about to be deleted"):
        ask(conversation)
    here.post(reverse("keep_account"))
    assert ask(conversation)


def test_an_account_is_deleted_once_nothing_runs_for_it(
    here: Client, conversation: Conversation
) -> None:
    """Nobody can sign in meanwhile; what hangs is waited for for a day."""
    turn = ask(conversation)
    delete(here)
    let_a_week_pass()
    assert not is_in(signed_in())
    assert conversation.messages.exists()
    Turn.objects.filter(pk=turn.pk).update(finished_at=timezone.now())
    delete_due()
    assert not conversation.messages.exists()
    assert Deletion.objects.get().done_at


def test_whoever_has_no_password_can_delete_the_account(alice: User) -> None:
    """As those who only sign in elsewhere."""
    alice.set_unusable_password()
    alice.save()
    browser = browser_of(alice)
    browser.post(PLACE)
    assert Deletion.objects.filter(user=alice).exists()


def test_the_last_operator_stays(operator: Client, alice: User, bob: User) -> None:
    """They are told why. One who is about to leave is no other one."""
    assert "only operator" in operator.get(PLACE).text
    change(operator, bob, "operator")
    bobs = signed_in("bob", "battery staple")
    asked = bobs.post(PLACE)
    bobs.post(asked["Location"], {"password": "battery staple", "next": PLACE})
    assert Deletion.objects.filter(user=bob).exists()
    operator.post(PLACE)
    operator.post(reverse("account_reauthenticate"), SURE | {"next": PLACE})
    assert not Deletion.objects.filter(user=alice).exists()
    assert "Somebody has to be operator" in change(operator, alice, "member")


def test_operators_see_when_an_account_is_deleted(operator: Client, alice: User, bob: User) -> None:
    """And have nothing to do; afterwards it is not listed, and nobody can do anything with it."""
    Deletion.objects.create(user=bob, due_at=timezone.now() + timedelta(days=3))
    assert "will be deleted" in operator.get(reverse("users")).text
    let_a_week_pass()
    listed = operator.get(reverse("users")).context["users"]
    assert [one.user for one in listed] == [alice]
    answer = operator.post(reverse("change_user", args=[bob.pk, "activate"]))
    assert answer.status_code == 404


def test_a_name_is_free_once_its_account_is_deleted(here: Client, bob: User) -> None:
    """Somebody else may have it; what stands in its place nobody can take."""
    delete(here)
    let_a_week_pass()
    bobs = browser_of(bob)
    for name in ("deleted:1", "alice"):
        bobs.post(reverse("rename_account"), {"username": name})
    bob.refresh_from_db()
    assert bob.username == "alice"


def test_an_account_that_failed_keeps_no_other_from_being_deleted(alice: User, bob: User) -> None:
    """It is tried again."""
    first = Conversation.objects.create(owner=alice)
    Conversation.objects.create(owner=bob, title="Bob's")
    place = Path(settings.WORKSPACES_ROOT) / first.pk.hex
    place.parent.mkdir(parents=True)
    place.write_text("No folder.")
    for user in (alice, bob):
        Deletion.objects.create(user=user, due_at=timezone.now())
    delete_due()
    assert [one.user_id for one in Deletion.objects.exclude(done_at=None)] == [bob.pk]
    place.unlink()
    delete_due()
    assert not Deletion.objects.filter(done_at=None).exists()


@pytest.mark.django_db(transaction=True)
async def test_the_job_comes_again(alice: User, bob: User) -> None:
    """Later, and only one at a time."""
    await Deletion.objects.acreate(user=alice, due_at=timezone.now())
    await delete_accounts()
    done = Deletion.objects.exclude(done_at=None).values_list("pk", flat=True)
    assert [one async for one in done.all()] == [alice.pk]
    await Deletion.objects.acreate(user=bob, due_at=timezone.now())
    # The next one waits already.
    await sync_to_async(look_for_due)()
    await background_jobs.close()
    assert [one async for one in done.all()] == [alice.pk]
    await sync_to_async(look_for_due)()
    await background_jobs.close()
    assert {one async for one in done.all()} == {alice.pk, bob.pk}
    await background_jobs.close()
