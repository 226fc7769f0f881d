"""Every address, asked with what no browser sends: the answer is never an error of the server."""

import itertools
import re
import uuid
from collections.abc import Iterator

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django.views.generic import RedirectView

import condense
from chatapp.models import Conversation, ModelCall, Profile, Question, Review, Rewind, Turn
from tests.chatapp.condensation.findings import finding
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
HOSTILE = {
    "nothing": "",
    "5,000 digits": "9" * 5_000,
    "20 digits": "9" * 20,
    "other digits": "\u0663\u00b2",
    "infinity": "1e999",
    "NUL": "a\0b",
    "a long path": "x" * 300 + "/x" * 2_000,
}
# Each takes seconds, and most of what they could break is broken by the others too.
LONG = {"infinity", "a long path"}
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
    "/sign-in/",
    "/language/",
    "/account/login/",
    "/healthz",
    "/readyz",
    "/manifest.webmanifest",
}
# Of accounts, too, all that says nothing of anybody.
FOR_ALL |= {
    f"/account/{path}/"
    for path in (
        "inactive",
        "confirm-email",
        "confirm-email/b",
        "password/reset",
        "password/reset/done",
        "password/reset/key/a-b",
        "password/reset/key/done",
        "2fa/webauthn/login",
        "3rdparty/login/cancelled",
        "3rdparty/login/error",
        "signup",
    )
}
NUMBERED = re.compile(r"/\d+/")
# They would take away what the other addresses are about.
LAST = {"delete", "delete_profile", "account_logout"}


@pytest.fixture
def places(conversation: Conversation, say: Say, alice: User) -> list[str]:
    """Every address of the application but the admin's, each naming something of Alice's."""
    for number in range(4):
        say("user", f"Message {number}.")
    receipt = condense.Receipt((finding("a.py", "missing", kind="read_files"),))
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

    names = sorted(ADDRESSES, key=lambda name: (name in LAST, name))
    return [place for name in names for place in fill(name)]


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    """Yield each address below a place, of our own and of other applications."""
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from patterns(one)
        else:
            yield one


def test_each_address_is_among_those_that_are_called(places: list[str]) -> None:
    """They are found by their names; without one there is nothing but a redirect."""
    every = [*patterns(get_resolver())]
    unnamed = [one.callback for one in every if not one.name]
    assert {getattr(view, "view_class", view) for view in unnamed} == {RedirectView}
    called = {get_resolver().resolve(place).route for place in places}
    assert len(called) == len(places) == len(every) - len(unnamed)


@pytest.fixture
def outsider(alice: User) -> Client:
    """Somebody who is signed in and sends whatever they like."""
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    return client


VALUES = [
    pytest.param(value, id=name, marks=[pytest.mark.soak] if name in LONG else [])
    for name, value in HOSTILE.items()
]


@pytest.mark.parametrize("value", VALUES)
def test_no_value_is_an_error_of_the_server(
    value: str, places: list[str], outsider: Client
) -> None:
    """Neither in an address nor in a form."""
    fields = dict.fromkeys(KEYS, value)
    for place in places:
        page = outsider.get(place, fields)
        if page.streaming:
            # What it reads is closed at its end.
            page.getvalue()
        assert page.status_code < 500, f"GET {place}"
        answer = outsider.post(place, fields, headers={"HX-Request": "true"})
        assert answer.status_code < 500, f"POST {place}"


@pytest.mark.parametrize("shift", [0, 5])
def test_no_body_is_an_error_of_the_server(shift: int, places: list[str], outsider: Client) -> None:
    """Whatever it says that it is: each address gets two of them, and search gets all."""
    bodies = [*BODIES.values()]
    for number, place in enumerate(places):
        kind, body = bodies[(number + shift) % len(bodies)]
        assert outsider.generic("POST", place, body, kind).status_code < 500, f"POST {place}"
    for kind, body in bodies:
        assert outsider.generic("GET", "/search/?q=+2AA-%ff", body, kind).status_code < 500


SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def test_every_answer_says_what_a_browser_must_not_do(places: list[str], alice: User) -> None:
    """Whoever asks, and whether there is anything at the address."""
    signed_in, nobody = Client(raise_request_exception=False), Client()
    for place in [*places, "/nowhere/", "/static/nowhere.js"]:
        signed_in.force_login(alice)
        for client in (signed_in, nobody):
            answer = client.get(place)
            b"".join(answer)
            assert {name: answer.get(name) for name in SAFE} == SAFE, place
            assert answer["Referrer-Policy"] in {"same-origin", "no-referrer"}, place
            assert "frame-ancestors 'none'" in answer["Content-Security-Policy"], place
            assert "microphone=()" in answer["Permissions-Policy"], place


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_strangers_get_nothing(
    method: str, places: list[str], bob: User, conversation: Conversation
) -> None:
    """Who is not signed in, or may not be any more, is asked to be; others find nothing of hers."""
    Conversation.objects.filter(pk=conversation.pk).update(title="What Alice asked")
    nobody, closed, other = Client(), Client(), Client()
    closed.force_login(conversation.owner)
    User.objects.filter(pk=conversation.owner_id).update(is_active=False)
    for place, client in itertools.product(places, (nobody, closed)):
        answer = client.generic(method, place)
        is_sent_on = answer.status_code == 302 and answer["Location"].startswith("/sign-in/")
        refused = is_sent_on or answer.status_code in {401, 403, 404, 405}
        assert refused or place in FOR_ALL, f"{place}: {answer.status_code}"
    User.objects.filter(pk=conversation.owner_id).update(is_active=True)
    for place in places:
        other.force_login(bob)
        answer = other.generic(method, place)
        is_hers = str(conversation.pk) in place or NUMBERED.search(place)
        asked = answer.get("Location", "").startswith("/account/reauthenticate/")
        refused = asked or answer.status_code in {404, 405}
        assert not is_hers or refused, f"{place}: {answer.status_code}"
        assert b"What Alice asked" not in b"".join(answer)
    conversation.refresh_from_db()
    assert (conversation.title, conversation.deleted_at) == ("What Alice asked", None)
    assert conversation.profile is not None
