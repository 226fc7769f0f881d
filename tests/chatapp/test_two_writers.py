"""What two connections do at once comes to what one after the other would come to.

On SQLite one waits for the other before it begins. On PostgreSQL each of these has a lock: the
second begins while what the first has done is not committed yet.
"""

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models.signals import pre_save
from django.utils import timezone

import condense
from chatapp import approvals
from chatapp.accounts import accounts, credentials, new_profiles, users
from chatapp.agent.errors import TurnEnded
from chatapp.agent.ports import CallOpening, Nobody, Purpose, ToolOutcome
from chatapp.background_jobs import JOBS
from chatapp.composer import attachments
from chatapp.condensation import background_drafts, summary_reviews, undo
from chatapp.condensation.attempt_log import AttemptLog
from chatapp.conversations import conversations, forks, pins, rewind
from chatapp.errors import Refused
from chatapp.live.incoming_frames import SendMessage
from chatapp.maintenance import audit_seals
from chatapp.maintenance.audit_check import verify_all
from chatapp.models import (
    ApiToken,
    Attachment,
    AuditEntry,
    BackgroundDraft,
    Condensation,
    Conversation,
    Folder,
    Fragment,
    Manifest,
    Message,
    Preferences,
    Profile,
    Question,
    QueuedMessage,
    Review,
    Rewind,
    SignInToken,
    ToolRun,
    Turn,
    TurnRequest,
    audit,
    message_store,
)
from chatapp.models.database import execute
from chatapp.models.turns import this_process
from chatapp.providers import request_bytes
from chatapp.storage.journal import ConversationJournal
from chatapp.turns import crash_recovery, lifecycle, message_queue, turns_without_message
from tests.chatapp.condensation import draft_steps
from tests.chatapp.conftest import summarise
from tests.chatapp.observers import long_watch
from tests.chatapp.runs import journal_of, run_in
from tests.chatapp.scripted_turns import send
from tests.records import put_on_record, record_for

pytestmark = pytest.mark.django_db(transaction=True)

if connection.vendor == "sqlite":
    pytest.skip("SQLite lets nothing begin before the commit", allow_module_level=True)

PATIENCE = 60
BLOCKED = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"


def outcome(do: Callable[[], Any]) -> Any:
    """Return what something returns, or the error for a person."""
    try:
        return do()
    except Refused as refused:
        return refused


def beside(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what both came to: the second begins before the first is committed."""
    stored, free, process = threading.Event(), threading.Event(), Future[int]()

    def hold() -> Any:
        try:
            with transaction.atomic():
                done = outcome(first)
                stored.set()
                assert free.wait(PATIENCE)
            return done
        finally:
            stored.set()
            connection.close()

    def follow() -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                process.set_result(cursor.fetchone()[0])
            return outcome(second)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(hold)
        assert stored.wait(PATIENCE)
        other = threads.submit(follow)
        until = time.monotonic() + PATIENCE
        while not (other.done() or is_blocked(process.result(PATIENCE))):
            assert time.monotonic() < until
        free.set()
        return one.result(PATIENCE), other.result(PATIENCE)


def is_blocked(process: int) -> bool:
    """Whether a connection waits for another one's lock."""
    with connection.cursor() as cursor:
        cursor.execute(BLOCKED, [process])
        row = cursor.fetchone()
    return bool(row and row[0])


@dataclass
class Case:
    """A conversation of four messages, and what two may do to it at once."""

    alice: User
    chat: Conversation
    nonce: uuid.UUID = field(default_factory=uuid.uuid4)

    def say(self, text: str = "Hello.") -> Message:
        """Append a message."""
        said = condense.Message("user", (condense.TextBlock(text),))
        return message_store.append_message(self.chat.pk, said, tokens=1)

    def start(self, nonce: uuid.UUID | None = None) -> Any:
        """Send a message that begins a turn."""
        return send(self.chat, "Hello.", nonce)

    def turn(self, **columns: Any) -> Turn:
        """Return a turn that a process works on."""
        return Turn.objects.create(conversation=self.chat, **columns)

    def question(self, turn: Turn, tool: str = "write_file") -> Question:
        """Return what a turn waits for."""
        count = Question.objects.count()
        return Question.objects.create(turn=turn, seq=1, place=count, tool=tool, kind="approval")


@pytest.fixture
def case(conversation: Conversation, alice: User) -> Case:
    """Four messages, committed."""
    made = Case(alice, conversation)
    for number in range(4):
        made.say(f"message {number}")
    return made


def test_a_connection_that_was_cut_is_replaced() -> None:
    """As after a restart of the server: what asks next is not told of it."""

    def ask() -> int:
        return int(execute("SELECT pg_backend_pid()")[0][0])

    with ThreadPoolExecutor(1) as thread:
        before = thread.submit(ask).result()
        execute("SELECT pg_terminate_backend(%s, 60000)", before)
        assert thread.submit(ask).result() != before
        thread.submit(lambda: connection.close()).result()  # noqa: PLW0108 - that thread's own


def refusals(*outcomes: Any) -> list[bool]:
    """Return which of them were refused."""
    return [isinstance(one, Refused) for one in outcomes]


def test_messages_get_a_number_each(case: Case) -> None:
    """None is lost, and none has another's."""
    one, other = beside(case.say, case.say)
    assert (one.seq, other.seq) == (5, 6)


def test_one_of_two_messages_begins_a_turn(case: Case) -> None:
    """The other is told that one runs."""
    assert refusals(*beside(case.start, case.start)) == [False, True]
    assert (Turn.objects.count(), Message.objects.count()) == (1, 5)


def test_a_message_that_is_sent_twice_is_stored_once(case: Case) -> None:
    """As by a page that lost its connection."""
    _one, other = beside(lambda: case.start(case.nonce), lambda: case.start(case.nonce))
    assert (other, Message.objects.count()) == (None, 5)


def test_a_message_begins_no_turn_beside_a_condensation(case: Case) -> None:
    """Nor a condensation beside another."""

    def begin() -> Any:
        return turns_without_message.open_condensing(conversation=case.chat, nonce=uuid.uuid4())

    assert refusals(*beside(begin, case.start)) == [False, True]


def queue(case: Case, nonce: uuid.UUID | None = None) -> bool:
    """Let a message wait for what runs."""
    return message_queue.queue_message(case.chat, SendMessage("x", nonce or uuid.uuid4()))


def test_the_queue_takes_as_many_as_it_may(case: Case) -> None:
    """The last place is taken once."""
    case.turn()
    for _ in range(message_queue.MOST_QUEUED - 1):
        assert queue(case)

    def wait() -> bool:
        return queue(case)

    assert refusals(*beside(wait, wait)) == [False, True]
    assert QueuedMessage.objects.count() == message_queue.MOST_QUEUED


def test_what_waits_is_sent_once(case: Case) -> None:
    """Whoever looks at the queue."""
    ran = case.turn()
    assert queue(case, case.nonce)
    Turn.objects.filter(pk=ran.pk).update(status="succeeded", finished_at=timezone.now())

    def send() -> Any:
        return message_queue.start_queued(case.chat, case.nonce, attachments.Brought(""))

    beside(send, send)
    assert (Turn.objects.exclude(pk=ran.pk).count(), Message.objects.count()) == (1, 5)


def test_the_chain_has_both_entries(case: Case) -> None:
    """One after the other, each bound to the one before."""

    def enter() -> None:
        audit.append(case.chat.pk, AuditEntry.Kind.SEAL)

    before = AuditEntry.objects.count()
    beside(enter, enter)
    assert AuditEntry.objects.count() == before + 2
    assert [one for verdict in verify_all() for one in verdict.problems] == []


def test_a_question_is_answered_once(case: Case) -> None:
    """The second answer is refused, and says why."""
    question = case.question(case.turn(status="waiting"))

    def answer(decision: str) -> Callable[[], None]:
        return lambda: approvals.answer_question(question=question, decision=decision)

    said = beside(answer("once"), answer("deny"))
    assert refusals(*said) == [False, True]
    question.refresh_from_db()
    assert question.status == Question.Status.ALLOWED


def test_an_answer_and_the_end_of_its_turn_do_not_wait_for_each_other(case: Case) -> None:
    """Whoever comes second is told; nobody waits for ever."""
    turn = case.turn(status="waiting", owner="here")
    question = case.question(turn)

    def stop() -> None:
        lifecycle.finish_turn(turn=turn, status=Turn.Status.STOPPED)

    def answer() -> None:
        approvals.answer_question(question=question, decision="once")

    assert refusals(*beside(stop, answer)) == [False, True]


def test_tools_allowed_at_once_are_all_allowed(case: Case) -> None:
    """Neither answer takes the other's back."""
    turn = case.turn(status="waiting")
    asked = [case.question(turn), case.question(turn, "run_command")]

    def answer(question: Question) -> Callable[[], None]:
        return lambda: approvals.answer_question(question=question, decision="always")

    beside(*map(answer, asked))
    case.chat.refresh_from_db()
    assert case.chat.tool_policies.keys() == {"write_file", "run_command"}


def test_a_condensation_is_undone_once(case: Case) -> None:
    """The second undo changes nothing."""
    attempt = record_for(case.chat, summarise(case.chat, keep=1))
    before = AuditEntry.objects.count()

    def take_back() -> None:
        undo.undo_condensation(condensation=attempt)

    beside(take_back, take_back)
    assert AuditEntry.objects.count() == before + 1
    assert Condensation.objects.get().status == Condensation.Status.UNDONE


def test_a_record_is_changed_by_one_of_two(case: Case) -> None:
    """As a draft that one takes over, and the other drops; the chain tells of one change."""
    draft = put_on_record(case.chat, at_seq=4, status="drafted")
    before, found = AuditEntry.objects.count(), Condensation.objects.filter(status="drafted")

    def change(status: str) -> Callable[[], int]:
        return lambda: found.all().change(status=status)

    assert beside(change("running"), change("unused")) == (1, 0)
    draft.refresh_from_db()
    assert (draft.status, AuditEntry.objects.count()) == ("running", before + 1)


def drafted(case: Case) -> BackgroundDraft:
    """Return a draft that is written, and waits to be applied."""
    attempt = put_on_record(case.chat, at_seq=4, status="drafted", trigger="ahead")
    return BackgroundDraft.objects.create(
        conversation=case.chat, condensation=attempt, owner="here", written_at=timezone.now()
    )


def test_a_draft_is_taken_over_once(case: Case) -> None:
    """Or dropped before, or not dropped any more."""
    run = run_in(case.chat, case.turn(owner="here"))
    size = condense.TokenCount(900)
    situation = condense.Situation(effective=(), tokens=size, budget=run.budget())

    def take(draft: BackgroundDraft) -> Callable[[], bool]:
        log, attempt = AttemptLog(journal_of(run, Nobody())), str(draft.condensation_id)
        return lambda: async_to_sync(log.take_over)(attempt, situation)

    def drop() -> None:
        async_to_sync(background_drafts.drop)(case.chat.pk, "It was changed.")

    draft = drafted(case)
    assert beside(take(draft), take(draft)) == (True, False)
    assert beside(take(draft := drafted(case)), drop)[0]
    assert Condensation.objects.get(pk=draft.condensation_id).status == "running"
    assert not beside(drop, take(draft := drafted(case)))[1]
    assert Condensation.objects.get(pk=draft.condensation_id).status == "unused"


def test_one_of_two_begins_a_draft(
    case: Case, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The other finds it there."""
    monkeypatch.setitem(JOBS, "write_draft", f"{draft_steps.__name__}.do_nothing")
    Preferences.objects.update(draft_ahead="always")
    run = run_in(case.chat, case.turn(owner="here"))
    seen, budget = message_store.read_effective(case.chat.pk), run.budget()
    size = condense.TokenCount(int(budget.condenses_at))
    situation = condense.Situation(effective=seen, tokens=size, budget=budget)

    def begin() -> None:
        async_to_sync(background_drafts.begin)(run, situation)

    beside(begin, begin)
    assert BackgroundDraft.objects.count() == 1
    assert "no draft could be begun" not in caplog.text


def test_a_review_is_answered_once(case: Case) -> None:
    """The same answer of two tabs is one."""
    turn = case.turn(status="waiting", owner="here")
    attempt = put_on_record(case.chat, at_seq=4, status="running", turn=turn)
    review = Review.objects.create(condensation=attempt, ordinal=1)
    before = AuditEntry.objects.count()

    def discard() -> None:
        summary_reviews.answer_review(review=review, user=case.alice, decision="discard")

    assert refusals(*beside(discard, discard)) == [False, False]
    assert AuditEntry.objects.count() == before + 1


def test_a_copy_and_a_seal_are_of_what_is_stored(case: Case) -> None:
    """A message that comes meanwhile is in neither, or in both with its number."""

    def fork() -> Conversation:
        return forks.fork_conversation(conversation=case.chat, seq=4)

    copy, _said = beside(fork, case.say)
    assert copy.messages.count() == 4
    beside(case.say, audit_seals.make_seal)
    case.chat.refresh_from_db()
    assert (case.chat.audit_seq, case.chat.last_seq) == (6, 6)


def test_what_is_being_hidden_is_not_pinned_any_more(case: Case) -> None:
    """A pin says that the model reads it, which the condensation would break."""

    def pin() -> None:
        pins.pin_message(conversation=case.chat, seq=1)

    assert refusals(*beside(lambda: summarise(case.chat), pin)) == [False, True]


def test_a_rewind_that_is_sent_twice_is_one(case: Case) -> None:
    """As is one of another key, which finds nothing more to hide."""

    def back(key: uuid.UUID) -> Callable[[], Rewind]:
        return lambda: rewind.rewind_conversation(
            conversation=case.chat, first_hidden_seq=2, key=key
        )

    beside(back(case.nonce), back(case.nonce))
    assert Rewind.objects.count() == 1
    other = rewind.rewind_conversation(conversation=case.chat, first_hidden_seq=1)
    assert refusals(*beside(back(other.pk), back(uuid.uuid4()))) == [False, True]


def test_a_message_does_not_begin_on_what_is_being_rewound(case: Case) -> None:
    """It is stored after the rewind, and a rewind after it finds it."""

    def back() -> Rewind:
        return rewind.rewind_conversation(conversation=case.chat, first_hidden_seq=2)

    beside(back, case.start)
    assert [*Message.objects.effective().values_list("seq", flat=True)] == [1, 5]
    assert refusals(*beside(case.say, back)) == [False, True]


def test_a_turn_ends_once(case: Case) -> None:
    """As the first one says."""
    turn = case.turn(owner="here")

    def end(status: str) -> Callable[[], None]:
        return lambda: lifecycle.finish_turn(turn=turn, status=Turn.Status(status))

    beside(end("stopped"), end("interrupted"))
    turn.refresh_from_db()
    assert turn.status == Turn.Status.STOPPED


def test_one_process_takes_a_waiting_turn_over(case: Case) -> None:
    """The other finds it taken."""
    case.turn(status="waiting", owner="gone", profile=case.chat.profile)

    def take() -> Any:
        return crash_recovery.take_over(long_watch())

    assert [len(runs) for runs in beside(take, take)] == [1, 0]


def lost(do: Callable[[], Any]) -> Callable[[], Any]:
    """Return the error of who lost its turn in place of what it would return."""

    def attempt() -> Any:
        try:
            return do()
        except TurnEnded as ended:
            return ended

    return attempt


def read(turn: Turn) -> Turn:
    """Return a turn as it is now, as another process has it."""
    return Turn.objects.get(pk=turn.pk)


def test_one_process_claims_a_turn(case: Case) -> None:
    """The other gets none."""
    turn = case.turn(attempt=0, owner="")

    def claim() -> Turn | None:
        return Turn.objects.claim(turn.pk, 0)

    one, other = beside(claim, claim)
    assert (one.attempt, other) == (1, None)


def test_a_turn_is_claimed_or_stopped(case: Case) -> None:
    """Whoever comes first; a stop that comes second goes to the process that has it."""
    turn = case.turn(attempt=0, owner="")

    def claim() -> Turn | None:
        return Turn.objects.claim(turn.pk, 0)

    def stop() -> bool:
        return lifecycle.stop_unclaimed(case.chat.pk, turn.pk)

    stopped, claimed = beside(stop, claim)
    assert (stopped, claimed, read(turn).status) == (True, None, Turn.Status.STOPPED)
    turn = case.turn(attempt=0, owner="")
    claimed, stopped = beside(claim, stop)
    assert (claimed.pk, stopped, read(turn).is_over) == (turn.pk, False, False)


@pytest.mark.parametrize("kind", ["question", "review"])
@pytest.mark.parametrize("answers_first", [True, False])
def test_an_answer_is_heard_by_one_of_two(case: Case, kind: str, answers_first: bool) -> None:
    """The process that waits for it goes on, or has let go of the turn, and it is enqueued."""
    turn = case.turn(status="waiting", owner=this_process())
    enqueued = list[Turn]()
    question = case.question(turn)

    def answer() -> None:
        approvals.answer_question(question=question, decision="once", enqueue=enqueued.append)

    if kind == "review":
        question.delete()
        attempt = put_on_record(case.chat, at_seq=4, status="running", turn=turn)
        review = Review.objects.create(condensation=attempt, ordinal=1)

        def answer() -> None:
            summary_reviews.answer_review(
                review=review, user=case.alice, decision="discard", enqueue=enqueued.append
            )

    if answers_first:
        _said, released = beside(answer, turn.release)
    else:
        released, _said = beside(turn.release, answer)
    assert (released, enqueued) == ((False, []) if answers_first else (True, [turn]))
    assert read(turn).owner == ("" if released else this_process())
    answer()
    assert len(enqueued) == released


def test_what_ends_a_turn_and_what_it_writes_come_one_after_the_other(case: Case) -> None:
    """The message is part of what was ended, or it is not stored."""
    for ends_first in (True, False):
        turn = case.turn(owner=this_process())
        journal = journal_of(run_in(case.chat, turn), Nobody())
        before = Message.objects.count()

        def write(journal: ConversationJournal = journal) -> Any:
            said = condense.Message("assistant", (condense.TextBlock("So."),))
            return async_to_sync(journal.append)(said)

        def end(turn: Turn = turn) -> bool:
            reason = {"status": Turn.Status.INTERRUPTED, "error": "Silent."}
            return lifecycle.finish_turn(turn=read(turn), **reason)

        if ends_first:
            ended, written = beside(end, lost(write))
            assert isinstance(written, TurnEnded)
        else:
            written, ended = beside(lost(write), end)
            assert read(turn).last_seq == written.seq
        assert ended
        assert Message.objects.count() == before + (not ends_first)


def test_what_a_tool_returned_is_in_the_message_or_not_stored(case: Case) -> None:
    """Where its turn is ended meanwhile: no result is left over that nothing shows."""
    turn = case.turn(owner=this_process())
    journal = journal_of(run_in(case.chat, turn), Nobody())
    call = condense.ToolUseBlock("c", "read_file", {})
    async_to_sync(journal.append)(condense.Message("assistant", (call,)))
    number = async_to_sync(journal.open_tool)(call)

    def close() -> None:
        async_to_sync(journal.close_tool)(number, ToolOutcome("42"))

    def end() -> bool:
        return lifecycle.finish_turn(turn=read(turn), status=Turn.Status.INTERRUPTED)

    ended, closed = beside(end, lost(close))
    assert (ended, type(closed)) == (True, TurnEnded)
    assert ToolRun.objects.get().text == ""


def test_two_observers_end_a_turn_once(case: Case) -> None:
    """The other finds it over, and tells nobody of it."""
    turn = case.turn(owner="gone")
    watches = [long_watch(), long_watch()]

    def close() -> Any:
        return crash_recovery.close_interrupted(watches.pop())

    assert beside(close, close) == ({case.chat.pk}, set())
    assert read(turn).status == Turn.Status.INTERRUPTED


def test_a_turn_is_ended_or_claimed_again(case: Case) -> None:
    """Never both: who was taken for gone may have been replaced already."""
    turn = case.turn(owner="gone")
    watch = long_watch()

    def close() -> Any:
        return crash_recovery.close_interrupted(watch)

    def claim() -> Turn | None:
        return Turn.objects.claim(turn.pk, 1)

    claimed, closed = beside(claim, close)
    assert (claimed.attempt, closed, read(turn).is_over) == (2, set(), False)


def test_a_request_stands_or_comes_too_late(case: Case) -> None:
    """What is asked of a turn that is ending is there for what ends it, or is refused."""
    for ends_first in (True, False):
        turn = case.turn(owner=this_process())

        def end(turn: Turn = turn) -> list[TurnRequest]:
            lifecycle.finish_turn(turn=turn, status=Turn.Status.SUCCEEDED)
            return [*TurnRequest.objects.untaken([turn.pk])]

        def request() -> bool:
            return TurnRequest.objects.ask(TurnRequest.Kind.STOP, conversation_id=case.chat.pk)

        if ends_first:
            untaken, stands = beside(end, request)
        else:
            stands, untaken = beside(request, end)
        assert (stands, len(untaken)) == (not ends_first, int(not ends_first))


def test_a_request_is_taken_once(case: Case) -> None:
    """As by a hint and a sign of life at once; sent twice it is one."""
    case.turn(owner=this_process())
    nonce, stop = uuid.uuid4(), TurnRequest.Kind.STOP

    def request() -> bool:
        return TurnRequest.objects.ask(stop, conversation_id=case.chat.pk, nonce=nonce)

    assert beside(request, request) == (True, True)
    (asked,) = TurnRequest.objects.all()

    def take() -> list[TurnRequest]:
        return TurnRequest.objects.take([asked])

    assert beside(take, take) == ([asked], [])


def test_a_sign_of_life_waits_for_no_turn(case: Case) -> None:
    """Or one long transaction would make all turns of a process silent."""
    turn = case.turn(owner=this_process())
    other = Turn.objects.create(
        conversation=conversations.start_conversation(owner=case.alice), owner=this_process()
    )

    def give() -> Any:
        return crash_recovery.keep_alive([turn, other])

    _held, signs = beside(turn.hold, give)
    assert signs == ([], [])
    assert (read(turn).heartbeat_at, read(other).heartbeat_at is None) == (None, False)


def test_an_answer_is_tried_again_once(case: Case) -> None:
    """The other is told that one runs."""
    case.turn(status="failed", question_seq=4, finished_at=timezone.now(), owner="gone")

    def again() -> Any:
        return turns_without_message.take_up(
            conversation=case.chat, how="retry", nonce=uuid.uuid4()
        )

    assert refusals(*beside(again, again)) == [False, True]


def test_a_fragment_of_a_request_is_stored_once(case: Case) -> None:
    """Two calls of a conversation may send the same."""
    asked = condense.Message("user", (condense.TextBlock("Begin"),), seq=1)
    request = request_bytes.join(b'{"messages":[', [asked], [b'{"role":"user"}'], b"]}")
    opening = CallOpening(Purpose.CHAT, request=request)
    run = run_in(case.chat, case.turn(owner="here"))

    def send() -> None:
        journal_of(run, Nobody())._open_call(opening, {})

    beside(send, send)
    assert (Manifest.objects.count(), Fragment.objects.count()) == (2, 2)


def test_a_new_user_gets_the_first_profiles_once(case: Case, bob: User) -> None:
    """Whatever page they open at once."""

    def look() -> None:
        accounts.preferences_of(bob)

    beside(look, look)
    assert Profile.objects.filter(owner=bob).count() == 1


def test_the_first_of_two_profiles_is_the_default(case: Case) -> None:
    """The second finds it there."""

    def store(name: str) -> Callable[[], None]:
        model = {"model": "m", "context_window": 9_000, "max_output": 1_000}
        made = Profile(owner=case.alice, name=name, provider="anthropic", **model)
        return lambda: new_profiles.store_profile(made)

    beside(store("one"), store("other"))
    assert accounts.preferences_of(case.alice).default_profile.name == "one"


def test_a_server_that_starts_twice_has_one_owner(db: None) -> None:
    """Both of its processes know them."""
    one, other = beside(accounts.prepare_owner, accounts.prepare_owner)
    assert one == other


def test_tokens_are_as_many_as_they_may_be(case: Case) -> None:
    """The last is made once; of links for signing in one is left."""

    def make() -> str:
        return credentials.create_api_token(owner=case.alice, name="t", scope="read")

    for _ in range(credentials.MOST_TOKENS - 1):
        make()
    assert refusals(*beside(make, make)) == [False, True]
    assert ApiToken.objects.count() == credentials.MOST_TOKENS

    def link() -> str:
        return credentials.create_sign_in_token(user=case.alice)

    one, other = beside(link, link)
    assert SignInToken.objects.usable().count() == 1

    def redeem() -> User | None:
        return credentials.redeem_sign_in_token(token=other)

    assert credentials.redeem_sign_in_token(token=one) is None
    assert beside(redeem, redeem) == (case.alice, None)


def test_a_file_goes_with_one_message(case: Case) -> None:
    """Where two take it."""
    block = condense.TextBlock("a file").to_api()
    made = Attachment.objects.create(owner=case.alice, block=block, tokens=1)

    def take() -> Any:
        return attachments.take_attachments(case.chat, [made.pk])

    assert refusals(*beside(take, take)) == [False, True]


def test_a_folder_that_two_name_is_one(case: Case) -> None:
    """Whatever capitals they use."""

    def move(name: str) -> Callable[[], None]:
        return lambda: conversations.move_conversation(
            conversation=case.chat, folder=None, named=name
        )

    beside(move("Ships"), move("ships"))
    assert Folder.objects.count() == 1


def test_a_conversation_has_one_link(case: Case) -> None:
    """The last one opens it."""

    def share() -> str:
        return conversations.share_conversation(conversation=case.chat)

    one, other = beside(share, share)
    case.chat.refresh_from_db()
    assert one != other
    assert case.chat.share.digest == type(case.chat.share).digest_of(other)


def test_of_two_operators_who_take_each_other_the_role_one_stays(case: Case) -> None:
    """The second waits for what the first is about to store, and is refused."""
    bob = User.objects.create_superuser("bob")
    User.objects.filter(pk=case.alice.pk).update(is_superuser=True)
    alice = User.objects.get(pk=case.alice.pk)
    process, others = Future[int](), list[Future[Any]]()

    def follow() -> Any:
        try:
            process.set_result(execute("SELECT pg_backend_pid()")[0][0])
            return outcome(lambda: users.give_role(alice, "member"))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:

        def begin_the_other(**_signal: Any) -> None:
            if not others:
                others.append(thread.submit(follow))
                until = time.monotonic() + PATIENCE
                while not (others[0].done() or is_blocked(process.result(PATIENCE))):
                    assert time.monotonic() < until

        pre_save.connect(begin_the_other, sender=User)
        try:
            users.give_role(bob, "member")
        finally:
            pre_save.disconnect(begin_the_other, sender=User)
    assert refusals(others[0].result()) == [True]
    assert [*User.objects.filter(is_superuser=True)] == [alice]
