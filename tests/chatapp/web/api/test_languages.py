"""Refusals of the API are in the language of whoever asks: the account's, or the program's."""

import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import translation
from django.utils.translation import gettext, ngettext

from chatapp.models import Conversation, ModelCall, ServerSettings
from chatapp.project.sentences import translate
from tests.chatapp.browsers import choose
from tests.chatapp.web.api.programs import Manager, Sender, bearer, read
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

Ask = Callable[[Client, str], Any]

# What an account has chosen, what its program accepts, and what both get by that.
SPOKEN = [
    ("", "", "en"),
    ("", "it", "en"),
    ("", "de-AT, en;q=0.5", "de"),
    ("ja", "", "ja"),
    ("ja", "de", "ja"),
]


def ask(path: str, method: str = "GET", **wanted: Any) -> Ask:
    """Return what asks for something, with a query or a body."""
    if method == "GET":
        return lambda client, pk: client.get(f"/api/{path.format(pk=pk)}", wanted)
    return lambda client, pk: client.generic(
        method, f"/api/{path.format(pk=pk)}", json.dumps(wanted), "application/json"
    )


def too_often(client: Client, _pk: str) -> Any:
    """Ask once more than is allowed in this minute, and twice in case that it ends."""
    cache.clear()
    ServerSettings.objects.update_or_create(pk=1, defaults={"requests_per_minute": 1})
    answer = [client.get("/api/settings") for _ in range(4)][-1]
    ServerSettings.objects.all().delete()
    return answer


OWN_WORDS = {
    403: (ask("settings", "PATCH"), "This token may not change settings."),
    404: (ask(f"conversations/{uuid.uuid4()}"), "Nothing here belongs to you."),
    409: (
        ask("conversations/{pk}/messages", "POST", text=" "),
        "There is nothing to send yet. Type a message first.",
    ),
    422: (
        ask("conversations", after="here"),
        "Send the cursor that the last page gave as “next”.",
    ),
}


def said_in(language: str, sentence: str, plural: str = "") -> str:
    """Return a sentence in a language; of a plural, the form for one."""
    with translation.override(language):
        return ngettext(sentence, plural, 1) if plural else gettext(sentence)


def answers(alice: User, conversation: Conversation, ask: Ask) -> list[tuple[str, Any]]:
    """Return what is answered to a program of Alice's, and the language it ought to be in."""
    found = []
    for chosen, accepts, language in SPOKEN:
        choose(alice, chosen)
        known = {"Accept-Language": accepts} if accepts else {}
        found.append((language, ask(Client(headers=bearer(alice) | known), str(conversation.pk))))
    return found


@pytest.mark.parametrize("status", OWN_WORDS)
def test_a_refusal_is_in_the_accounts_language_or_one_that_the_program_accepts(
    alice: User, conversation: Conversation, status: int
) -> None:
    """In English without either; the answer says which it is."""
    wanted, sentence = OWN_WORDS[status]
    for language, answer in answers(alice, conversation, wanted):
        assert (answer.status_code, answer["Content-Language"]) == (status, language)
        assert answer.json() == {"detail": said_in(language, sentence)}
        assert "Accept-Language" in answer["Vary"]


def test_a_limit_and_a_mistake_are_told_in_it(alice: User, conversation: Conversation) -> None:
    """With their numbers."""
    words = (
        "Limit of {count:,} request a minute reached. Try again in {seconds} s.",
        "Limit of {count:,} requests a minute reached. Try again in {seconds} s.",
    )
    for language, answer in answers(alice, conversation, too_often):
        assert (answer.status_code, answer["Content-Language"]) == (429, language)
        with translation.override(language):
            said = translate(*words, count=1, seconds=answer["Retry-After"])
        assert answer.json() == {"detail": said}
    mistake = ask("conversations", limit=1_000)
    for language, answer in answers(alice, conversation, mistake):
        said = said_in(language, "A value can't be read.", "Values can't be read.")
        assert (answer.status_code, answer["Content-Language"]) == (422, language)
        assert answer.json()["detail"].startswith(f"{said} limit: ")


UNREADABLE = [
    (ask("conversations", limit="x"), "limit: it has to be a whole number", {}),
    (ask("conversations", limit=0), "limit: it has to be {ge:,} at least", {"ge": 1}),
    (ask("conversations", "POST", title=[]), "title: it has to be a text", {}),
    (
        ask("conversations", "POST", title="x" * 1_000),
        "title: its length can be {max_length:,} at most",
        {"max_length": 200},
    ),
    (ask("conversations/{pk}/condense", "POST", nonce="x"), "nonce: it has to be a UUID", {}),
    (ask("conversations/{pk}/rewinds", "POST"), "to_seq: it is missing", {}),
    (
        ask("conversations/{pk}/questions/1/answer", "POST", decision="x"),
        "decision: it has to be one of these: {expected}",
        {"expected": "'once', 'always', 'deny', 'answer'"},
    ),
]


@pytest.mark.parametrize(("wanted", "english", "values"), UNREADABLE)
def test_a_value_that_cannot_be_read_is_told_in_it(
    alice: User, conversation: Conversation, wanted: Ask, english: str, values: dict[str, Any]
) -> None:
    """In words of ours, whoever reads the value."""
    client = Client(headers=bearer(alice) | {"Accept-Language": "de"})
    detail = wanted(client, str(conversation.pk)).json()["detail"]
    name, _colon, sentence = english.partition(": ")
    with translation.override("de"):
        assert detail.endswith(f" {name}: {translate(sentence, **values)}")
        assert translate(sentence) != sentence


def test_a_form_says_in_it_what_it_does_not_take(alice: User, manager: Manager) -> None:
    """As its page does."""
    for chosen, accepts, language in SPOKEN:
        choose(alice, chosen)
        manager.client.defaults["HTTP_ACCEPT_LANGUAGE"] = accepts
        answer = manager.patch("settings", month_budget="-1")
        assert (answer.status_code, answer["Content-Language"]) == (422, language)
        too_small = "Ensure this value is greater than or equal to %(limit_value)s."
        with translation.override(language):
            least = said_in(language, too_small) % {"limit_value": "X"}
        assert answer.json()["detail"].startswith("month_budget: " + least.partition("X")[0])


def test_without_a_token_only_the_program_says_what_it_reads(alice: User) -> None:
    """Where nobody is known, where nothing is, and where too many guesses were wrong."""
    choose(alice, "ja")
    headers = {"Accept-Language": "de-AT, en;q=0.5"}
    guesser = Client(headers=headers | {"Authorization": "Bearer nothing"})
    told = [
        (guesser.get("/api/nothing"), "There is nothing at this address."),
        (guesser.put("/api/settings"), "This address doesn't accept that method."),
        (guesser.get("/api/settings"), "Send a valid token: “Authorization: Bearer …”."),
    ]
    limited = [guesser.get("/api/settings") for _ in range(50)][-1]
    told.append((limited, "Too many tokens were wrong. Try again in 15 minutes."))
    assert [answer.status_code for answer, _sentence in told] == [404, 405, 401, 429]
    for answer, sentence in told:
        assert answer["Content-Language"] == "de"
        assert answer.json() == {"detail": said_in("de", sentence)} != {"detail": sentence}


@pytest.mark.django_db(transaction=True)
async def test_a_stream_says_in_it_why_no_turn_began(
    sender: Sender, conversation: Conversation, anthropic_standin: Standin
) -> None:
    """Also where something else runs, and what goes on record elsewhere."""
    sender.headers["Accept-Language"] = "de"
    gone = "A file is not attached any more. Remove it, and attach it again."
    assert await refused(sender, attachments=[str(uuid.uuid4())]) == said_in("de", gone)
    gate = Gate()
    anthropic_standin.then(Reply("It is noon.", gate=gate))
    stream = read((await sender.send("What time is it?")).streaming_content)
    await anext(stream)
    busy = "The previous turn is still running. Stop it first, or wait."
    assert await refused(sender) == said_in("de", busy)
    gate.open()
    assert [name async for name, _told in stream][-1] == "end"
    conversation.budget = Decimal("0.01")
    await conversation.asave()
    await ModelCall.objects.acreate(conversation=conversation, purpose="chat", cost=Decimal(1_250))
    assert "1.250,01\xa0$ von 0,01\xa0$" in await refused(sender)


async def refused(sender: Sender, **more: Any) -> str:
    """Send a message that no turn answers, and return why."""
    [(name, told)] = await sender.hear("Look.", **more)
    assert name == "refused"
    return str(told["detail"])
