"""The API over HTTP: who is let in, what they read, and what nobody gets."""

import hashlib
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.accounts import credentials
from chatapp.agent.annotated_blocks import forgotten_block
from chatapp.conversations import conversations
from chatapp.conversations.composer import attachments
from chatapp.models import (
    ApiToken,
    Condensation,
    Conversation,
    ModelCall,
    Profile,
    Question,
    Review,
    Rewind,
    Turn,
    message_store,
)
from chatapp.page.inspector.requests import read_body
from chatapp.web.api.urls import describe
from tests.chatapp.accounts.members import RIGHT
from tests.chatapp.browsers import browser_of
from tests.chatapp.condensing.findings import finding
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.queries import statements
from tests.chatapp.storage.recorded_session import Session
from tests.records import put_on_record

pytestmark = pytest.mark.django_db


class Program:
    """A program that asks with a token, and has no cookies."""

    def __init__(self, owner: User, scope: str = "read") -> None:
        self.token = credentials.create_api_token(owner=owner, name="script", scope=scope)
        self.client = Client(headers={"Authorization": f"Bearer {self.token}"})

    def get(self, path: str, **asked: Any) -> Any:
        """Return what it is answered, as JSON."""
        answer = self.client.get(f"/api/{path}", asked)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def pages(self, path: str, **asked: Any) -> list[Any]:
        """Return all items of a list, page by page."""
        found: list[Any] = []
        after: str | None = ""
        while after is not None:
            page = self.get(path, after=after, **asked)
            assert len(page["items"]) <= asked.get("limit", 40)
            found += page["items"]
            after = page["next"]
        return found


@pytest.fixture
def program(alice: User) -> Program:
    """A program of Alice's that may read."""
    return Program(alice)


@pytest.fixture
def call(conversation: Conversation) -> ModelCall:
    """A call whose request is on record."""
    session = Session(conversation)
    session.say("user", condense.TextBlock("Begin"))
    session.send()
    return ModelCall.objects.select_related("manifest").latest("pk")


@pytest.fixture
def attempt(conversation: Conversation, say: Say) -> Condensation:
    """A condensation of four messages."""
    for number in range(4):
        say("user", f"Message {number}.")
    receipt = condense.Receipt((finding("a.py", "lost", kind="read_files"),))
    made = {"message": summarise(conversation, keep=1), "summary": "What was said."}
    return put_on_record(conversation, at_seq=4, receipt=receipt, **made)


@pytest.fixture
def addresses(call: ModelCall, attempt: Condensation) -> list[tuple[str, str]]:
    """Every method and address of the API, each naming something of Alice's."""
    conversation = call.conversation
    asked = Turn.objects.create(conversation=conversation)
    known = {
        "call_pk": call.pk,
        "attempt_pk": attempt.pk,
        "pk": conversation.pk,
        "turn_pk": asked.pk,
        "question_pk": Question.objects.create(turn=asked, seq=1, place=0, text="Begin?").pk,
        "review_pk": Review.objects.create(condensation=attempt, ordinal=1, shown="Begin").pk,
        "seq": 1,
        "rewind_pk": Rewind.objects.create(conversation=conversation, to_seq=9, last_seq=9).pk,
        "profile_pk": Profile.objects.get(owner=conversation.owner).pk,
        "attachment_pk": attachments.attach_file(
            owner=conversation.owner, name="Begin.txt", data=b"Begin"
        ).pk,
    }
    return [
        (method.upper(), path.format(**known))
        for path, methods in describe()["paths"].items()
        for method in methods
    ]


def test_conversations_and_messages_come_in_pages(
    program: Program, alice: User, conversation: Conversation, say: Say
) -> None:
    """The latest conversation first, messages as they were written, each once; deleted ones not."""
    others = [conversations.start_conversation(owner=alice, title=f"No. {n}") for n in range(4)]
    listed = program.pages("conversations", limit=2)
    wanted = [*reversed(others), conversation]
    assert [one["id"] for one in listed] == [str(one.pk) for one in wanted]
    for number in range(5):
        say("user", f"Message {number}.")
    messages = program.pages(f"conversations/{conversation.pk}/messages", limit=2)
    assert [one["seq"] for one in messages] == [1, 2, 3, 4, 5]
    assert messages[0]["content"] == [{"type": "text", "text": "Message 0."}]
    assert program.get(f"conversations/{conversation.pk}")["last_seq"] == 5
    for one in Conversation.objects.all():
        conversations.delete_conversation(conversation=one)
    assert program.get("conversations") == {"items": [], "next": None}
    answer = program.client.get(f"/api/conversations/{conversation.pk}/messages")
    assert answer.status_code == 404


def test_the_effective_history_is_what_the_model_sees(
    program: Program, attempt: Condensation
) -> None:
    """The summary stands for what it hides, which is listed among the messages.

    What is forgotten is only named by marks that no model gets.
    """
    place = f"conversations/{attempt.conversation_id}"
    seen = program.get(f"{place}/effective")
    assert [one["seq"] for one in seen["messages"]] == [5, 4]
    assert seen["messages"][1]["content"] == [{"type": "text", "text": "Message 3."}]
    assert seen["tokens"] == 15
    messages = program.get(f"{place}/messages")["items"]
    assert [one["hidden"] for one in messages] == [True, True, True, False, False]
    forgotten = forgotten_block([(4, "Message 3.")])
    asking = condense.Message("user", (forgotten,))
    message_store.append_message(attempt.conversation_id, asking, tokens=1)
    newest = program.get(f"{place}/effective")["messages"][-1]
    assert newest["content"] == [{"type": "text", "text": forgotten.text}]


def test_the_record_of_a_condensation_is_whole(program: Program, attempt: Condensation) -> None:
    """In short in the lists, with its texts and its receipt on its own."""
    place = f"conversations/{attempt.conversation_id}/condensations"
    [short] = program.get(place)["items"]
    assert program.get("condensations")["items"] == [short]
    assert "summary" not in short
    assert short["cost"] == "0"
    record = program.get(f"{place}/{attempt.pk}")
    assert record["summary"] == "What was said."
    assert record["receipt"] == attempt.receipt.to_json()
    assert short.items() <= record.items()


def test_a_calls_request_is_the_bytes_that_were_sent(program: Program, call: ModelCall) -> None:
    """Their hash is the one on record."""
    place = f"conversations/{call.conversation_id}/calls"
    [listed] = program.get(place)["items"]
    assert program.get(f"{place}/{call.pk}") == listed
    answer = program.client.get(f"/api/{place}/{call.pk}/request")
    assert answer.content == read_body(call)
    assert hashlib.sha256(answer.content).digest() == bytes(call.manifest.digest)


def test_nobody_else_gets_anything(
    addresses: list[tuple[str, str]], conversation: Conversation, bob: User
) -> None:
    """Neither without a token, nor with a session, nor with another user's token.

    One that may only read changes nothing, and that of a deactivated member opens nothing.
    """
    reader, session = Program(conversation.owner).client, Client()
    session.force_login(conversation.owner)
    other = Program(bob, "all").client
    for method, path in addresses:
        for stranger in (Client(), session, Client(headers={"Authorization": "Bearer nothing"})):
            answer = stranger.generic(method, path, "{}", "application/json")
            assert answer.status_code in {401, 429}, path
            assert set(answer.json()) == {"detail"}
        answer = other.generic(method, path, "{}", "application/json")
        if re.search(r"\d", path):
            assert answer.status_code in {404, 422}, path
        for owned in (str(conversation.pk), "Message 0", "Begin", "What was said"):
            assert owned not in answer.text, path
        if method != "GET":
            answer = reader.generic(method, path, "{}", "application/json")
            told = (answer.status_code, answer.json()["detail"])
            assert told == (403, "This token may only read."), path
    User.objects.filter(pk=conversation.owner_id).update(is_active=False)
    assert {reader.generic(*one).status_code for one in addresses} <= {401, 429}


def test_a_mistake_is_told_in_a_sentence(program: Program, conversation: Conversation) -> None:
    """It names the value; what is no form, or larger than can be meant, is refused."""
    answer = program.client.get("/api/conversations", {"limit": 1_000})
    assert answer.status_code == 422
    assert answer.json() == {"detail": "A value can't be read. limit: it can be 100 at most"}
    answer = program.client.get("/api/conversations", {"after": "here"})
    assert (answer.status_code, "last page" in answer.text) == (422, True)
    messages = f"/api/conversations/{conversation.pk}/messages"
    for after in ("here", "-1", "1" * 10):
        answer = program.client.get(messages, {"after": after})
        assert (answer.status_code, "last page" in answer.text) == (422, True)
    client = Program(conversation.owner, "write").client
    begin = "multipart/form-data"
    for kind in (begin, f"{begin}; boundary=", "multipart/form-data; boundary=\u00fc"):
        answer = client.generic("POST", "/api/attachments", b"x", kind)
        assert (answer.status_code, set(answer.json())) == (400, {"detail"})
    for body in (b'"A text has a title, too"', b"[]", b"null", b"{"):
        answer = client.post("/api/conversations", body, "application/json")
        said = answer.json()["detail"]
        assert (answer.status_code, said) == (400, "The request's body has to be a JSON object.")
    answer = client.post("/api/conversations", b"1" * 30_000_000, "application/json")
    assert (answer.status_code, set(answer.json())) == (413, {"detail"})
    wrong: list[tuple[dict[str, Any], list[str]]] = [({}, ["text"])]
    for told, names in (*wrong, ({"text": "", "attachments": [1]}, ["attachments.0"])):
        answer = client.post(messages, told, "application/json")
        said = answer.json()["detail"].partition(". ")[2]
        assert [one.partition(":")[0] for one in said.split("; ")] == names
    answer = client.post(messages, b"", "application/json")
    assert answer.json() == {"detail": "A value can't be read. body: it is missing"}


def test_addresses_are_read_as_scripts_write_them(
    program: Program, conversation: Conversation
) -> None:
    """A UUID in capitals is the same; two blanks stand before a token; nothing needs no body."""
    place = f"/api/conversations/{conversation.pk}"
    spaced = Client(headers={"Authorization": f"bearer  {program.token} "})
    assert spaced.get(f"/api/conversations/{str(conversation.pk).upper()}").status_code == 200
    for address in ("/api/", "/api/none", f"{place}/"):
        answer = spaced.get(address)
        assert (answer.status_code, set(answer.json())) == (404, {"detail"})
    answer = spaced.put(place)
    assert (answer.status_code, "GET, HEAD" in answer["Allow"]) == (405, True)
    writer = Program(conversation.owner, "write").client
    assert writer.generic("POST", "/api/conversations").status_code == 201
    for given, title in (("A\n long  title " * 13, "A long title " * 13), (" \n", "")):
        made = writer.post("/api/conversations", {"title": given}, "application/json").json()
        assert made["title"] == title.strip()


def test_a_failure_of_the_server_tells_nothing_of_it(
    program: Program, conversation: Conversation, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even with DEBUG."""
    settings.DEBUG = True

    def fail(*_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("chatapp.models.message_store.read_outline", fail)
    answer = program.client.get(f"/api/conversations/{conversation.pk}/effective")
    assert answer.status_code == 500
    said = "The server failed to answer this. Its log says why, at request %s."
    assert answer.json() == {"detail": said % answer["X-Request-ID"]}


def test_a_token_is_stored_as_a_hash_and_notes_its_use(program: Program, alice: User) -> None:
    """At most once a minute, so that reading seldom writes."""
    row = ApiToken.objects.get()
    assert program.token not in str(vars(row))
    assert row.used_at is None
    unused = credentials.create_api_token(owner=alice, name="other", scope="read")
    program.get("settings")
    assert ApiToken.objects.exclude(used_at=None).exists()
    assert ApiToken.objects.get(digest=ApiToken.digest_of(unused)).used_at is None
    with statements() as ran:
        program.get("settings")
    assert not [sql for sql in ran if sql.startswith("UPDATE")]


def test_a_token_is_made_shown_once_and_revoked_in_settings(
    browser: Client, alice: User, bob: User
) -> None:
    """By its owner alone, who types the password again; who has none makes one without.

    Whoever has it is let in until then, unless the account is closed.
    """
    Program(bob)
    [theirs] = ApiToken.objects.values_list("pk", flat=True)
    new = {"name": "My script", "scope": "read"}
    linked = browser_of(User.objects.create_user("linked"))
    assert "palimpsest_" in linked.post(reverse("new_token"), new).text
    asked = browser.post(reverse("new_token"), new)
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    for password in ("wrong", RIGHT["password"]):
        assert not ApiToken.objects.filter(owner=alice).exists()
        page = browser.post(asked["Location"], {"password": password}).text
    [token] = re.findall(r"palimpsest_[\w-]+", page)

    def status() -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return Client().get("/api/settings", headers=headers).status_code

    assert status() == 200
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert status() == 401
    User.objects.filter(pk=alice.pk).update(is_active=True)
    shown = browser.get(reverse("settings")).text
    assert ("My script" in shown, token in shown) == (True, False)
    for row in ApiToken.objects.all():
        browser.post(reverse("revoke_token", args=[row.pk]))
    assert [one.pk for one in ApiToken.objects.filter(owner__in=[alice, bob])] == [theirs]
    assert status() == 401


def test_the_description_loads_nothing_from_elsewhere(conversation: Conversation) -> None:
    """It names every address, and is open to everybody."""
    page = Client().get("/api/docs")
    for path in describe()["paths"]:
        assert path in page.text
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page.text)
    assert Client().get("/api/openapi.json").json()["paths"].keys() == describe()["paths"].keys()
    assert Client().get("/api/nothing").json() == {"detail": "There is nothing at this address."}
