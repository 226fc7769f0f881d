import re
from decimal import Decimal

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatapp.agent.errors import SpendingLimitReached
from chatapp.conversations.conversations import start_conversation
from chatapp.models import Conversation, ModelCall, Turn, TurnRequest
from chatapp.models.errors import Refused
from chatapp.models.spending import check_spending
from tests.chatapp.accounts.members import (
    RIGHT,
    change,
    confirm,
    is_in,
    sets_password_once,
    signed_in,
)
from tests.chatapp.queries import statements
from tests.chatapp.scripted_turns import ask


@pytest.fixture
def bobs(bob: User) -> Client:
    """Bob's browser, in which he has signed in by his password."""
    return signed_in("bob", "battery staple")


@pytest.mark.parametrize("method", ["get", "post"])
def test_members_find_no_page_of_operators(bobs: Client, bob: User, method: str) -> None:
    """Neither the list nor what can be done there."""
    change_bob = reverse("change_user", args=[bob.pk, "operator"])
    places = [reverse("users"), reverse("invite"), change_bob]
    assert {getattr(bobs, method)(place).status_code for place in places} <= {404, 405}
    bob.refresh_from_db()
    assert not bob.is_superuser


@pytest.mark.parametrize("action", ["factor", "password"])
def test_what_opens_an_account_asks_for_the_password(
    operator: Client, alice: User, action: str
) -> None:
    """Whoever only has an operator's session makes neither theirs nor another account their own."""
    TOTP.activate(alice, generate_totp_secret())
    asked = operator.post(reverse("change_user", args=[alice.pk, action]))
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert Authenticator.objects.exists()
    answer = operator.post(asked["Location"], {"password": RIGHT["password"]})
    has_link, has_factor = "reset/key" in answer.text, Authenticator.objects.exists()
    assert (has_link, has_factor) == ((True, True) if action == "password" else (False, False))


def test_operators_see_figures_and_no_words(operator: Client, bobs: Client, bob: User) -> None:
    """A cost of this month and the calls it lacks, a visit, of nobody's conversation the title."""
    made = Conversation.objects.create(owner=bob, title="Bob's secret")
    for cost in (Decimal("1.25"), Decimal("0.25"), None):
        ModelCall.objects.create(conversation=made, purpose="chat", cost=cost)
    is_in(bobs)
    page = operator.get(reverse("users")).text
    assert "$1.50 Cost unknown: 1 call " in " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "secret" not in page


def test_whoever_is_deactivated_is_out_at_once(operator: Client, bobs: Client, bob: User) -> None:
    """With every session, until the operator lets them in again."""
    assert is_in(bobs)
    change(operator, bob, "deactivate")
    assert not is_in(bobs)
    assert not is_in(signed_in("bob", "battery staple"))
    change(operator, bob, "activate")
    assert is_in(signed_in("bob", "battery staple"))


def test_what_runs_for_whoever_is_deactivated_is_stopped_and_nothing_begins(
    operator: Client, bob: User
) -> None:
    """Nor does a message that waits, which nobody could stop; it goes on once they are back."""
    turn = ask(start_conversation(owner=bob))
    change(operator, bob, "deactivate")
    assert TurnRequest.objects.get(turn=turn).kind == TurnRequest.Kind.STOP
    Turn.objects.filter(pk=turn.pk).update(finished_at=timezone.now())
    with pytest.raises(Refused, match="deactivated"):
        ask(turn.conversation)
    change(operator, bob, "activate")
    assert ask(turn.conversation)


def test_sessions_end_at_the_operators_word(operator: Client, bobs: Client, bob: User) -> None:
    """The password still opens new ones."""
    assert is_in(bobs)
    change(operator, bob, "end-sessions")
    assert not is_in(bobs)


def test_somebody_stays_operator(operator: Client, alice: User, bob: User) -> None:
    """The last one can neither step down nor be closed; with another who is active they can."""
    User.objects.create_superuser("away", is_active=False)
    for action in ("member", "deactivate"):
        assert "Somebody has to be operator" in change(operator, alice, action)
    change(operator, bob, "operator")
    change(operator, alice, "member")
    alice.refresh_from_db()
    bob.refresh_from_db()
    assert (alice.is_superuser, bob.is_superuser) == (False, True)


def test_a_link_from_the_operator_sets_a_password_once(operator: Client, bob: User) -> None:
    """Without any mail."""
    confirm(operator)
    page = change(operator, bob, "password")
    (link,) = re.findall(r"http://testserver(/account/password/reset/key/[^\"]+)", page)
    assert sets_password_once("bob", link)


@pytest.mark.parametrize(("sent", "stored"), [("12.50", Decimal("12.50")), ("", None)])
def test_a_budget_is_set_for_a_user(
    operator: Client, bob: User, sent: str, stored: Decimal | None
) -> None:
    """Empty is none; what is no amount changes nothing."""
    change(operator, bob, "budget", budget=sent)
    assert "at least 0.01" in change(operator, bob, "budget", budget="-1")
    bob.refresh_from_db()
    assert bob.preferences.allowance == stored


def test_a_budget_that_is_set_holds_whatever_its_user_wants(
    operator: Client, bobs: Client, bob: User
) -> None:
    """They are told whom to ask for more."""
    change(operator, bob, "budget", budget="1")
    wanted = {"threshold": 90, "step_limit": 5, "month_budget": "100"}
    assert bobs.post(reverse("settings"), wanted).status_code == 302
    conversation = start_conversation(owner=bob)
    check_spending(conversation.pk)
    ModelCall.objects.create(conversation=conversation, purpose="chat", cost=Decimal(1))
    with pytest.raises(SpendingLimitReached, match=r"\$1\.00 of \$1\.00\. Ask an operator"):
        check_spending(conversation.pk)


def test_the_list_asks_as_often_for_many_as_for_few(operator: Client) -> None:
    """And shows a page of them at a time."""

    def asked() -> int:
        with statements() as sent:
            operator.get(reverse("users"))
        return len(sent)

    def add(*numbers: int) -> None:
        User.objects.bulk_create(User(username=f"user{number:03}") for number in numbers)

    add(*range(10))
    asked()
    few = asked()
    add(*range(10, 1_000))
    assert asked() == few
    page = operator.get(reverse("users")).text
    assert "user017" in page
    assert "user020" not in page
    assert "user020" in operator.get(reverse("users"), {"after": "user019"}).text


def test_whoever_forgot_a_password_is_told_whom_to_ask(bob: User) -> None:
    """No mail is sent, to nobody's address, and none is asked for."""
    place = reverse("account_reset_password")
    page = Client().get(place).text
    assert "Ask an operator" in page
    assert "<input" not in page.partition("<h1>")[2].partition("</main>")[0]
    assert Client().post(place, {"email": "bob@example.org"}).status_code == 302
