"""Log lines: one each, without contents, as text or as JSON."""

import errno
import json
import logging
import sys
from collections.abc import Iterator
from io import StringIO
from ipaddress import ip_network
from typing import override

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

import condense
from chatapp import urls
from chatapp.models import Conversation, Preferences
from chatapp.operations import background_jobs
from chatapp.project import logs
from chatapp.project.logs import JsonFormatter, OneLineFormatter
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Failure, Reply
from tests.standin.server import Standin

SECRET = "hunter2 is what I call my cat"


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Nothing is known of the requests of other tests."""
    logs.begin()


def line(message: str, *values: object, with_exception: bool = False) -> str:
    """Return a record as the formatter writes it."""
    info = sys.exc_info() if with_exception else None
    record = logging.LogRecord("chatapp", logging.ERROR, "file.py", 1, message, values, info)
    return OneLineFormatter("{levelname} {message}", style="{").format(record)


def test_a_record_is_one_line() -> None:
    """A message with line breaks cannot pass for several records."""
    assert line("one\r\ntwo") == "ERROR one | two"


def test_an_exception_is_a_place_without_its_text() -> None:
    """The text of an exception may quote a message or a key."""
    try:
        raise ValueError("the user's words")
    except ValueError:
        text = line("failed", with_exception=True)
    assert "the user's words" not in text
    assert "ValueError at " in text
    assert "test_logs.py" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Not Found: /sign-in/abc123/", "Not Found: /sign-in/…/"),
        ("Not Found: /sign-in//abc123/", "Not Found: /sign-in//…/"),
        ("Gone: /invitations/abc123/", "Gone: /invitations/…/"),
        ("Gone: /s/abc123/", "Gone: /s/…/"),
        ("/account/password/reset/key/1-abc123/", "/account/password/reset/key/…/"),
        ("Gone: /search/?q=abc123&at=1 now", "Gone: /search/?… now"),
        (
            "Task exception was never retrieved\nfuture: <Task exception=ValueError('abc123')>",
            "Task exception was never retrieved | future: <Task exception=ValueError…",
        ),
    ],
)
def test_what_opens_something_is_taken_out(said: str, kept: str) -> None:
    """Whoever reads the log can do nothing with it that others could."""
    assert line("%s", said) == f"ERROR {kept}"


def test_a_line_says_at_its_end_what_it_is_about() -> None:
    """Whoever reads text finds what a page quoted, too."""
    with logs.within(request="8c0ffee8", user=7, turn=None):
        assert line("failed") == "ERROR failed [request=8c0ffee8 user=7]"
    assert line("failed") == "ERROR failed"


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """What a server with LOG_FORMAT=json writes, from its least important line on."""
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    own = [logging.getLogger(name) for name in ("chatapp", "condense")]
    before = [one.level for one in own]
    heard = [logging.getLogger(name) for name in ("", "django")]
    for one in own:
        one.setLevel(logging.DEBUG)
    for one in heard:
        one.addHandler(handler)
    yield written
    for one in heard:
        one.removeHandler(handler)
    for one, level in zip(own, before, strict=True):
        one.setLevel(level)


def read(lines: StringIO, logger: str = "") -> list[dict[str, str]]:
    """Return the lines of a logger and those below it; each has to be an object."""
    told = [json.loads(one) for one in lines.getvalue().splitlines()]
    for one in told:
        assert {"time", "level", "logger", "message"} <= one.keys()
    return [one for one in told if one["logger"].startswith(logger)]


def break_down(_configuration: condense.Configuration) -> condense.Configuration:
    """Fail as a function of an operator's can, which saw what was said."""
    raise ValueError(SECRET)


@pytest.mark.django_db(transaction=True)
async def test_a_turn_that_fails_is_told_by_its_ids_and_not_by_its_words(
    conversation: Conversation, alice: User, settings: Settings, lines: StringIO, page: Page
) -> None:
    """Whose it was, and in which conversation, beside the place of what failed."""
    settings.CONDENSE_CONFIGURATION = f"{__name__}.break_down"
    await page.say(SECRET)
    await page.until("status.changed", turn="")
    turn = await conversation.turns.aget()
    assert SECRET in turn.details
    told = [one for one in read(lines, "chatapp.turns") if one["level"] == "ERROR"]
    about = {"user": alice.pk, "conversation": conversation.pk, "turn": turn.pk}
    assert told
    for one in told:
        assert one.items() >= {name: str(pk) for name, pk in about.items()}.items()
        assert one["request"]
        assert "break_down" in one["exception"]
    assert "hunter2" not in lines.getvalue()


@pytest.mark.django_db(transaction=True)
async def test_what_follows_a_turn_is_told_by_the_same_ids(
    conversation: Conversation, alice: User, anthropic_standin: Standin, lines: StringIO
) -> None:
    """A background job, too, whose model repeats what it was asked."""
    await Preferences.objects.filter(owner=alice).aupdate(name_conversations=True)
    anthropic_standin.then(Reply("Yes."), Failure(400, "invalid_request_error", SECRET))
    async with open_page(conversation, alice) as page:
        await page.ask(SECRET)
        await background_jobs.close()
    turn = await conversation.turns.aget()
    (told,) = [one for one in read(lines, "chatapp.turns") if one["level"] == "WARNING"]
    assert told["message"].startswith("a conversation could not be named: ")
    assert (told["job"], told["turn"]) == ("name_conversation", str(turn.pk))
    assert told["conversation"] == str(conversation.pk)
    assert "hunter2" not in lines.getvalue()


def answer(request: HttpRequest, word: str) -> HttpResponse:
    """Fail as a page with a mistake in it does, or as a database that can't be read."""
    raise DatabaseError(SECRET) if word == "unread" else ValueError(SECRET)


class Urls:
    """All addresses, and one whose page has a mistake in it."""

    handler500 = urls.handler500
    urlpatterns = (path("c/<str:word>/broken/", answer), *urls.urlpatterns)


@pytest.mark.django_db
def test_a_page_that_fails_says_by_which_id_the_log_tells_of_it(
    alice: User, settings: Settings, lines: StringIO
) -> None:
    """And whose it was, in which conversation, without what was asked for."""
    settings.ROOT_URLCONF = Urls
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    pk = "01234567-89ab-cdef-0123-456789abcdef"
    page = client.get(f"/c/{pk}/broken/?token=hunter2")
    own = page["X-Request-ID"]
    assert (page.status_code, own in page.text) == (500, True)
    (told,) = [one for one in read(lines, "django.request") if one["level"] == "ERROR"]
    assert (told["request"], told["user"], told["conversation"]) == (own, str(alice.pk), pk)
    assert "ValueError at" in told["exception"]
    assert "hunter2" not in lines.getvalue()
    assert client.get("/healthz")["X-Request-ID"] != own
    assert "Everything you sent is stored" in page.text
    page = client.get("/c/unread/broken/")
    assert "The server can&#x27;t read what is stored." in page.text
    assert "Everything you sent is stored" not in page.text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "by", "is_kept"),
    [
        ("8c0ffee8-1234", "10.0.0.3", True),
        ("8c0ffee8-1234", "192.0.2.7", False),
        ("short", "10.0.0.3", False),
        ("x" * 65, "10.0.0.3", False),
        ('8c0ffee8","user":"1', "10.0.0.3", False),
        ("8c0ffee8\u0661", "10.0.0.3", False),
    ],
)
def test_an_id_is_kept_that_a_trusted_proxy_gave(
    settings: Settings, given: str, by: str, is_kept: bool
) -> None:
    """Nobody else writes into the log, and nothing that is no id."""
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    headers = {"X-Request-ID": given, "X-Forwarded-For": "192.0.2.66"}
    answered = Client().get("/healthz", REMOTE_ADDR=by, headers=headers)
    assert (answered["X-Request-ID"] == given) == is_kept


class FullDisk(StringIO):
    """A file that takes nothing more."""

    @override
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, text)


def test_a_line_that_can_not_be_written_is_told_nowhere(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The log's place may have room for a part of it, and its values may be anybody's words."""
    record = logging.makeLogRecord({"msg": "what was said: %s", "args": (SECRET,)})
    logging.StreamHandler(FullDisk()).handle(record)
    assert capfd.readouterr().err == ""
