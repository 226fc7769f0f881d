"""What programs do besides sending: stop, answer, condense, go back, attach, change settings."""

import uuid
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient

from chatapp.models import (
    ApiToken,
    Attachment,
    Condensation,
    Conversation,
    Preferences,
    Profile,
    Turn,
    accounts,
)
from tests.chatapp.runs import ended
from tests.chatapp.scripted_turns import ask, end, seen
from tests.chatapp.sockets import Page
from tests.chatapp.web.api.programs import LONG, Manager, Sender, act, bearer, read
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"

LIMITS = ("context_window", "max_output")


@pytest.mark.django_db(transaction=True)
async def test_a_turn_is_stopped_by_its_name(sender: Sender, anthropic_standin: Standin) -> None:
    """What it has written is kept; stopped once more, or after its end, it stays as it is."""
    anthropic_standin.then(Reply("One. Two.", gate=Gate()), Reply("Three."))
    answer = await sender.send("Count.")
    told = read(answer.streaming_content)
    assert [(await anext(told))[0], (await anext(told))[0]] == ["message", "text"]
    [turn] = (await act(sender, "turns", "GET")).json()["items"]
    assert (turn["status"], turn["doing"]) == ("running", "calling")
    assert (await act(sender, f"turns/{uuid.uuid4()}/stop")).status_code == 404
    assert (await act(sender, f"turns/{turn['id']}/stop")).status_code == 202
    assert [one async for one in told][-1][1]["status"] == "stopped"
    assert (await sender.hear("And now?"))[-1][1]["status"] == "succeeded"
    assert (await act(sender, f"turns/{turn['id']}/stop")).json()["status"] == "stopped"


@pytest.mark.parametrize(("decision", "is_error"), [("once", False), ("deny", True)])
@pytest.mark.django_db(transaction=True)
async def test_a_tool_is_allowed_or_not(
    sender: Sender, anthropic_standin: Standin, decision: str, is_error: bool
) -> None:
    """The turn goes on at once; the same answer again does no harm, another one is refused."""
    wish = ToolCall("write_file", {"path": "a.txt", "content": "Hi"})
    anthropic_standin.then(Reply("Writing.", tools=[wish]), Reply("Done."))
    answer = await sender.send("Write.")
    told = read(answer.streaming_content)
    async for name, _said in told:
        if name == "question":
            break
    [question] = (await act(sender, "questions", "GET")).json()
    assert (question["kind"], question["tool"]) == ("permission", "write_file")
    assert "+Hi" in question["shown"]
    place = f"questions/{question['id']}/answer"
    assert (await act(sender, place, decision="answer", words="Yes")).status_code == 409
    assert (await act(sender, place, decision="maybe")).status_code == 422
    for _twice in range(2):
        assert (await act(sender, place, decision=decision)).status_code == 200
    other = "deny" if decision == "once" else "once"
    assert (await act(sender, place, decision=other)).status_code == 409
    rest = [one async for one in told]
    assert [one["is_error"] for name, one in rest if name == "tool.finished"] == [is_error]
    assert (await act(sender, "questions", "GET")).json() == []


@pytest.mark.django_db(transaction=True)
async def test_a_condensation_is_begun_once(
    sender: Sender, conversation: Conversation, anthropic_standin: Standin
) -> None:
    """Its turn is told; sent again with the same nonce it begins nothing."""
    for text in ("The first answer.", "The second answer."):
        await sync_to_async(lambda text=text: end(ask(conversation, LONG), text))()
    await conversation.messages.filter(role="user").aupdate(tokens=3_750)
    gate = Gate()
    anthropic_standin.then(Reply(SUMMARY, gate=gate))
    nonce = str(uuid.uuid4())
    turn = (await act(sender, "condense", nonce=nonce, focus="The answers")).json()
    assert (turn["origin"], turn["finished_at"], turn["nonce"]) == ("condensed", None, nonce)
    assert (await act(sender, "condense")).status_code == 409
    again = (await act(sender, "condense", nonce=nonce)).json()
    assert again["id"] == turn["id"]
    gate.open()
    await ended(conversation)
    [attempt] = (await act(sender, "condensations", "GET")).json()["items"]
    assert (attempt["status"], attempt["messages_hidden"]) == ("succeeded", 4)
    assert await Condensation.objects.acount() == 1


@pytest.mark.django_db(transaction=True)
async def test_going_back_and_taking_that_back(
    sender: Sender, conversation: Conversation, manager: Manager, page: Page
) -> None:
    """Known by its key; an open page shows it at once, as it does a change of settings."""
    await sync_to_async(lambda: end(ask(conversation, "Why?"), "So."))()
    key = str(uuid.uuid4())
    for _twice in range(2):
        made = await act(sender, "rewinds", to_seq=2, key=key)
        told = made.json()
        assert (made.status_code, told["id"], told["messages_hidden"]) == (201, key, 1)
    await page.until("transcript.changed")
    assert await sync_to_async(seen)(conversation) == ["Why?"]
    for to_seq, status in ((2, 409), (0, 422)):
        assert (await act(sender, "rewinds", to_seq=to_seq)).status_code == status
    for _twice in range(2):
        assert (await act(sender, f"rewinds/{key}/undo")).json()["undone_at"]
    await page.until("transcript.changed")
    for place in (f"profiles/{conversation.profile_id}", "settings"):
        changed = await sync_to_async(manager.patch)(place, threshold=70)
        assert changed.status_code == 200
        await page.until("transcript.changed")
    assert [one["id"] for one in (await act(sender, "rewinds", "GET")).json()["items"]] == [key]
    assert await sync_to_async(seen)(conversation) == ["Why?", "So."]


@pytest.mark.django_db(transaction=True)
async def test_a_file_goes_with_a_message(
    sender: Sender, bob: User, anthropic_standin: Standin
) -> None:
    """It waits until it is sent, by its owner alone, or until it is removed."""
    anthropic_standin.then(Reply("A plan."))
    client, alices = AsyncClient(), sender.headers
    bobs = await sync_to_async(bearer)(bob)
    ids = []
    for name in ("plan.txt", "other.txt"):
        file = SimpleUploadedFile(name, b"Build a boat.")
        answer = await client.post("/api/attachments", {"file": file}, headers=alices)
        assert answer.status_code == 201, answer.text
        ids.append(answer.json()["id"])
        assert (answer.json()["name"], answer.json()["kind"]) == (name, "file")
    sent, removed = (f"/api/attachments/{pk}" for pk in ids)
    for path in (sent, removed):
        assert (await client.get(path, headers=bobs)).status_code == 404
        assert (await client.delete(path, headers=bobs)).status_code == 404
        assert (await client.get(path, headers=alices)).status_code == 200
    assert (await client.delete(removed, headers=alices)).status_code == 204
    told = await sender.hear("", attachments=[ids[0]])
    assert "Build a boat." in str(told[0][1]["content"])
    assert (await client.get(sent, headers=alices)).status_code == 404
    assert not await Attachment.objects.aexists()
    [(name, refusal)] = await sender.hear("Again", attachments=[ids[0]])
    assert (name, "not attached any more" in refusal["detail"]) == ("refused", True)


def test_settings_are_changed_one_by_one(manager: Manager, alice: User) -> None:
    """What is not named stays; what the page would not take is refused with its reason."""
    before = manager.client.get("/api/settings").json()
    changed = {"threshold": 70, "month_budget": "12.50", "strategy": "ledger"}
    changed |= {"review_automatic": True, "review_seconds": 60}
    changed |= {"draft_ahead": "always", "draft_share": 60, "condense_idle": True}
    changed |= {"auto_recall": True, "recall_tokens": 400}
    answer = manager.patch("settings", **changed)
    assert answer.json() == before | changed
    assert manager.patch("settings").json() == before | changed
    wrong: list[tuple[str, Any]] = [
        *(("threshold", 101), ("threshold", "x"), ("month_budget", "0"), ("month_budget", "NaN")),
        *(("strategy", "os.system"), ("draft_share", 99), ("review_seconds", 5)),
        *(("recall_tokens", 99), ("recall_tokens", 20_001), ("recall_tokens", 0)),
        *(("messages_kept", 0), ("truncated_percent", 0), ("review_seconds", 0)),
        *(("draft_ahead", "sometimes"), ("step_limit", 0)),
    ]
    for name, value in wrong:
        answer = manager.patch("settings", **{name: value})
        assert (answer.status_code, name in answer.json()["detail"]) == (422, True)
    assert Preferences.objects.get(owner=alice).threshold == 70


def test_a_profile_is_changed_but_for_its_key_and_where_it_leads(
    manager: Manager, alice: User, bob: User
) -> None:
    """A key never goes to another address than its owner has given."""
    accounts.preferences_of(alice)
    accounts.preferences_of(bob)
    profile = Profile.objects.get(owner=alice)
    profile.set_key("sk-very-secret")
    profile.condensing_prompt = alice.condensing_prompts.create(name="Code", text="Name files.")
    profile.save()
    place = f"profiles/{profile.pk}"
    kept = {"base_url": "https://evil.example", "key": "sk-other", "provider": "openai"}
    for name, value in {**kept, "remove_key": True}.items():
        refused = manager.patch(place, **{name: value})
        told = {"detail": f"A value can't be read. {name}: it can't be set here"}
        assert (refused.status_code, refused.json()) == (422, told)
    answer = manager.patch(place, price_input="2.5", threshold=60)
    assert (answer.json()["price_input"], answer.json()["threshold"]) == ("2.500000", 60)
    fresh = Profile.objects.get(pk=profile.pk)
    assert (fresh.base_url, fresh.read_key(), fresh.provider) == ("", "sk-very-secret", "offline")
    assert fresh.price_input == Decimal("2.5")
    assert manager.patch(place, threshold=-1).json()["threshold"] == -1
    for name, value in (("max_output", 10**9), ("model", None), *[(one, None) for one in LIMITS]):
        refused = manager.patch(place, **{name: value})
        assert (refused.status_code, name in refused.json()["detail"]) == (422, True)
    shown = manager.client.get("/api/profiles")
    one = shown.json()[0]
    assert (one["key_source"], one["condensing_prompt"]) == ("not needed", "Code")
    assert not [one for one in ("secret", profile.encrypted_key) if one in shown.text]
    others = Profile.objects.get(owner=bob).pk
    assert manager.patch(f"profiles/{others}", name="Mine").status_code == 404
    assert manager.patch("settings", default_profile=others).status_code == 404
    assert manager.patch("settings", default_profile=profile.pk).status_code == 200


def test_each_scope_holds_those_before_it(alice: User, conversation: Conversation) -> None:
    """To read, to write, and to change how things work."""
    turn = Turn.objects.create(conversation=conversation)
    stop = f"/api/conversations/{conversation.pk}/turns/{turn.pk}/stop"
    for scope, writes, changes in (("read", 403, 403), ("write", 202, 403), ("all", 202, 200)):
        program = Manager(alice, scope)
        assert program.client.get("/api/settings").status_code == 200
        assert program.client.post(stop).status_code == writes
        assert program.patch("settings", adaptive=True).status_code == changes
    ApiToken.objects.update(scope="odd")
    assert program.client.get("/api/settings").status_code == 403
