"""Conversations begun and messages sent by programs, and the turn that they hear."""

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import pytest_django
from allauth.usersessions.models import UserSession
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.accounts import users
from chatapp.models import ApiToken, Condensation, Conversation, Message, Profile, Turn, accounts
from tests.chatapp.accounts.members import RIGHT, change, is_in, signed_in
from tests.chatapp.browsers import browser_of
from tests.chatapp.sockets import PATIENCE
from tests.chatapp.web.api.programs import LONG, Sender, bearer, read
from tests.standin.behaviours import UNAUTHORIZED, Gate, Reply
from tests.standin.server import Standin


@pytest.mark.django_db(transaction=True)
async def test_a_turn_is_heard_from_its_message_to_its_end(
    sender: Sender, anthropic_standin: Standin
) -> None:
    """The text as it comes, each message as it is stored, and how it ended; no other one begins."""
    gate = Gate()
    anthropic_standin.then(Reply("It is noon.\udce9", gate=gate))
    answer = await sender.send("What time is it?\ud800")
    assert answer["Content-Type"] == "text/event-stream"
    stream = read(answer.streaming_content)
    told = [await anext(stream)]
    assert told[0][0] == "message"
    assert told[0][1]["content"][-1]["text"] == "What time is it?\ufffd"
    assert not await Turn.objects.exclude(finished_at=None).aexists()
    [(name, refusal)] = await sender.hear("And now?")
    assert (name, set(refusal)) == ("refused", {"detail"})
    gate.open()
    told += [one async for one in stream]
    # A model may write half a surrogate pair, too.
    assert "".join(one["text"] for name, one in told if name == "text") == "It is noon.\ufffd"
    answer = [one for name, one in told if name == "message"][-1]
    assert (answer["role"], answer["seq"]) == ("assistant", 2)
    assert told[-1] == ("end", {"status": "succeeded", "error": "", "last_seq": 2})


@pytest.mark.django_db(transaction=True)
async def test_the_same_message_sent_twice_begins_one_turn(
    sender: Sender, anthropic_standin: Standin
) -> None:
    """The second time, only how it ended is told; a failed one says why."""
    anthropic_standin.then(Reply("Welcome."), UNAUTHORIZED)
    nonce = str(uuid.uuid4())
    first = await sender.hear("Hello.", nonce=nonce)
    assert await sender.hear("Hello.", nonce=nonce) == first[-1:]
    assert await Message.objects.acount() == 2
    name, end = (await sender.hear("Hello again."))[-1]
    assert (name, end["status"], "key" in end["error"]) == ("end", "failed", True)


@pytest.mark.django_db(transaction=True)
async def test_what_is_refused_begins_nothing(sender: Sender) -> None:
    """The reason comes instead of a stream."""
    answer = await sender.send("   ")
    assert answer.status_code == 409
    assert set(answer.json()) == {"detail"}
    for body in ("", "[" * 10_000, '{"text": 1}', "[]"):
        answer = await sender.post(body)
        assert answer.status_code in {400, 422}, body
        assert isinstance(answer.json()["detail"], str)
    assert not await Turn.objects.aexists()


def test_a_program_begins_a_conversation(alice: User, bob: User) -> None:
    """With a title and a profile of its user's, and of nobody else's."""
    client = Client(headers=bearer(alice))
    profile = accounts.preferences_of(alice).default_profile
    foreign = accounts.preferences_of(bob).default_profile
    assert profile
    assert foreign

    def begin(**body: Any) -> Any:
        return client.post("/api/conversations", json.dumps(body), content_type="application/json")

    answer = begin(title="Nightly report", profile=profile.pk)
    assert answer.status_code == 201
    made = Conversation.objects.get(pk=answer.json()["id"])
    assert (made.owner, made.title, made.profile) == (alice, "Nightly report", profile)
    assert begin().json()["profile"] == profile.pk
    assert begin(profile=foreign.pk).status_code == 404
    assert begin(profile=10**30).status_code in {404, 422}
    assert Profile.objects.count() == 2


def by_revoking(alice: Client, _operator: Client) -> None:
    """Revoke the token in the settings."""
    alice.post(reverse("revoke_token", args=[ApiToken.objects.get().pk]))


def by_ending_a_session(alice: Client, _operator: Client) -> None:
    """End the user's own session elsewhere, with all tokens."""
    is_in(alice)
    is_in(there := signed_in())
    session = UserSession.objects.get(session_key=there.session.session_key)
    alice.post(reverse("end_session", args=[session.pk]), {"revoke_tokens": "on"})


def by_ending_all_sessions(_alice: Client, operator: Client) -> None:
    """End them as an operator does, with all tokens."""
    user = User.objects.get(username="alice")
    change(operator, user, "end-sessions", revoke_tokens="on")


def by_a_new_password(alice: Client, _operator: Client) -> None:
    """Choose another password, and no token goes on."""
    new = dict.fromkeys(("password1", "password2"), "quite another one")
    old = {"oldpassword": RIGHT["password"], "revoke_tokens": "on"}
    alice.post(reverse("account_change_password"), old | new)


@pytest.mark.parametrize(
    "end", [by_revoking, by_ending_a_session, by_ending_all_sessions, by_a_new_password]
)
@pytest.mark.django_db(transaction=True)
async def test_a_program_hears_nothing_more_once_its_token_is_revoked(
    sender: Sender, browser: Client, anthropic_standin: Standin, end: Callable[..., None]
) -> None:
    """While the model still writes; the turn goes on."""
    gate = Gate()
    anthropic_standin.then(Reply("It is noon.", gate=gate))
    stream = read((await sender.send("What time is it?")).streaming_content)
    await anext(stream)
    operator = await User.objects.acreate(username="op", is_superuser=True)
    await sync_to_async(end)(browser, await sync_to_async(browser_of)(operator))
    async with asyncio.timeout(PATIENCE):
        rest = [one async for one in stream]
    assert [name for name, _told in rest][-1] == "refused"
    assert (await sender.send("And now?")).status_code == 401
    assert await Turn.objects.unfinished().aexists()
    gate.open()


@pytest.mark.parametrize("boxes", [{}, {"revoke_tokens": "on"}])
def test_tokens_go_with_a_password_where_that_is_wanted(
    alice: User, browser: Client, boxes: dict[str, str]
) -> None:
    """It is, unless the box is cleared: in the settings, by a link, and where none was before."""
    new = dict.fromkeys(("password1", "password2"), "quite another one") | boxes
    for place in ("account_change_password", "account_set_password", "link"):
        bearer(alice)
        if place == "account_set_password":
            alice.set_unusable_password()
            alice.save()
            browser.force_login(alice)
        guest = Client()
        path = users.password_link(alice) if place == "link" else reverse(place)
        form = (guest if place == "link" else browser).get(path, follow=True)
        assert form.context["form"]["revoke_tokens"].initial is True
        sent = new | {"oldpassword": RIGHT["password"]}
        (guest if place == "link" else browser).post(form.wsgi_request.path, sent)
        alice.refresh_from_db()
        assert alice.check_password("quite another one")
        assert ApiToken.objects.exists() == (not boxes)
        ApiToken.objects.all().delete()


@pytest.mark.django_db(transaction=True)
async def test_a_program_condenses_by_the_command_also_as_its_first_message(
    sender: Sender, anthropic_standin: Standin, alice: User, settings: pytest_django.Settings
) -> None:
    """What follows it is the focus; it begins once, and other commands of the page say so."""
    settings.CONDENSE_DEFAULT_HOOKS = False
    [(name, refusal)] = await sender.hear("/condense")
    assert (name, "Reload" in refusal["detail"]) == ("refused", False)
    await alice.saved_commands.acreate(name="standup", text="List what was done: $ARGUMENTS")
    anthropic_standin.then(Reply("One."), Reply("<summary>It counted.</summary>"))
    told = await sender.hear(f"/standup {LONG}")
    assert "List what was done: a a" in str(anthropic_standin.requests[0].body["messages"])
    nonce = str(uuid.uuid4())
    told = await sender.hear("/condense the numbers", nonce=nonce)
    names = [name for name, _said in told]
    assert ("condensing.ended" in names, told[-1][1]["status"]) == (True, "succeeded")
    attempt = await Condensation.objects.aget()
    assert (attempt.focus, attempt.trigger) == ("the numbers", "manual")
    assert (await sender.hear("/condense the numbers", nonce=nonce)) == told[-1:]
    [(name, refusal)] = await sender.hear("/rewind")
    assert (name, "/rewind" in refusal["detail"]) == ("refused", True)
    assert "Reload" not in refusal["detail"]
    assert not [one async for one in Message.objects.all() if "/condense" in str(one.content)]
