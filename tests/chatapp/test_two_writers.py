"""What two connections do at once comes to what one after the other would come to.

On SQLite one waits for the other before it begins. On PostgreSQL each of these has a lock: the
second begins while what the first has done is not committed yet.
"""

import re
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.models.signals import pre_save
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp.accounts import credentials
from chatapp.agent.errors import TurnEndedElsewhere
from chatapp.condensing import summary_reviews
from chatapp.conversations.conversations import start_conversation
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
from chatapp.models.accounts import prepare_owner
from chatapp.models.database import execute
from chatapp.models.errors import Refused
from chatapp.models.processes import this_process
from chatapp.models.turns import claim as claim_turn
from chatapp.page.live.incoming_frames import TakeUp
from chatapp.records.maintenance.audit_check import verify_all
from chatapp.storage import approvals
from chatapp.turns import crash_recovery
from chatapp.turns.turns_without_message import take_up
from tests.chatapp.condensing.draft_steps import begin_draft, drop_draft, leave_job, take_over
from tests.chatapp.conftest import summarise
from tests.chatapp.profile_form import PROFILE
from tests.chatapp.runs import append_reply, begin_tool, open_call, run_in
from tests.chatapp.scripted_turns import (
    INTERRUPTED,
    STOPPED,
    begin_condensing,
    end,
    queue,
    retry,
    send,
    send_queued,
    stop_unclaimed,
)
from tests.chatapp.two_connections import beside, outcome, refusals, wait_until_blocked
from tests.records import put_on_record, record_for

pytestmark = pytest.mark.django_db(transaction=True)

if connection.vendor == "sqlite":
    pytest.skip("SQLite lets nothing begin before the commit", allow_module_level=True)


FREE = {"name": "Other", "provider": "offline", "model": "offline", "max_output": 1_000} | {
    f"price_{one}": 0 for one in ("input", "output", "cache_read", "cache_write")
}
FREE["context_window"] = 100_000


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

    def review(self, turn: Turn) -> Review:
        """Return a summary that a turn shows a person."""
        attempt = put_on_record(self.chat, at_seq=4, status="running", turn=turn)
        return Review.objects.create(condensation=attempt, ordinal=1)

    def press(
        self, name: str, *args: object, user: User | None = None, **sent: object
    ) -> Callable[[], HttpResponse]:
        """Return what does something on a page of the conversation, in a browser of its own."""
        return press(user or self.alice, reverse(name, args=[self.chat.pk, *args]), **sent)


def press(user: User, address: str, **sent: object) -> Callable[[], HttpResponse]:
    """Return what does something on a page, in a browser of its own."""
    browser = Client(headers={"HX-Request": "true"})
    browser.force_login(user)
    return partial(browser.post, address, sent)


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
    assert refusals(*beside(lambda: begin_condensing(case.chat), case.start)) == [False, True]


def test_the_queue_takes_as_many_as_it_may(case: Case) -> None:
    """The last place is taken once."""
    case.turn()
    wait = partial(queue, case.chat)
    while not isinstance(outcome(wait), Refused):
        pass
    most = QueuedMessage.objects.count()
    QueuedMessage.objects.order_by("pk")[:1].get().delete()
    assert refusals(*beside(wait, wait)) == [False, True]
    assert QueuedMessage.objects.count() == most


def test_what_waits_is_sent_once(case: Case) -> None:
    """Whoever looks at the queue."""
    ran = case.turn()
    queue(case.chat, case.nonce)
    Turn.objects.filter(pk=ran.pk).update(status="succeeded", finished_at=timezone.now())
    send_queued_once = partial(send_queued, case.chat, case.nonce)
    beside(send_queued_once, send_queued_once)
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
    question = case.question(case.turn(status="waiting", owner="here"))

    def answer(decision: str) -> Callable[[], HttpResponse]:
        return case.press("answer_question", question.pk, decision=decision)

    assert refusals(*beside(answer("once"), answer("deny"))) == [False, True]
    question.refresh_from_db()
    assert question.status == Question.Status.ALLOWED


def test_an_answer_and_the_end_of_its_turn_do_not_wait_for_each_other(case: Case) -> None:
    """Whoever comes second is told; nobody waits for ever."""
    turn = case.turn(status="waiting", owner="here")
    answer = case.press("answer_question", case.question(turn).pk, decision="once")
    assert refusals(*beside(lambda: end(turn, status=STOPPED), answer)) == [False, True]


def test_tools_allowed_at_once_are_all_allowed(case: Case) -> None:
    """Neither answer takes the other's back."""
    turn = case.turn(status="waiting", owner="here")
    asked = [case.question(turn), case.question(turn, "run_command")]
    beside(*(case.press("answer_question", one.pk, decision="always") for one in asked))
    case.chat.refresh_from_db()
    assert case.chat.tool_policies.keys() == {"write_file", "run_command"}


def test_a_condensation_is_undone_once(case: Case) -> None:
    """The second undo changes nothing."""
    attempt = record_for(case.chat, summarise(case.chat, keep=1))
    before = AuditEntry.objects.count()
    beside(*(case.press("undo_condensation", attempt.pk) for _ in range(2)))
    assert AuditEntry.objects.count() == before + 1
    assert Condensation.objects.get().status == Condensation.Status.UNDONE


@pytest.mark.parametrize(
    ("name", "sent", "more"),
    [
        ("put_back_messages", {"seq": [1, 2]}, 2),
        ("rate", {"rating": 1, "words": "Short."}, 2),
        ("redo_condensation", {}, 1),
    ],
)
def test_a_button_of_a_condensation_does_its_work_once(
    case: Case, name: str, sent: dict[str, Any], more: int
) -> None:
    """Pressed twice at once; a rating is given twice, and each is on record."""
    attempt = record_for(case.chat, summarise(case.chat, keep=1))
    Condensation.objects.change(prompt="Sum it up.")
    if name == "redo_condensation":
        case.press("undo_condensation", attempt.pk)()
    before = AuditEntry.objects.count()
    assert refusals(*beside(*[case.press(name, attempt.pk, **sent)] * 2)) == [False, False]
    assert AuditEntry.objects.count() == before + more
    assert [one for verdict in verify_all() for one in verdict.problems] == []


@pytest.mark.parametrize("undoes_first", [True, False])
def test_nothing_is_undone_below_a_turn(case: Case, *, undoes_first: bool) -> None:
    """Which begins before it, and sees the summary, or after it, and sees the originals."""
    attempt = record_for(case.chat, summarise(case.chat, keep=1))
    both = [case.press("undo_condensation", attempt.pk), case.start]
    one, other = beside(*both) if undoes_first else beside(*reversed(both))
    assert refusals(one, other) == [False, not undoes_first]
    assert Turn.objects.count() == 1


def test_a_profile_that_answers_once_is_there_when_its_turn_begins(case: Case, alice: User) -> None:
    """Or the turn is refused, and the answer stands; deleted later, the turn is without it."""
    end(case.start().turn, "Hello to you.")
    answer = Message.objects.latest("seq").seq
    for deletes_first in (True, False):
        other = Profile.objects.create(owner=alice, **FREE)
        command = TakeUp("regenerate", uuid.uuid4(), answer, other.pk)
        again = partial(take_up, case.chat, command)
        both = [press(alice, reverse("delete_profile", args=[other.pk])), again]
        found = beside(*both) if deletes_first else beside(*reversed(both))
        assert refusals(*found) == [False, deletes_first]
        assert Turn.objects.count() == 1 + (not deletes_first)
    assert Turn.objects.latest("started_at").profile is None


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
    drop = partial(drop_draft, case.chat)

    def take(draft: BackgroundDraft) -> Callable[[], bool]:
        return lambda: take_over(run, draft)

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
    leave_job("write_draft", monkeypatch)
    Preferences.objects.update(draft_ahead="always")
    begin = partial(begin_draft, run_in(case.chat, case.turn(owner="here")))
    beside(begin, begin)
    assert BackgroundDraft.objects.count() == 1
    assert "no draft could be begun" not in caplog.text


def test_a_review_is_answered_once(case: Case) -> None:
    """The same answer of two tabs is one."""
    review = case.review(case.turn(status="waiting", owner="here"))
    before = AuditEntry.objects.count()
    tabs = [case.press("answer_review", review.pk, decision="discard") for _ in range(2)]
    assert refusals(*beside(*tabs)) == [False, False]
    assert AuditEntry.objects.count() == before + 1


def test_a_copy_and_a_seal_are_of_what_is_stored(case: Case) -> None:
    """A message that comes meanwhile is in neither, or in both with its number."""
    beside(case.press("fork", 4), case.say)
    assert Conversation.objects.latest("created_at").messages.count() == 4
    beside(case.say, partial(call_command, "seal_audit", stdout=StringIO()))
    case.chat.refresh_from_db()
    assert (case.chat.audit_seq, case.chat.last_seq) == (6, 6)


def test_what_is_being_hidden_is_not_pinned_any_more(case: Case) -> None:
    """A pin says that the model reads it, which the condensation would break."""
    pin = case.press("pin_message", 1)
    assert refusals(*beside(lambda: summarise(case.chat), pin)) == [False, True]


def test_a_rewind_that_is_sent_twice_is_one(case: Case) -> None:
    """As is one of another key, which finds nothing more to hide."""

    def back(key: uuid.UUID) -> Callable[[], HttpResponse]:
        return case.press("rewind", to_seq=2, key=key)

    beside(back(case.nonce), back(case.nonce))
    assert Rewind.objects.count() == 1
    case.press("rewind", to_seq=1)()
    other = Rewind.objects.latest("created_at")
    assert refusals(*beside(back(other.pk), back(uuid.uuid4()))) == [False, True]


def test_a_message_does_not_begin_on_what_is_being_rewound(case: Case) -> None:
    """It is stored after the rewind, and a rewind after it finds it."""
    beside(case.press("rewind", to_seq=2), case.start)
    assert [*Message.objects.effective().values_list("seq", flat=True)] == [1, 5]
    assert refusals(*beside(case.say, case.press("rewind", to_seq=2))) == [False, True]


def test_a_turn_ends_once(case: Case) -> None:
    """As the first one says."""
    turn = case.turn(owner="here")
    beside(*(partial(end, turn, status=one) for one in (STOPPED, INTERRUPTED)))
    assert read(turn).status == STOPPED


def test_one_process_takes_a_waiting_turn_over(case: Case) -> None:
    """The other finds it taken."""
    case.turn(status="waiting", owner="gone", profile=case.chat.profile)

    def take() -> Any:
        return crash_recovery.recover().taken

    assert [len(runs) for runs in beside(take, take)] == [1, 0]


def lost(do: Callable[[], Any]) -> Callable[[], Any]:
    """Return the error of who lost its turn in place of what it would return."""

    def attempt() -> Any:
        try:
            return do()
        except TurnEndedElsewhere as ended:
            return ended

    return attempt


def read(turn: Turn) -> Turn:
    """Return a turn as it is now, as another process has it."""
    return Turn.objects.get(pk=turn.pk)


def test_one_process_claims_a_turn(case: Case) -> None:
    """The other gets none."""
    turn = case.turn(attempt=0, owner="")

    def claim() -> Turn | None:
        return claim_turn(turn.pk, 0)

    one, other = beside(claim, claim)
    assert (one.attempt, other) == (1, None)


def test_a_turn_is_claimed_or_stopped(case: Case) -> None:
    """Whoever comes first; a stop that comes second goes to the process that has it."""
    turn = case.turn(attempt=0, owner="")
    claim, stop = partial(claim_turn, turn.pk, 0), partial(stop_unclaimed, turn)
    assert beside(stop, claim) == (True, None)
    assert read(turn).status == STOPPED
    turn = case.turn(attempt=0, owner="")
    claim, stop = partial(claim_turn, turn.pk, 0), partial(stop_unclaimed, turn)
    claimed, stopped = beside(claim, stop)
    assert (claimed.pk, stopped, read(turn).is_over) == (turn.pk, False, False)


@pytest.mark.parametrize("kind", ["question", "review"])
@pytest.mark.parametrize("answers_first", [True, False])
def test_an_answer_is_heard_by_one_of_two(case: Case, kind: str, answers_first: bool) -> None:
    """The process that waits for it goes on, or has let go of the turn, and it is enqueued."""
    turn = case.turn(status="waiting", owner=this_process())
    asked: Question | Review
    if kind == "question":
        asked = case.question(turn)
        answer = partial(approvals.answer_question, question=asked, decision="once")
    else:
        asked = case.review(turn)
        said = {"user": case.alice, "decision": "discard"}
        answer = partial(summary_reviews.answer_review, review=asked, **said)
    if answers_first:
        _said, released = beside(answer, turn.release)
    else:
        released, _said = beside(turn.release, answer)
    asked.refresh_from_db()
    assert released is not answers_first
    assert read(turn).owner == ("" if released else this_process())
    offered = read(turn).offered_at
    assert bool(offered and asked.answered_at and offered >= asked.answered_at) is released
    answer()
    assert read(turn).offered_at == offered


def test_what_ends_a_turn_and_what_it_writes_come_one_after_the_other(case: Case) -> None:
    """The message is part of what was ended, or it is not stored."""
    for ends_first in (True, False):
        turn = case.turn(owner=this_process())
        write = lost(partial(append_reply, run_in(case.chat, turn), "So."))
        before = Message.objects.count()

        def stop(turn: Turn = turn) -> Turn:
            return end(read(turn), status=INTERRUPTED)

        if ends_first:
            _ended, written = beside(stop, write)
            assert isinstance(written, TurnEndedElsewhere)
        else:
            written, _ended = beside(write, stop)
            assert read(turn).last_seq == written.seq
        assert read(turn).status == INTERRUPTED
        assert Message.objects.count() == before + (not ends_first)


def test_what_a_tool_returned_is_in_the_message_or_not_stored(case: Case) -> None:
    """Where its turn is ended meanwhile: no result is left over that nothing shows."""
    turn = case.turn(owner=this_process())
    close = begin_tool(run_in(case.chat, turn), "read_file")
    _ended, closed = beside(lambda: end(read(turn), status=INTERRUPTED), lost(partial(close, "42")))
    assert (read(turn).status, type(closed)) == (INTERRUPTED, TurnEndedElsewhere)
    assert ToolRun.objects.get().text == ""


def close() -> set[uuid.UUID]:
    """End what is left; return the conversations whose turn this has ended."""
    return crash_recovery.recover().closed


def test_two_processes_end_a_turn_once(case: Case) -> None:
    """The other finds it over, and tells nobody of it."""
    turn = case.turn(owner="gone")
    assert beside(close, close) == ({case.chat.pk}, set())
    assert read(turn).status == INTERRUPTED


def test_a_turn_is_ended_or_claimed_again(case: Case) -> None:
    """Never both: who was taken for gone may have been replaced already."""
    turn = case.turn(owner="gone")
    claimed, closed = beside(partial(claim_turn, turn.pk, 1), close)
    assert (claimed.attempt, closed, read(turn).is_over) == (2, set(), False)


def test_a_request_stands_or_comes_too_late(case: Case) -> None:
    """What is asked of a turn that is ending is there for what ends it, or is refused."""
    for ends_first in (True, False):
        turn = case.turn(owner=this_process())

        def stop(turn: Turn = turn) -> list[TurnRequest]:
            end(turn)
            return [*TurnRequest.objects.untaken([turn.pk])]

        def request() -> bool:
            return TurnRequest.objects.ask(TurnRequest.Kind.STOP, conversation_id=case.chat.pk)

        if ends_first:
            untaken, stands = beside(stop, request)
        else:
            stands, untaken = beside(request, stop)
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


def test_an_answer_is_tried_again_once(case: Case) -> None:
    """The other is told that one runs."""
    case.turn(status="failed", question_seq=4, finished_at=timezone.now(), owner="gone")
    again = partial(retry, case.chat)
    assert refusals(*beside(again, again)) == [False, True]


def test_a_fragment_of_a_request_is_stored_once(case: Case) -> None:
    """Two calls of a conversation may send the same."""
    call = partial(open_call, run_in(case.chat, case.turn(owner="here")), "Begin")
    beside(call, call)
    assert (Manifest.objects.count(), Fragment.objects.count()) == (2, 2)


def test_a_new_user_gets_the_first_profiles_once(case: Case, bob: User) -> None:
    """Whatever page they open at once."""
    browsers = [Client(), Client()]
    for browser in browsers:
        browser.force_login(bob)
    beside(*(partial(browser.get, reverse("profiles")) for browser in browsers))
    assert Profile.objects.filter(owner=bob).count() == 1


def test_the_first_of_two_profiles_is_the_default(case: Case) -> None:
    """The second finds it there."""

    def store(name: str) -> Callable[[], HttpResponse]:
        return press(case.alice, reverse("new_profile"), **PROFILE | {"name": name})

    beside(store("one"), store("other"))
    case.alice.preferences.refresh_from_db()
    assert str(case.alice.preferences.default_profile) == "one"


def test_a_server_that_starts_twice_has_one_owner(db: None) -> None:
    """Both of its processes know them."""
    one, other = beside(prepare_owner, prepare_owner)
    assert one == other


def test_tokens_are_as_many_as_they_may_be(case: Case) -> None:
    """The last is made once; of links for signing in one is left."""
    # Who has no password is not asked for it.
    case.alice.set_unusable_password()
    case.alice.save()
    make, again = (
        press(case.alice, reverse("new_token"), name="t", scope="read") for _ in range(2)
    )
    while make().status_code == 200:
        pass
    most = ApiToken.objects.count()
    ApiToken.objects.order_by("pk")[:1].get().delete()
    assert refusals(*beside(make, again)) == [False, True]
    assert ApiToken.objects.count() == most

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
    chats = [case.chat, start_conversation(owner=case.alice)]
    sends = [partial(send, one, "Look.", attachments=(made.pk,)) for one in chats]
    assert refusals(*beside(*sends)) == [False, True]


def test_a_folder_that_two_name_is_one(case: Case) -> None:
    """Whatever capitals they use."""
    beside(*(case.press("move", action="move", named=name) for name in ("Ships", "ships")))
    assert Folder.objects.count() == 1


def test_a_conversation_has_one_link(case: Case) -> None:
    """The last one opens it."""
    pages = beside(case.press("share"), case.press("share"))
    links = [re.search(r"/s/[\w-]+/", page.text) for page in pages]
    assert [Client().get(one.group()).status_code for one in links if one] == [404, 200]


def test_of_two_operators_who_take_each_other_the_role_one_stays(case: Case) -> None:
    """The second waits for what the first is about to store, and is refused."""
    User.objects.filter(pk=case.alice.pk).update(is_superuser=True)
    alice, bob = User.objects.get(pk=case.alice.pk), User.objects.create_superuser("bob")
    take, process, others = (
        press(alice, reverse("change_user", args=[bob.pk, "member"])),
        Future[int](),
        list[Future[Any]](),
    )
    take_back = press(bob, reverse("change_user", args=[alice.pk, "member"]))

    def follow() -> Any:
        try:
            process.set_result(execute("SELECT pg_backend_pid()")[0][0])
            return outcome(take_back)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:

        def begin_the_other(**_signal: Any) -> None:
            if not others:
                others.append(thread.submit(follow))
                wait_until_blocked(others[0], process)

        pre_save.connect(begin_the_other, sender=User)
        try:
            take()
        finally:
            pre_save.disconnect(begin_the_other, sender=User)
    assert others[0].result().status_code >= 400
    assert [*User.objects.filter(is_superuser=True)] == [alice]
