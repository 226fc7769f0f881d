"""Server profiles: used by everybody, seen by nobody but who set them up."""

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from chatapp.conversations import conversations
from chatapp.models import Conversation, ModelCall, Profile, Turn, accounts
from chatapp.models.spending import spent_this_month
from chatapp.web.api.urls import describe
from tests.chatapp.accounts.members import confirm
from tests.chatapp.browsers import browser_of
from tests.chatapp.claude import answered_by
from tests.chatapp.sockets import open_page
from tests.chatapp.web.api.programs import bearer
from tests.standin.behaviours import Failure, Reply
from tests.standin.server import Standin

KEY = "sk-of-the-operator-0123456789"


@pytest.fixture
def shared(alice: User, bob: User, anthropic_standin: Standin) -> Profile:
    """A profile of Alice's, who runs the server, that Bob may use."""
    alice.is_superuser = True
    alice.save()
    accounts.preferences_of(bob)
    profile = answered_by(alice, "anthropic", "claude-opus-5", anthropic_standin.url)
    profile.set_key(KEY)
    profile.save()
    accounts.share(profile)
    return profile


@pytest.fixture
def copy(shared: Profile, bob: User) -> Profile:
    """What Bob has of it."""
    return bob.profiles.get(origin=shared)


@pytest.fixture
def bobs(copy: Profile, bob: User) -> Conversation:
    """A conversation of Bob's that it answers."""
    return conversations.start_conversation(owner=bob, profile=copy)


@pytest.fixture
def member(bob: User) -> Client:
    """Bob's browser."""
    return browser_of(bob)


def test_an_operator_shares_and_stops(
    member: Client, operator: Client, shared: Profile, bob: User
) -> None:
    """On the page of the server; who came later has it too, and nobody keeps it."""
    place = reverse("server")
    late = User.objects.create_user("late")
    assert accounts.preferences_of(late).default_profile == late.profiles.get(origin=shared)
    limits = {"storage_megabytes": "", "turns_at_once": "", "requests_per_minute": ""}
    page = operator.post(place, limits | {"profiles": ["99999"]})
    assert (page.status_code, Profile.objects.filter(origin=shared).count()) == (422, 2)
    operator.post(place, limits)
    assert not Profile.objects.filter(origin=shared).exists()
    assert shared.name not in member.get(reverse("profiles")).text
    operator.post(place, limits | {"profiles": [shared.pk]})
    assert bob.profiles.filter(origin=shared).exists()
    assert "An operator looks after it" in member.get(reverse("profiles")).text


def test_nobody_shares_what_is_no_operators(operator: Client, shared: Profile, bob: User) -> None:
    """A member's profile can't be chosen there, and whoever steps down takes theirs along."""
    own = answered_by(bob, "anthropic", "claude-opus-5", "http://127.0.0.1:1")
    page = operator.post(reverse("server"), {"profiles": [own.pk]})
    assert page.status_code == 422
    bob.is_superuser = True
    bob.save()
    alice = shared.owner
    operator.post(reverse("change_user", args=[alice.pk, "member"]))
    assert not Profile.objects.exclude(origin=None).exists()


@pytest.mark.parametrize("way", ["member", "deactivate", "delete"])
def test_what_an_operator_shared_goes_with_them(
    member: Client, operator: Client, shared: Profile, bob: User, way: str
) -> None:
    """Nobody uses a key that nobody looks after; their own profile stays theirs."""
    User.objects.filter(pk=bob.pk).update(is_superuser=True)
    if way == "delete":
        confirm(operator)
        operator.post(reverse("delete_account"))
    else:
        member.post(reverse("change_user", args=[shared.owner.pk, way]))
    shared.refresh_from_db()
    assert (shared.is_shared, shared.copies.exists()) == (False, False)


def test_nobody_shares_a_copy(member: Client, copy: Profile, bob: User) -> None:
    """Another operator stops or leaves what is shared, and gives on no copy of it."""
    bob.is_superuser = True
    bob.save()
    answer = member.post(reverse("server"), {"profiles": [copy.pk]})
    assert answer.status_code == 422
    assert not Profile.objects.filter(origin=copy).exists()


@pytest.mark.django_db(transaction=True)
async def test_a_member_is_answered_with_the_operators_key_and_pays(
    bobs: Conversation, bob: User, alice: User, anthropic_standin: Standin
) -> None:
    """At the operator's address, at its prices."""
    anthropic_standin.then(Reply("Hello."))
    async with open_page(bobs, bob) as page:
        await page.ask("Hi")
    assert anthropic_standin.requests[0].headers["x-api-key"] == KEY
    spent = await sync_to_async(spent_this_month)([alice.pk, bob.pk])
    assert [*spent] == [bob.pk]
    assert spent[bob.pk].spent > 0


def addresses(conversation: Conversation) -> Iterator[str]:
    """Yield every address of pages and of the API, of one conversation and what is in it."""
    call = ModelCall.objects.filter(conversation=conversation).latest("pk")
    known = {"seq": 1, "index": 0, "call_pk": call.pk, "rest": "profiles", "job_pk": call.pk}
    for name in {one for one in get_resolver().reverse_dict if isinstance(one, str)}:
        ([(path, wanted)], *_), *_ = get_resolver().reverse_dict.getlist(name)
        of_conversation = path.startswith("c/")
        pk = conversation.pk if of_conversation else conversation.profile_id
        filled = {one: (known | {"pk": pk}).get(one) for one in wanted}
        if None not in filled.values() and not name.startswith("account_logout"):
            # Some are named by a UUID.
            with suppress(NoReverseMatch):
                yield reverse(name, kwargs=filled)
    for path in describe()["paths"]:
        yield path.replace("{pk}", str(conversation.pk)).replace("{call_pk}", str(call.pk))


@pytest.mark.django_db(transaction=True)
async def test_nothing_that_a_member_fetches_holds_the_key_or_address(
    bobs: Conversation, bob: User, shared: Profile, member: Client, anthropic_standin: Standin
) -> None:
    """Pages, the API, exports and downloads, after a failure that echoes both."""
    echo = Failure(403, "permission_error", f"{KEY} is no key of {anthropic_standin.url}")
    anthropic_standin.then(Reply("Hello."), echo)
    async with open_page(bobs, bob) as page:
        await page.ask("Hi")
        await page.ask("Again")
        assert KEY not in str(page.frames)
    url = shared.base_url

    def fetch() -> tuple[int, list[str]]:
        program, seen, leaks = Client(headers=bearer(bob, "all")), 0, []
        for address in addresses(bobs):
            answer = (program if address.startswith("/api/") else member).get(address)
            if answer.status_code != 200:
                continue
            body = answer.getvalue()
            if zipfile.is_zipfile(io.BytesIO(body)):
                with zipfile.ZipFile(io.BytesIO(body)) as archive:
                    body = b"".join(map(archive.read, archive.namelist()))
            seen += 1
            leaks += [address for one in (KEY, url) if one.encode() in body]
        return seen, leaks

    seen, leaks = await sync_to_async(fetch)()
    assert seen > 60
    assert leaks == []


def test_a_member_changes_nothing_of_it(
    member: Client, copy: Profile, shared: Profile, bob: User
) -> None:
    """No page and no program shows, tries, changes or removes it; its use can be chosen."""
    sent = {"provider": "anthropic", "model": "x", "base_url": "http://127.0.0.1:1", "name": "x"}
    for profile in (copy, shared):
        for name in ("edit_profile", "test_profile", "delete_profile"):
            assert member.post(reverse(name, args=[profile.pk]), sent).status_code == 404
        program = Client(headers=bearer(bob, "all"))
        kind = "application/json"
        answer = program.patch(f"/api/profiles/{profile.pk}", {"name": "x"}, content_type=kind)
        assert answer.status_code == 404
    assert member.post(reverse("default_profile", args=[shared.pk])).status_code == 404
    member.post(reverse("default_profile", args=[copy.pk]))
    bob.preferences.refresh_from_db()
    assert bob.preferences.default_profile == copy


def test_what_the_operator_changes_holds_for_everybody(
    shared: Profile, copy: Profile, bob: User
) -> None:
    """But a name that somebody has given already stays theirs."""
    shared.model, shared.price_input, shared.name = "claude-haiku-5-5", 3, "Haiku"
    shared.save()
    copy.refresh_from_db()
    assert (copy.model, copy.price_input, copy.name) == ("claude-haiku-5-5", 3, "Haiku")
    taken = bob.profiles.exclude(pk=copy.pk).first()
    assert taken
    shared.name = taken.name
    shared.save()
    copy.refresh_from_db()
    assert copy.name == "Haiku"


@pytest.mark.django_db(transaction=True)
async def test_who_used_what_is_shared_no_longer_is_told_to_choose(
    bobs: Conversation, bob: User, shared: Profile, anthropic_standin: Standin
) -> None:
    """Nothing is sent, and another profile answers then."""
    await sync_to_async(accounts.stop_sharing)(shared)
    async with open_page(bobs, bob) as page:
        assert "no profile. Choose one in its header" in await page.refusal("Hi")
        assert anthropic_standin.requests == []
        at = (bob, "anthropic", "claude-opus-5", anthropic_standin.url)
        other = await sync_to_async(answered_by)(*at)
        await Conversation.objects.filter(pk=bobs.pk).aupdate(profile=other)
        await page.ask("Hi")
    assert await Turn.objects.acount() == 1


def test_an_invitation_lists_what_is_shared_as_names(operator: Client, shared: Profile) -> None:
    """As the language lists them, each in its own direction and without its marks."""
    shared.pk, shared._state.adding = None, True
    shared.name = "<b>"
    shared.save()
    address = operator.post(reverse("invite"), {"role": "member"})["Location"]
    page = operator.get(address, headers={"Accept-Language": "de"}).text
    names = r"Geteilte Profile: <bdi>&lt;b&gt;</bdi> und <bdi>[^<,]+</bdi>"
    assert re.search(names, page)
