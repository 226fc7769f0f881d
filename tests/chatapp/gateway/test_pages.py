"""Pages: people make tokens, and see what programs have said."""

import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from chatapp.models import ClientConversation, Conversation, ModelCall
from tests.chatapp.gateway.programs import claude, talks, visit
from tests.standin.raw_server import RawServer, Script
from tests.standin.server import Standin


def test_settings_make_a_token_that_opens_the_gateway_alone(browser: Client, alice: User) -> None:
    """The page has the lines for each client; the API does not let the token in."""
    browser.post("/account/reauthenticate/", {"password": "correct horse"})
    asked = {"name": "laptop", "own_key": "0", "mode": "condense"}
    made = browser.post("/settings/gateway/new/", asked)
    said = made.content.decode()
    token = re.search(r"palimpsest_[\w-]{40,}", said)[0]  # type: ignore[index] # it is there
    for part in ("ANTHROPIC_BASE_URL=http://testserver/gateway", "wire_api", "OPENAI_API_BASE"):
        assert part in said
    answer = browser.get("/api/conversations", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 403
    shown = browser.get("/settings/gateway/").content.decode()
    assert "laptop" in shown
    assert '<span class="badge">Record, recall and condense</span>' in shown
    browser.post("/settings/gateway/new/", asked | {"mode": "all"})
    assert alice.api_tokens.count() == 1


async def test_a_recorded_conversation_is_its_clients_until_it_is_continued_here(
    standin: Standin, claude_token: str, browser: Client
) -> None:
    """It is marked; nothing sends, edits or rewinds in it before that, and all does after it."""
    asked = {"model": "claude-opus-5", "max_tokens": 200}
    await claude(claude_token).messages.create(
        messages=[{"role": "user", "content": "How are you?"}], **asked
    )
    await talks()
    talk = (await ClientConversation.objects.select_related("conversation").aget()).conversation

    def visit(path: str) -> str:
        return browser.get(f"/c/{talk.pk}/{path}").content.decode()

    shown = await sync_to_async(visit)("")
    assert "AsyncAnthropic/Python" in shown
    assert "Continue here" in shown
    assert "Rewind to before this" not in shown
    assert "data-edit" not in shown
    refused = await sync_to_async(browser.post)(f"/c/{talk.pk}/rewind/", {"to_seq": "1"})
    assert refused.status_code in {302, 422}
    assert await talk.messages.filter(rewind_parent=None).acount() == 2
    await sync_to_async(browser.post)(f"/c/{talk.pk}/continue-here/")
    assert "Rewind to before this" in await sync_to_async(visit)("")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions"])
async def test_the_record_of_a_call_has_its_bytes_and_every_page_shows_it(
    upstream: RawServer, token: str, browser: Client, path: str
) -> None:
    """Whatever API it is of: inspector, export, costs, audit and search."""
    text = {"role": "user", "content": "Find the wombat."}
    body = json.dumps({"model": "gpt-6.1-sol", "input": [text], "messages": [text]}).encode()
    upstream.script.append(Script([b"data: [DONE]\n\n"]))
    await visit(path, token, body)
    call = await ModelCall.objects.aget()

    def read(place: str) -> bytes:
        answer = browser.get(place)
        assert answer.status_code == 200, place
        return b"".join(answer) if answer.streaming else answer.content

    here = f"/c/{call.conversation_id}"
    for place in ("inspector/", "inspector/history/", f"calls/{call.pk}/", "audit/", "costs/"):
        await sync_to_async(read)(f"{here}/{place}")
    assert await sync_to_async(read)(f"{here}/calls/{call.pk}/request/") == body
    for place in (f"{here}/export/", "/conversations/?q=wombat", f"{here}/"):
        assert b"wombat" in await sync_to_async(read)(place)


async def test_what_a_program_adds_stands_apart_from_its_users_words(
    upstream: RawServer, token: str, browser: Client
) -> None:
    """Nobody has to read reminders to find them; the scheme of a token is any case's."""
    said = "<system-reminder>\nBe good.\n</system-reminder>\n\nFind the wombat."
    body = json.dumps({"model": "x", "messages": [{"role": "user", "content": said}]}).encode()
    upstream.script.append(Script([b"data: [DONE]\n\n"]))
    await visit("/v1/messages", "", body, authorization=f"bearer {token}")
    talk = await Conversation.objects.aget()
    shown = (await sync_to_async(browser.get)(f"/c/{talk.pk}/")).content.decode()
    assert re.search(r"<summary>Added by the program</summary>", shown)
    assert re.search(r"<p>Find the wombat.</p>", shown)
