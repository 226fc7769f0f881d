"""Whatever the API's description allows, and much that it does not, is answered as it says.

A real server is asked, with what schemathesis makes of the description.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import pytest_django
import schemathesis
from django.contrib.auth.models import User
from django.db import connections
from hypothesis import strategies
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from chatapp.conversations import conversations, rewind
from chatapp.conversations.composer import attachments
from chatapp.models import ModelCall, Profile, Question, Review, accounts
from chatapp.settings import SQLITE
from tests.chatapp import scripted_turns
from tests.chatapp.web.api.programs import bearer
from tests.e2e.server import serving
from tests.first_start import FirstStart
from tests.records import put_on_record

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
FEW, MANY = 3, 100
PATIENCE = 120  # seconds


@contextmanager
def database_at(path: Path) -> Iterator[None]:
    """Work on the database of a server that does not run, whichever the tests have."""
    outer, databases = connections["default"], connections.settings
    kept = databases["default"]
    databases |= connections.configure_settings({"default": SQLITE | {"NAME": path}})
    del connections["default"]
    try:
        yield
    finally:
        connections.close_all()
        databases["default"] = kept
        connections["default"] = outer


def store(owner: User) -> dict[str, Any]:
    """Store a conversation in which everything has happened; return the names of what is there."""
    talk = conversations.start_conversation(owner=owner, title="Asked about")
    for number in range(3):
        scripted_turns.end(scripted_turns.ask(talk, f"Question {number}?"), "An answer. " * 50)
    went_back = rewind.rewind_conversation(conversation=talk, first_hidden_seq=5)
    turn = talk.turns.first()
    question = Question.objects.create(turn=turn, seq=1, place=0, kind="permission", tool="x")
    accounts.preferences_of(owner)
    attempt = put_on_record(talk, status="failed", at_seq=4)
    call = ModelCall.objects.create(
        conversation=talk, purpose="chat", status="succeeded", cost=None
    )
    return {
        "pk": str(talk.pk),
        "attempt_pk": str(attempt.pk),
        "call_pk": call.pk,
        "turn_pk": str(turn.pk),
        "rewind_pk": str(went_back.pk),
        "question_pk": question.pk,
        "review_pk": Review.objects.create(condensation=attempt, ordinal=1).pk,
        "seq": 2,
        "profile_pk": Profile.objects.filter(owner=owner).first().pk,
        "attachment_pk": str(attachments.attach_file(owner=owner, name="a.txt", data=b"A").pk),
    }


@dataclass
class Asked:
    """A server, what is known of it, and whether the next request names what is there."""

    url: str
    known: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    turn: int = 0


@pytest.fixture
def asked(
    tmp_path: Path, first_start: FirstStart, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[Asked]:
    """A server with a conversation, and a program that may do everything."""
    data = first_start.copy(tmp_path / "asked" / "data")
    with django_db_blocker.unblock(), database_at(data / "palimpsest.sqlite3"):
        owner = User.objects.get()
        known, headers = store(owner), bearer(owner, "all")
    with serving(data.parent) as server:
        yield Asked(server.url, known, headers)
        assert not server.errors(), server.log.read_text()[-4_000:]


@pytest.fixture
def description(asked: Asked) -> schemathesis.BaseSchema:
    """What the server says of its API."""
    return schemathesis.openapi.from_url(f"{asked.url}/api/openapi.json", timeout=PATIENCE)


def ask(case: schemathesis.Case, asked: Asked) -> None:
    """Send a request, every other one for what is there, and look at the answer."""
    asked.turn += 1
    if asked.turn % 2:
        old = case.path_parameters
        case.path_parameters = {name: asked.known.get(name, old[name]) for name in old}
    # What is no request of HTTP at all is answered before the API hears of it.
    meant = case.meta is None or case.meta.generation.mode is GenerationMode.POSITIVE
    checks = CHECKS if meant else CHECKS[:1]
    case.call_and_validate(headers=asked.headers, checks=checks, timeout=PATIENCE)


@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_every_request_is_answered_as_it_is_described(
    description: schemathesis.BaseSchema, asked: Asked, examples: int
) -> None:
    """No server error, no status, type or shape that the description does not have.

    One request in two is what nobody should send.
    """
    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[*hypothesis.HealthCheck],
    )
    for found in description.get_all_operations():
        operation = found.ok()
        cases = [operation.as_strategy(generation_mode=mode) for mode in MODES]

        @settings
        @hypothesis.given(strategies.one_of(cases))
        def ask_some(case: schemathesis.Case) -> None:
            ask(case, asked)

        ask_some()
