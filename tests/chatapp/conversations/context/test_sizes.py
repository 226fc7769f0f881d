"""How large the context is: what the provider says counts, and estimates learn from it."""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

import condense
from chatapp.agent.ports import ModelRequest
from chatapp.conversations.context import sizes
from chatapp.conversations.context.sizes import wants_drafts
from chatapp.conversations.context.turn_context import read_terms, terms_with
from chatapp.conversations.toolbox import toolbox
from chatapp.models import Conversation, ModelCall, Preferences, Profile, message_store
from chatapp.models.database import reading
from chatapp.tools import WorkspaceToolbox
from tests.chatapp.agent.fakes import RecordingAudience, ScriptedProvider
from tests.chatapp.claude import converse
from tests.chatapp.condensing.scripted_controller import ScriptedController
from tests.chatapp.conftest import Say
from tests.chatapp.runs import journal_of, run_in
from tests.chatapp.sockets import open_page
from tests.condense.fakes import EchoSummarizer
from tests.records import append_many
from tests.standin.metering import measure
from tests.standin.server import Standin

ROOT = Path(__file__).parents[4]
FILES = (
    "chatapp/turns/actions.py",
    "README.md",
    "condense/messages.py",
    "chatapp/models/message_store.py",
)
LAST = "Now compare these with each other, and say what is missing. " * 60


@pytest.fixture(params=[0.8, 1.4])
def standin(request: pytest.FixtureRequest) -> Iterator[Standin]:
    """A provider whose tokenizer takes that many times as many tokens as ours."""
    with Standin(factor=request.param) as server:
        yield server


def expected(conversation: Conversation, text: str) -> condense.TokenCount:
    """Return the size to expect of the request that answers one more message."""
    fresh = Conversation.objects.select_related("profile").get(pk=conversation.pk)
    tokens = sizes.COUNTER.count(text)
    message = condense.Message("user", text, seq=fresh.last_seq + 1, tokens=tokens)
    history = (*message_store.read_effective(fresh.pk), message)
    return sizes.Scale.read(terms_with(fresh, fresh.profile)).weigh(history)


def forget_measurement(conversation: Conversation) -> None:
    """Leave nothing but estimates, as a condensation does."""
    Conversation.objects.filter(pk=conversation.pk).update(measured_tokens=None, measured_seq=None)


@pytest.mark.usefixtures("transactional_db")
async def test_after_three_turns_the_next_prompt_is_estimated_within_5_percent(
    alice: User, standin: Standin
) -> None:
    """For any tokenizer, in a conversation that reads files, with and without a measured start."""
    conversation = await sync_to_async(converse)(alice, standin)
    folder = toolbox.workspace_of(conversation)
    for name in FILES:
        (folder / Path(name).name).write_text((ROOT / name).read_text())
    async with open_page(conversation, alice) as page:
        for name in FILES[:3]:
            await page.ask(f'call read_file {{"path": "{Path(name).name}"}}')
        anchored = await sync_to_async(expected)(conversation, LAST)
        await sync_to_async(forget_measurement)(conversation)
        calibrated = await sync_to_async(expected)(conversation, LAST)
        await page.ask(LAST)
    measured = measure(standin.requests[-1].body, standin.factor)
    assert measured > 5_000
    assert (anchored.measured, calibrated.measured) == (False, False)
    assert anchored.value == pytest.approx(measured, rel=0.05)
    assert calibrated.value == pytest.approx(measured, rel=0.05)


def picture(width: int, height: int) -> condense.ImageBlock:
    """Return a PNG of that size, as far as anybody reads it here."""
    header = struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 2, 0, 0, 0)
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + header + bytes(16)).decode()
    return condense.ImageBlock({"type": "base64", "media_type": "image/png", "data": data})


def show(conversation: Conversation, width: int, height: int) -> None:
    """Have the agent look at a picture, as imported conversations do."""
    call = condense.ToolUseBlock(f"toolu_{width}", "read_file", {"path": "a.png"})
    seen = condense.ToolResultBlock(f"toolu_{width}", (picture(width, height),))
    for message in (
        condense.Message("user", (condense.TextBlock("See:"), picture(height, width))),
        condense.Message("assistant", (call,)),
        condense.Message("user", (seen,)),
        condense.Message("assistant", "I see."),
    ):
        tokens = condense.count_message(message, sizes.COUNTER)
        message_store.append_message(conversation.pk, message, tokens=tokens)


@pytest.mark.usefixtures("transactional_db")
async def test_pictures_teach_nothing_about_a_tokenizer(alice: User, standin: Standin) -> None:
    """They take what their pixels take, so the text's factor is known beside them too."""
    conversation = await sync_to_async(converse)(alice, standin)
    async with open_page(conversation, alice) as page:
        for number in range(3):
            await sync_to_async(show)(conversation, 1_000 + 100 * number, 1_100)
            await page.ask("Describe it. " * 150)
        await sync_to_async(forget_measurement)(conversation)
        calibrated = await sync_to_async(expected)(conversation, LAST * 9)
        await page.ask(LAST * 9)
    measured = measure(standin.requests[-1].body, standin.factor)
    assert not standin.problems
    assert calibrated.value == pytest.approx(measured, rel=0.05)


@pytest.mark.usefixtures("transactional_db")
async def test_the_vendor_counts_once_where_nothing_was_measured_and_it_may_matter(
    alice: User,
) -> None:
    """An imported conversation is about to be condensed: its size had better be right."""
    with Standin(factor=1.4) as standin:
        conversation = await sync_to_async(converse)(
            alice, standin, context_window=12_000, max_output=1_000
        )
        tokens = sizes.COUNTER.count(LAST)
        history = [
            (condense.Message("user", LAST), tokens),
            (condense.Message("assistant", "Ok"), 1),
        ]
        await sync_to_async(append_many)(conversation.pk, history * 6)
        async with open_page(conversation, alice) as page:
            await page.ask("And now?")
            await page.ask("And then?")
    assert len(standin.counts) == 1
    call = await ModelCall.objects.filter(conversation=conversation).afirst()
    assert call.tokens_prompt == measure(standin.counts[0].body, standin.factor)


class Mute(ScriptedProvider):
    """A provider that cannot count, and remembers that it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ModelRequest] = []

    async def count_tokens(self, request: ModelRequest) -> int | None:
        self.asked.append(request)
        return None


@pytest.mark.usefixtures("transactional_db")
async def test_a_vendor_that_cannot_count_is_asked_once_a_turn(
    conversation: Conversation, alice: User, tmp_path: Path
) -> None:
    """Then the estimate stands."""
    await Profile.objects.filter(owner=alice).aupdate(context_window=10_000)
    run = await sync_to_async(run_in)(conversation)
    provider, audience = Mute(), RecordingAudience()
    controller = ScriptedController(
        journal_of(run, audience), toolbox=WorkspaceToolbox(tmp_path), provider=provider
    )
    controller.summarizer = EchoSummarizer()
    history = (condense.Message("user", "Hello", seq=1, tokens=6_000),)
    for _ in range(2):
        assert await controller.fit(history, condense.Trigger.AUTO) == history
    assert len(provider.asked) == 1
    assert await controller.weigh(history) == condense.TokenCount(6_000, measured=False)


def test_another_profile_makes_what_was_measured_void(
    conversation: Conversation, say: Say, alice: User, client: Client
) -> None:
    """Its tokenizer is another one; choosing the same again changes nothing."""
    say("user", "Hello")
    message_store.remember_measurement(conversation.pk, conversation.profile_id or 0, 900, 1)
    client.force_login(alice)
    address = f"/c/{conversation.pk}/profile/"
    client.post(address, {"profile": conversation.profile_id})
    conversation.refresh_from_db()
    assert conversation.measured_tokens == 900
    other = Profile.objects.create(
        owner=alice, name="Other", provider="offline", model="x", context_window=9_000, max_output=9
    )
    client.post(address, {"profile": other.pk})
    # What the old one's call measured comes too late.
    message_store.remember_measurement(conversation.pk, conversation.profile_id or 0, 900, 1)
    conversation.refresh_from_db()
    assert (conversation.profile, conversation.measured_tokens) == (other, None)


def test_each_message_weighs_once_beside_what_every_request_repeats() -> None:
    """What was measured covers all up to its message, the rest of the request included."""
    history = [condense.Message("user", "x", seq=seq, tokens=10 * seq) for seq in (1, 2, 3)]
    scale = sizes.Scale(overhead=500)
    assert scale.weigh(history) == condense.TokenCount(560, measured=False)
    scale.measure(1_000, 2)
    assert scale.weigh(history) == condense.TokenCount(1_030, measured=False)
    assert scale.weigh(history[:2]) == condense.TokenCount(1_000, measured=True)
    scale.forget()
    assert scale.weigh(history) == condense.TokenCount(560, measured=False)


def test_what_a_condensation_may_hide_is_counted_with_what_is_not_read() -> None:
    """Of a long conversation only the end is read, and figures count all of it."""
    said = [condense.Message(role, "x") for role in ("user", "assistant") * 2]
    counted, _is_new = sizes.hideable(said)
    assert counted
    name, alone = next(iter(counted.items()))
    assert sizes.hideable(said, {name: 40}) == ({**counted, name: alone + 40}, False)


@pytest.mark.parametrize(
    ("wishes", "price", "drafts"),
    [
        ({"draft_ahead": "free"}, 4, False),
        ({"draft_ahead": "free"}, 0, True),
        ({"draft_ahead": "always"}, 4, True),
        ({"draft_ahead": "never"}, 0, False),
        # Nothing condenses by itself, or tool output is cleared before a summary is written.
        ({"auto_condense": False}, 4, False),
        ({"clear_tool_output": True}, 4, False),
    ],
)
def test_unless_it_is_asked_for_drafts_are_written_where_tokens_cost_nothing(
    conversation: Conversation, wishes: dict[str, object], price: int, drafts: bool
) -> None:
    """A server without a key and without prices charges nothing; nobody else's price is guessed."""
    Preferences.objects.filter(owner=conversation.owner).update(**wishes)
    paid = {"price_input": price, "price_cache_write": price}
    if not price:
        paid |= {"provider": "openai", "model": "llama", "base_url": "http://localhost:11434/v1"}
    Profile.objects.filter(pk=conversation.profile_id).update(**paid)
    assert wants_drafts(run_in(conversation)) is drafts


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_copy", [False, True])
async def test_the_event_loop_knows_the_price_of_a_writer_on_the_servers_key(
    conversation: Conversation, settings: Settings, is_copy: bool
) -> None:
    """Whose prices hold depends on an owner, which the loop could not read."""
    settings.ANTHROPIC_API_KEY = "x"
    model = {"provider": "anthropic", "model": "m", "context_window": 9_000, "max_output": 900}
    operator = await User.objects.acreate(username="operator", is_superuser=True)
    shared = await Profile.objects.acreate(owner=operator, name="Shared", **model)
    origin, owner = shared if is_copy else None, conversation.owner
    writer = await Profile.objects.acreate(owner=owner, name="Writer", origin=origin, **model)
    await Profile.objects.filter(pk=conversation.profile_id).aupdate(summaries_by=writer)
    await Preferences.objects.filter(owner=owner).aupdate(draft_ahead="free")
    terms = await reading(read_terms)(conversation.pk)
    assert terms
    assert not wants_drafts(terms)
