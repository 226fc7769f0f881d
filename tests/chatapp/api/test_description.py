"""Whatever the API's description allows, and much that it does not, is answered as it says.

A real server is asked, with what schemathesis makes of the description.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.e2e.server import serving
from tests.first_start import FirstStart
from tests.processes import ROOT

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
FEW, MANY = 3, 100
PATIENCE = 120  # seconds

# Prints a token, and the names of what its owner has.
SEED = """
import json
from django.contrib.auth.models import User
from chatapp.accounts import accounts, credentials
from chatapp.composer import attachments
from chatapp.conversations import conversations, rewind
from chatapp.models import Condensation, ModelCall, Profile, Question, Review
from tests.chatapp.scripted_turns import ask, end

owner = User.objects.get()
talk = conversations.start_conversation(owner=owner, title="Asked about")
for number in range(3):
    end(ask(talk, f"Question {number}?"), "An answer. " * 50)
went_back = rewind.rewind_conversation(conversation=talk, first_hidden_seq=5)
turn = talk.turns.first()
question = Question.objects.create(turn=turn, seq=1, place=0, kind="permission", tool="x")
accounts.preferences_of(owner)
attempt = Condensation.objects.create(
    conversation=talk, status="failed", kind="condensed", strategy="fresh_start",
    trigger="manual", at_seq=4, threshold=90, threshold_source="global", context_window=1_000,
    allowed=900, tokens_before=100, tokens_before_measured=False,
)
call = ModelCall.objects.create(conversation=talk, purpose="chat", status="succeeded", cost=None)
print(json.dumps({
    "token": credentials.create_api_token(owner=owner, name="asker", scope="all"),
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
}))
"""


@dataclass
class Asked:
    """A server, what is known of it, and whether the next request names what is there."""

    url: str
    known: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    turn: int = 0


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Iterator[Asked]:
    """A server with a conversation, and a program that may do everything."""
    folder = tmp_path_factory.mktemp("asked")
    first_start.copy(folder / "data")
    with serving(folder) as server:
        command = [sys.executable, "manage.py", "shell", "-v0", "-c", SEED]
        environment = os.environ | {"DATA_DIR": str(folder / "data"), "DATABASE_URL": ""}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        known = json.loads(done.stdout)
        headers = {"Authorization": f"Bearer {known.pop('token')}"}
        yield Asked(server.url, known, headers)
        assert not server.errors(), Path(server.log).read_text()[-4_000:]


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
