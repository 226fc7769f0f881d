"""What a call used goes into the accounts, as it was measured or, where it broke off, estimated."""

from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse

import condense
from chatapp.agent.ports import CallOpening, CallRecord, PartialReply, Purpose
from chatapp.conversations.context import sizes
from chatapp.conversations.context.turn_context import terms_with
from chatapp.models import Conversation, Manifest, ModelCall, Profile
from chatapp.providers import request_bytes
from chatapp.records.maintenance.integrity import find_changed
from chatapp.storage.journal import ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites
from tests.chatapp.agent.fakes import RecordingAudience
from tests.chatapp.runs import run_in

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "Half of what was to be said, and more. " * 40
WRITTEN = condense.Message("assistant", (condense.TextBlock(TEXT),))


@pytest.fixture
def conversation(conversation: Conversation) -> Conversation:
    """A conversation whose model costs something."""
    Profile.objects.update(price_input=Decimal(3), price_output=Decimal(15))
    return conversation


async def journal_of(conversation: Conversation) -> ConversationJournal:
    """Return the journal of a run that begins now."""
    run = await sync_to_async(run_in)(conversation)
    scale = await sync_to_async(sizes.Scale.read)(run)
    return ConversationJournal(run, scale, RetriedWrites(RecordingAudience()))


async def record(
    journal: ConversationJournal,
    usage: condense.Usage,
    *,
    is_whole: bool = False,
    written: str = TEXT,
    error: str = "stopped",
) -> CallRecord:
    """Return a call of the chat that is over."""
    return CallRecord(
        Purpose.CHAT,
        usage,
        seconds=1,
        number=await journal.open_call(CallOpening(Purpose.CHAT)),
        error="" if is_whole else error,
        is_whole=is_whole,
        draft=PartialReply([{"type": "text", "text": written}]),
    )


async def test_a_call_that_broke_off_costs_what_was_streamed(
    conversation: Conversation, browser: Client
) -> None:
    """The provider's last word was before the first token; the page says that it is an estimate."""
    journal = await journal_of(conversation)
    call = await record(journal, condense.Usage(input=1_000, output=1))
    await journal.append(WRITTEN, stop_reason="stopped", call=call)
    row = await ModelCall.objects.aget()
    tokens = sizes.COUNTER.count(TEXT)
    assert (row.tokens_input, row.tokens_output, row.usage_measured) == (1_000, tokens, False)
    assert row.cost == (3 * 1_000 + 15 * tokens) / Decimal(1_000_000)
    shown = (await sync_to_async(browser.get)(reverse("chat", args=[conversation.pk]))).text
    assert f"≈ {tokens}" in shown
    assert "≈ $0.0" in shown


async def test_a_whole_reply_is_taken_at_the_providers_word(conversation: Conversation) -> None:
    """It measures the context, here and in the database alike."""
    journal = await journal_of(conversation)
    call = await record(journal, condense.Usage(input=5_000, output=300), is_whole=True)
    stored = await journal.append(WRITTEN, stop_reason="end_turn", call=call)
    row = await ModelCall.objects.aget()
    assert (row.tokens_output, row.usage_measured) == (300, True)
    await conversation.arefresh_from_db()
    assert (conversation.measured_tokens, conversation.measured_seq) == (5_300, stored.seq)
    assert (journal.scale.measured_tokens, journal.scale.measured_seq) == (5_300, stored.seq)
    terms = await sync_to_async(terms_with)(conversation, journal.run.profile)
    fresh = await sync_to_async(sizes.Scale.read)(terms)
    assert fresh == journal.scale


async def test_a_server_that_reports_no_output_is_estimated(conversation: Conversation) -> None:
    """Not every server counts; nothing is not what the reply took."""
    journal = await journal_of(conversation)
    call = await record(journal, condense.Usage(input=5_000), is_whole=True)
    await journal.append(WRITTEN, stop_reason="end_turn", call=call)
    row = await ModelCall.objects.aget()
    assert (row.tokens_output, row.usage_measured) == (sizes.COUNTER.count(TEXT), False)
    assert journal.scale.measured_tokens is None


async def test_a_server_that_reports_no_prompt_is_estimated(conversation: Conversation) -> None:
    """An estimate measures neither the prompt nor the context, whatever else was reported."""
    journal = await journal_of(conversation)
    call = await record(journal, condense.Usage(output=900), is_whole=True)
    await journal.append(WRITTEN, stop_reason="end_turn", call=call)
    row = await ModelCall.objects.aget()
    assert (row.tokens_input, row.tokens_output) == (journal.scale.overhead, 900)
    assert (row.usage_measured, journal.scale.measured_tokens) == (False, None)


async def test_a_call_that_got_nowhere_used_nothing(conversation: Conversation) -> None:
    """A refusal costs nothing, and that is no estimate."""
    journal = await journal_of(conversation)
    await journal.record_call(await record(journal, condense.Usage(), written=""))
    row = await ModelCall.objects.aget()
    assert (row.tokens_output, row.cost, row.usage_measured) == (0, 0, True)


async def test_a_stopped_reply_has_read_its_prompt(conversation: Conversation) -> None:
    """Some servers say what they read at the end alone, which was not waited for."""
    journal = await journal_of(conversation)
    await journal.record_call(await record(journal, condense.Usage()))
    row = await ModelCall.objects.aget()
    assert (row.tokens_input, row.usage_measured) == (journal.scale.overhead, False)


async def test_the_record_of_what_was_sent_never_builds_on_a_call_that_was_withdrawn(
    conversation: Conversation,
) -> None:
    """Its own record is gone with it, and the turn may go on, as after a cancelled condensation."""
    journal = await journal_of(conversation)
    asked = condense.Message("user", (condense.TextBlock("Begin"),), seq=1)
    request = request_bytes.join(b'{"messages":[', [asked], [b'{"role":"user"}'], b"]}")
    for is_made in (True, False, True, True):
        number = await journal.open_call(CallOpening(Purpose.CHAT, request=request))
        if not is_made:
            await journal.withdraw_call(number)
    parents = Manifest.objects.order_by("pk").values_list("parent", flat=True)
    assert [parent is None async for parent in parents] == [True, True, False]
    assert not await sync_to_async(lambda: [*find_changed()])()


@pytest.mark.parametrize("purpose", [Purpose.CHAT, Purpose.SUMMARY])
async def test_a_call_is_on_record_with_the_profile_that_makes_it(
    conversation: Conversation, purpose: Purpose
) -> None:
    """A summary's is the writer's, which is billed for it."""
    journal = await journal_of(conversation)
    journal.run.profile.summaries_by = Profile(name="Writer", provider="openai", model="small")
    await journal.open_call(CallOpening(purpose))
    writer = ("Writer", "openai", "small")
    call = await ModelCall.objects.aget()
    is_writers = (call.profile_name, call.provider, call.model) == writer
    assert is_writers == (purpose is Purpose.SUMMARY)
