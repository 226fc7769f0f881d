"""Every address, asked with what no browser sends: the answer is never an error of the server."""

import itertools
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any, override

import pytest
from allauth.usersessions.models import UserSession
from allauth.usersessions.views import ListUserSessionsView
from django.contrib.auth.models import User
from django.forms import formsets
from django.http import HttpRequest, QueryDict
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from django.views.generic import RedirectView
from pytest_django import Settings

import condense
from chatapp.models import Conversation, ModelCall, Profile, Question, Review, Rewind, Turn
from tests.chatapp.browsers import HTMX
from tests.chatapp.condensing.findings import finding
from tests.chatapp.conftest import Say, summarise
from tests.records import put_on_record

pytestmark = pytest.mark.django_db

# Every name that a view or a form reads.
KEYS = (
    *("call", "part", "after", "at", "before", "condensation", "condense", "current", "deleted"),
    *("fact", "folder"),
    *("from", "use", "ask", "strategies", "thresholds", "writer", "predicted"),
    *("as", "text", "trigger", "since", "until"),
    *("decision", "summary", "focus", "review_automatic", "review_seconds"),
    *("next", "outcome", "password", "profile", "prompt", "q", "samples", "title", "to_seq"),
    *("username", "csrfmiddlewaretoken", "auto_condense", "threshold", "strategy", "messages_kept"),
    *("clear_tool_output", "condensing_prompt", "step_limit", "shortcuts", "name", "provider"),
    *("model", "base_url", "context_window", "max_output", "price_input", "price_output"),
    *("price_cache_read", "price_cache_write", "mode", "own_threshold", "key", "remove_key"),
    *("adaptive", "truncated_percent", "last_messages", "check_summaries"),
    *("commands-TOTAL_FORMS", "commands-INITIAL_FORMS", "commands-0-id", "commands-0-DELETE"),
    *("commands-0-name", "commands-0-text", "prompts-TOTAL_FORMS", "profile-1-condensing_prompt"),
    *("profile-1-mode", "profile-1-own_threshold", "profile-99999999999999999999-mode"),
)
SOMEBODY = uuid.UUID(int=7)
# Nothing, 5,000 and 20 digits, digits of others, and NUL.
HOSTILE = ("", "9" * 5_000, "9" * 20, "\u0663\u00b2", "a\0b")
# Each takes seconds, and most of what they could break is broken by the others too.
LONG = ("x" * 300 + "/x" * 2_000, "1e999")
# A form has all of these values, and each name has another one in each form.
MIXED = [
    {key: HOSTILE[(place + shift) % len(HOSTILE)] for place, key in enumerate(KEYS)}
    for shift in range(len(HOSTILE))
]
BODIES = {
    "an unknown charset": ("application/x-www-form-urlencoded; charset=nothing", b"to_seq=1"),
    "UTF-7": ("application/x-www-form-urlencoded; charset=utf-7", b"to_seq=+2AA-"),
    "no UTF-8": ("application/x-www-form-urlencoded", b"to_seq=%ff\xff&\xfe=1"),
    "no boundary": ("multipart/form-data", b"--x"),
    "a broken part": ("multipart/form-data; boundary=x", b"--x\r\nContent-Dis\xff\r\n\r\n1"),
    "a part in UTF-7": (
        "multipart/form-data; boundary=x; charset=utf-7",
        b"--x\r\nContent-Disposition: form-data; name=to_seq\r\n\r\n+2AA-\r\n--x--\r\n",
    ),
    "JSON": ("application/json", b"[" * 10_000),
    "2,000 fields": ("application/x-www-form-urlencoded", b"a=1&" * 2_000),
    "6 MB": ("application/x-www-form-urlencoded", b"prompt=" + b"x" * 6_000_000),
}
ADDRESSES = sorted(name for name in get_resolver().reverse_dict if isinstance(name, str))
# What is there for everybody, and what names something by its number.
FOR_ALL = {
    *("/sign-in/", "/language/", "/account/login/", "/healthz", "/readyz", "/manifest.webmanifest"),
    # An empty page, and a script of a package.
    *("/preview/", "/preview/mermaid.js"),
}
# Of accounts, too, all that says nothing of anybody.
FOR_ALL |= {
    f"/account/{path}/"
    for path in (
        *("inactive", "confirm-email", "confirm-email/b", "password/reset", "password/reset/done"),
        *("password/reset/key/a-b", "password/reset/key/done", "2fa/webauthn/login"),
        *("3rdparty/login/cancelled", "3rdparty/login/error", "signup"),
    )
}
NUMBERED = re.compile(r"/\d+/")
# They would take away what the other addresses are about, and who asks for them.
LAST = ["delete", "delete_profile", "account_logout"]
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Noted(QueryDict):
    """What an address was asked with; notes which names are looked up."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        super().__init__(text)
        self.names.clear()

    @override
    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    @override
    def getlist(self, name: str, default: Any = None) -> Any:
        """Return all values of a name."""
        self.names.add(name)
        return super().getlist(name, default)

    @override
    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)

    @override
    def keys(self) -> Any:
        """Return all names, each as if it were looked up."""
        self.names.update(super().keys())
        return super().keys()

    @override
    def lists(self) -> Any:
        """Return all names with all their values."""
        return [(name, self.getlist(name)) for name in self]

    @override
    def __iter__(self) -> Any:
        return iter(self.keys())


def noting(answer: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Note, as a middleware, what of an address's query is looked up."""

    def middleware(request: HttpRequest) -> Any:
        request.GET = Noted(request.META["QUERY_STRING"])
        return answer(request)

    return middleware


class Outsider(Client):
    """Sends whatever it likes; each answer says what a browser must not do with it."""

    def __init__(self, user: User | None = None) -> None:
        super().__init__(raise_request_exception=False)
        if user is not None:
            self.force_login(user)

    @override
    def request(self, **request: Any) -> Any:
        """Return the answer, whose text is read to its end: what it is read from is closed then."""
        answer, place = super().request(**request), request["PATH_INFO"]
        b"".join(answer)
        assert {name: answer.get(name) for name in SAFE} == SAFE, place
        assert answer["Referrer-Policy"] in {"same-origin", "no-referrer"}, place
        # A preview stands in a frame of this server's own pages.
        is_frame = place == reverse("preview") and answer.status_code == 200
        framed = "'self'" if is_frame else "'none'"
        assert f"frame-ancestors {framed}" in answer["Content-Security-Policy"], place
        assert "microphone=()" in answer["Permissions-Policy"], place
        return answer


@pytest.fixture
def places(conversation: Conversation, say: Say, alice: User) -> list[str]:
    """Every address of the application but the admin's, each naming something of Alice's."""
    for number in range(4):
        say("user", f"Message {number}.")
    receipt = condense.Receipt((finding("a.py", "lost", kind="read_files"),))
    made = summarise(conversation)
    attempt = put_on_record(conversation, message=made, at_seq=4, receipt=receipt)
    rewind = Rewind.objects.create(conversation=conversation, to_seq=9, last_seq=9)
    call = ModelCall.objects.create(conversation=conversation, purpose="chat")
    turn = Turn.objects.create(conversation=conversation)
    question = Question.objects.create(turn=turn, seq=1, place=0, kind="answer", tool="ask_user")
    review = Review.objects.create(condensation=attempt, ordinal=1, status="accepted")
    turn.finished_at = timezone.now()
    turn.save()
    known = {
        "uidb36": "a",
        "action": "budget",
        "key": "b",
        "provider_id": "oidc",
        "job_pk": SOMEBODY,
        "nonce": SOMEBODY,
        "index": 0,
        "seq": 1,
        "token": "x" * 300,
    }
    known |= {"name": "a" * 16, "rest": "conversations", "attempt_pk": attempt.pk}
    known |= {"call_pk": call.pk, "rewind_pk": rewind.pk}
    known |= {"question_pk": question.pk, "review_pk": review.pk}
    profile = Profile.objects.get(owner=alice)
    session = UserSession.objects.create(user=alice, ip="::1", session_key="s", user_agent="a")
    owners = {"c": conversation.pk, "attachments": SOMEBODY, "settings": session.pk}

    def fill(name: str) -> Iterator[str]:
        # Several addresses may have one name.
        for found, *_more in reversed(get_resolver().reverse_dict.getlist(name)):
            for path, wanted in found:
                owned = known | {"pk": owners.get(path.partition("/")[0], profile.pk)}
                yield "/" + path % {one: owned[one] for one in wanted}

    names = sorted(ADDRESSES, key=lambda name: LAST.index(name) if name in LAST else -1)
    return [place for name in names for place in fill(name)]


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    """Yield each address below a place, of our own and of other applications."""
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from patterns(one)
        else:
            yield one


def test_each_address_is_among_those_that_are_called(places: list[str]) -> None:
    """They are found by their names; unnamed are redirects, and one before allauth's own."""
    every = [*patterns(get_resolver())]
    unnamed = [one.callback for one in every if not one.name]
    assert {getattr(view, "view_class", view) for view in unnamed} == {
        RedirectView,
        ListUserSessionsView,
    }
    called = {get_resolver().resolve(place).route for place in places}
    assert len(called) == len(places) == len(every) - len(unnamed)


@pytest.fixture
def outsider(alice: User) -> Outsider:
    """Somebody who is signed in and sends whatever they like."""
    return Outsider(alice)


@pytest.mark.parametrize(
    ("forms", "each"),
    [
        (MIXED, 1),
        pytest.param(
            [dict.fromkeys(KEYS, value) for value in (*HOSTILE, *LONG)],
            len(HOSTILE) + len(LONG),
            marks=pytest.mark.rare,
        ),
    ],
    ids=["mixed", "each"],
)
def test_no_value_is_an_error_of_the_server(
    forms: list[dict[str, str]],
    each: int,
    places: list[str],
    outsider: Outsider,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither in an address nor in a form; where the first was not looked at, none is.

    The sidebar and the way back from an account's page look at the same names wherever they are:
    all values are tried on the first of their pages. By default an address gets one form, and the
    next one another.
    """
    # By itself, Django draws a thousand rows more than a form may have.
    monkeypatch.setattr(formsets, "DEFAULT_MAX_NUM", 10)
    settings.MIDDLEWARE = [f"{__name__}.noting", *settings.MIDDLEWARE]
    sidebar, way_back = outsider.get(reverse("costs")).wsgi_request.GET.names, {"next"}
    shared, tried = [sidebar, way_back, sidebar | way_back], []
    for number, place in enumerate(places):
        sent = [forms[(number + more) % len(forms)] for more in range(each)]
        for form in sent:
            page = outsider.get(place, form)
            assert page.status_code < 500, f"GET {place}: {form}"
            names = page.wsgi_request.GET.names
            if not names or names in tried:
                break
        else:
            tried += [one for one in shared if one == names]
        for form in sent:
            answer = outsider.post(place, form, headers=HTMX)
            assert answer.status_code < 500, f"POST {place}: {form}"
            if not hasattr(answer.wsgi_request, "_post"):
                break


@pytest.mark.parametrize("shift", [0, pytest.param(5, marks=pytest.mark.rare)])
def test_no_body_is_an_error_of_the_server(
    shift: int, places: list[str], outsider: Outsider
) -> None:
    """Whatever it says that it is: each address gets two of them, and search gets all."""
    bodies = [*BODIES.values()]
    for number, place in enumerate(places):
        kind, body = bodies[(number + shift) % len(bodies)]
        assert outsider.generic("POST", place, body, kind).status_code < 500, f"POST {place}"
    for kind, body in bodies:
        assert outsider.generic("GET", "/search/?q=+2AA-%ff", body, kind).status_code < 500


def test_where_there_is_nothing_an_answer_says_what_a_browser_must_not_do(alice: User) -> None:
    """As all others here do, whoever asks."""
    for client in (Outsider(), Outsider(alice)):
        for place in ("/nowhere/", "/static/nowhere.js"):
            assert client.get(place).status_code == 404


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_strangers_get_nothing(
    method: str, places: list[str], bob: User, conversation: Conversation
) -> None:
    """Who is not signed in, or may not be any more, is asked to be; others find nothing of hers."""
    Conversation.objects.filter(pk=conversation.pk).update(title="What Alice asked")
    nobody, closed, other = Outsider(), Outsider(conversation.owner), Outsider(bob)
    User.objects.filter(pk=conversation.owner_id).update(is_active=False)
    for place, client in itertools.product(places, (nobody, closed)):
        answer = client.generic(method, place)
        is_sent_on = answer.status_code == 302 and answer["Location"].startswith("/sign-in/")
        refused = is_sent_on or answer.status_code in {401, 403, 404, 405}
        assert refused or place in FOR_ALL, f"{place}: {answer.status_code}"
    User.objects.filter(pk=conversation.owner_id).update(is_active=True)
    for place in places:
        answer = other.generic(method, place)
        is_hers = str(conversation.pk) in place or NUMBERED.search(place)
        asked = answer.get("Location", "").startswith("/account/reauthenticate/")
        refused = asked or answer.status_code in {404, 405}
        assert not is_hers or refused, f"{place}: {answer.status_code}"
        assert b"What Alice asked" not in answer.getvalue()
    conversation.refresh_from_db()
    assert (conversation.title, conversation.deleted_at) == ("What Alice asked", None)
    assert conversation.profile is not None
