"""Whoever comes late to a turn is told as much of it as who heard all from its beginning."""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import condense
from chatapp.agent import events
from chatapp.agent.events import MessageAppended, TurnEvent
from chatapp.models import Conversation, Review, ToolRun, message_store
from chatapp.page.live.channel import EventLog
from chatapp.page.live.codec import decode, encode
from chatapp.page.live.live_views import LiveView
from chatapp.page.live.outgoing_frames import PageProgress
from tests.chatapp.conftest import reduction_of
from tests.chatapp.page.live.heard import Heard
from tests.chatapp.scripted_turns import ask
from tests.records import put_on_record

pytestmark = pytest.mark.django_db(transaction=True)

# The messages of the turn, as they are stored: who wrote each, and which tools it calls.
MESSAGES: list[tuple[condense.Role, str]] = [
    *(("user", ""), ("assistant", "ab")), *(("user", ""), ("assistant", "c")),
    *(("user", ""), ("assistant", "")),
]  # fmt: skip
RUNS = {"a": 1, "b": 2, "c": 3}
REVIEW = 1

# What leaves the words be that say what goes on: they may be those of an event that is void.
SILENT = (
    MessageAppended, events.ContextChanged, events.StreamDiscarded, events.ToolFinished,
    events.ToolProgressed, events.TextStreamed, events.ThinkingStreamed, events.ThinkingEnded,
    events.SummaryStreamed, events.CondensingFellBack, events.CondensingProgressed,
    events.CondensingAwaited,
)  # fmt: skip

Events = list[TurnEvent]
TEXTS = st.text("ab \n*`#", min_size=1, max_size=20)
COUNTS = st.integers(1, 9_999)
REASONS = st.sampled_from(["Overloaded.", "The rate limit was hit."])


def lists(*parts: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[Events]:
    """Return up to so many of these one after the other; each is an event, or a list of some."""
    return st.lists(st.one_of(*parts), max_size=most).map(flat)


def rows(*parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Events]:
    """Return these one after the other."""
    return st.tuples(*parts).map(flat)


def flat(parts: Iterable[Any]) -> Events:
    """Return events of which some are in lists."""
    found: Events = []
    for part in parts:
        found += part if isinstance(part, list) else [part]
    return found


def some(*kinds: TurnEvent) -> st.SearchStrategy[Events]:
    """Return these, or nothing."""
    return st.sampled_from([[], [*kinds]])


retry = st.builds(
    events.RetryScheduled,
    REASONS,
    st.just(1.5),
    st.integers(2, 4),
    st.just(5),
    st.just(1_700_000_001.0),
)
context = st.builds(
    events.ContextChanged,
    tokens=COUNTS, measured=st.booleans(), system=COUNTS, tools=COUNTS, messages=COUNTS,
    summaries=st.just(0), window=st.just(20_000), max_output=st.just(400), threshold=st.just(80.0),
    threshold_source=st.just("global"), buffer=st.just(0.1),
    hides=st.none(), said_nothing=st.booleans(),
)  # fmt: skip
thought = rows(
    st.just(events.ThinkingStarted(since=1_700_000_000.0)),
    lists(TEXTS.map(events.ThinkingStreamed)),
    st.integers(0, 99).map(events.ThinkingEnded),
)
said = lists(TEXTS.map(events.TextStreamed), most=4)
call = st.sampled_from("abc").map(lambda name: events.ToolUseStarted(name, "read_file"))
streamed = lists(thought, said, call, rows(retry, thought), most=4)


@st.composite
def summaries(draw: st.DrawFn) -> Events:
    """Return what a summary that is reviewed is told to grow by."""
    written, told = "", []
    for text in draw(st.lists(TEXTS, min_size=1, max_size=3)):
        at = draw(st.integers(0, len(written)))
        written = written[:at] + text
        told.append(events.SummaryStreamed(text, at))
    return [*told]


review = rows(summaries(), some(events.ReviewAsked(REVIEW), events.ReviewAnswered()))
attempt = lists(COUNTS.map(events.CondensingProgressed), retry, review, most=4)
condensing = rows(
    st.just(events.CondensingStarted("auto", since=1_700_000_000.0)),
    attempt,
    some(events.CondensingFellBack(), events.CondensingStarted("auto", since=1_700_000_009.0)),
    attempt,
    # One can be cancelled before its record begins.
    some(events.CondensingEnded("condensed", "succeeded"), events.CondensingAwaited(False)),
)
awaited = st.booleans().map(events.CondensingAwaited)


def tool(name: str) -> st.SearchStrategy[Events]:
    """Return what a call of a tool tells, which a person may have to allow."""
    started = events.ToolStarted(name, "read_file", since=1_700_000_000.0)
    return rows(
        some(events.PersonAsked(name), events.PersonAnswered(name)),
        st.just(started),
        lists(TEXTS.map(lambda text: events.ToolProgressed(name, text))),
        st.booleans().map(lambda failed: events.ToolFinished(name, RUNS[name], failed, 1.25)),
    )


def step(number: int) -> st.SearchStrategy[Events]:
    """Return what a model call tells, and the tools that it calls."""
    seq = 2 * number
    names = MESSAGES[seq - 1][1]
    appended = MessageAppended(seq, "assistant", calls=bool(names))
    answered = [MessageAppended(seq + 1, "user", holds_results=True)] if names else []
    return rows(
        condensing | st.just([]),
        st.just(events.StepStarted(number)),
        lists(rows(streamed, st.just(events.StreamDiscarded())), most=1),
        streamed,
        awaited | st.just([]),
        st.just(appended),
        context,
        *map(tool, names),
        st.just(answered),
        context if names else st.just([]),
    )


TURNS = rows(step(1), step(2), step(3), some(events.TurnEnded("Done.")))


@pytest.fixture
def recorded(conversation: Conversation) -> Conversation:
    """A conversation in which all is on record that events name."""
    turn = ask(conversation, "Go on.")
    for role, names in MESSAGES[1:]:
        calls = [condense.ToolUseBlock(name, "read_file", {"path": "x"}) for name in names]
        results = [condense.ToolResultBlock(name, "y") for name in "ab"] if role == "user" else []
        content = (condense.TextBlock("Words."), *calls) if role == "assistant" else tuple(results)
        message = condense.Message(role, content)
        message_store.append_message(conversation.pk, message, tokens=5, turn=turn)
    for name, pk in RUNS.items():
        ended = {"text": f"Result {name}.", "finished_at": timezone.now()}
        ToolRun.objects.create(pk=pk, turn=turn, call_id=name, name="read_file", **ended)
    attempt = put_on_record(conversation, at_seq=1, status="running", turn=turn)
    text, tags = condense.TextBlock("What was said."), condense.Tags(condense_id="made")
    hidden = tuple([one.id for one in message_store.read_effective(conversation.pk)[:3]])
    made = reduction_of(condense.Message("user", (text,), tags=tags), hidden)
    proposal = condense.Proposal(reduction=made, by_model=True).to_json()
    Review.objects.create(
        pk=REVIEW, condensation=attempt, ordinal=1, shown=text.text, proposal=proposal
    )
    return conversation


async def shown(conversation: Conversation, turn: uuid.UUID, told: Iterable[TurnEvent]) -> Any:
    """Return what a page gets that comes after these events."""
    view = LiveView(conversation.pk, Heard())
    view.turn_view.begin(turn)
    for event in told:
        if isinstance(event, events.TurnEnded):
            await view._end(event)
        else:
            await view.turn_view.show(event)
    frame = dict(await view.snapshot(PageProgress("here", 0)))
    frame["panel"] = {**frame["panel"], "now": 0}
    return frame


def retold(told: Sequence[TurnEvent]) -> Events:
    """Return what somebody is told of events who comes after them."""
    log = EventLog()
    for event in told:
        log.add(event)
    return decode(encode(log.read()))


SHARES = st.floats(0, 1)
PROPERTY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.soak
@given(turn=TURNS, share=SHARES)
@PROPERTY
async def test_what_is_told_late_shows_the_same_as_all_that_was_told(
    recorded: Conversation, turn: Sequence[TurnEvent], share: float
) -> None:
    """At any moment of a turn: what is needless is left out, pieces are joined, all else stays."""
    told = turn[: round(share * len(turn))]
    await show_alike(recorded, told, retold(told))


ANSWERED: Events = [
    events.StepStarted(1),
    MessageAppended(2, "assistant", calls=True),
    events.PersonAsked("a"),
    events.PersonAnswered("a"),
    MessageAppended(3, "user", holds_results=True),
    events.StepStarted(2),
]


@pytest.mark.soak
@given(turn=TURNS, share=SHARES, before=SHARES)
@example(turn=ANSWERED, share=1.0, before=0.5)
@PROPERTY
async def test_what_is_told_anew_replaces_all_that_was_shown(
    recorded: Conversation, turn: Sequence[TurnEvent], share: float, before: float
) -> None:
    """Whoever misses something in between sees what all others see."""
    told = turn[: round(share * len(turn))]
    known = told[: round(before * len(told))]
    await show_alike(recorded, told, [*known, events.Restarted(), *retold(told)])


async def test_what_was_answered_is_told_anew_as_it_stands(recorded: Conversation) -> None:
    """A step with a call and its results, and the beginning of the next one."""
    await show_alike(recorded, ANSWERED, [*ANSWERED[:3], events.Restarted(), *retold(ANSWERED)])
    await show_alike(recorded, ANSWERED, retold(ANSWERED))


async def test_a_final_reply_is_in_one_place_once_it_is_stored(recorded: Conversation) -> None:
    """Whoever comes before the turn has ended fetches its row, and gets no text beside it."""
    said = events.TextStreamed("Words.")
    told = [events.StepStarted(3), said, MessageAppended(6, "assistant")]
    await show_alike(recorded, told, retold(told))
    frame = await shown(recorded, uuid.uuid4(), told)
    assert (frame["streamed"], frame["articles"]) == ([], [])


async def show_alike(
    conversation: Conversation, told: Sequence[TurnEvent], otherwise: Sequence[TurnEvent]
) -> None:
    """Fail where a page shows anything else after these events than after those."""
    pk = uuid.uuid4()
    expected, found = [await shown(conversation, pk, one) for one in (told, otherwise)]
    if not told or isinstance(told[-1], SILENT):
        found["status"] = expected["status"]
    assert found == expected
