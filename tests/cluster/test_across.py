"""What begins at one web process and runs in any worker is seen and steered at every other."""

import time
import uuid

import pytest

from tests.cluster.conftest import NO_TITLES
from tests.cluster.narrator import read_words, story
from tests.cluster.stage import Person, Stage
from tests.standin.behaviours import ToolCall

LONG = " ".join(map(str, range(100, 1_000)))


def test_a_page_follows_word_by_word_what_was_sent_elsewhere(stage: Stage) -> None:
    """Before its end; and both pages show in the end what is stored."""
    told = story(60)
    conversation = stage.converse()
    sender, page = stage.open(conversation, 2), stage.open(conversation, 1)
    sender.ask(told)
    page.until_words(told, 3)
    assert stage.runner_of(page) in stage.cluster.runners
    assert len(page.words) < told.length
    for one in (page, sender):
        one.until_idle()
        stage.check(one, told)
    assert stage.narrator.asked[told.number] == 1


def test_stop_reaches_a_turn_wherever_it_runs(stage: Stage) -> None:
    """It is pressed at one web process, for what was sent through the other."""
    told = story(3_000)
    page = stage.begin(told, web=2, also=1)
    page.until_words(told, 9)
    page.stop()
    page.until_idle()
    assert [status for status, _owner in stage.turns(page.conversation)] == ["stopped"]
    assert 9 <= len(stage.stored(page.conversation)) < told.length
    stage.check(page, told, whole=False)


@pytest.mark.parametrize(
    ("name", "given", "answer"),
    [
        ("write_file", {"path": "told.txt", "content": "all"}, {"decision": "once"}),
        ("ask_user", {"question": "Go on?"}, {"decision": "answer", "words": "Yes."}),
    ],
    ids=["a permission", "a question"],
)
def test_what_a_person_says_elsewhere_lets_a_turn_go_on(
    stage: Stage, name: str, given: dict[str, str], answer: dict[str, str]
) -> None:
    """The turn waits in a worker, or in none; its question is answered at another web process."""
    told = story(24, call=ToolCall(name, given))
    page = stage.begin(told, web=1)
    page.wait(lambda: page.screen.waits)
    asked = stage.cluster.value(
        "SELECT q.id FROM chatapp_question q JOIN chatapp_turn t ON t.id = q.turn_id "
        "WHERE t.conversation_id = %s",
        page.conversation,
    )
    other = stage.person.at(stage.cluster.web(2))
    other.read(f"/c/{page.conversation}/")
    other.post(f"/c/{page.conversation}/questions/{asked}/", **answer)
    page.until_idle()
    stage.check(page, told)
    assert [status for status, _owner in stage.turns(page.conversation)] == ["succeeded"]


def test_messages_wait_in_one_queue_whoever_takes_them(stage: Stage) -> None:
    """They come from pages at both, run in their order, one at a time, and each once."""
    stories = [story(15) for _ in range(5)]
    page = stage.begin(stories[0], web=1)
    other = stage.open(page.conversation, 2)
    page.until_words(stories[0])
    for place, told in enumerate(stories[1:]):
        sender = (other, page)[place % 2]
        sender.until("message.accepted", nonce=sender.say(told.message, queued=True))
    page.until_words(stories[-1], 15)
    page.wait(lambda: not page.turn)
    everything = [word for told in stories for word in told.words]
    assert stage.stored(page.conversation) == everything
    other.wait(lambda: other.words == everything)
    assert page.words == everything
    assert {stage.narrator.asked[told.number] for told in stories} == {1}


def test_a_message_that_waits_can_be_sent_now_from_elsewhere(stage: Stage) -> None:
    """What runs is stopped first, in whichever process."""
    long, short = story(3_000), story(9)
    page = stage.begin(long, web=1)
    other = stage.open(page.conversation, 2)
    page.until_words(long, 3)
    nonce = other.say(short.message, queued=True)
    other.until("message.accepted", nonce=nonce)
    other.send("queue.send", nonce=nonce)
    page.until_words(short, 9)
    page.wait(lambda: not page.turn)
    assert [status for status, _owner in stage.turns(page.conversation)] == ["stopped", "succeeded"]


def test_a_condensation_that_is_asked_for_elsewhere_follows_the_step(stage: Stage) -> None:
    """A turn that runs in a worker condenses after its step, and both pages show the row."""
    page = stage.begin(story(9))
    other = stage.open(page.conversation, 2)
    for _ in range(3):
        page.until_idle()
        page.say(LONG)
    page.until_idle()
    told = story(60, call=ToolCall("list_files"))
    page.ask(told)
    other.until_words(told, 3)
    other.send("condense.start", nonce=str(uuid.uuid4()))
    page.until_words(told, told.length)
    page.wait(lambda: not page.turn)
    for one in (page, other):
        one.wait(
            lambda one=one: any("Context condensed" in row for row in one.screen.rows.values())
        )
    assert set(told.words) <= {*stage.stored(page.conversation)}
    status, turn = stage.cluster.ask(
        "SELECT c.status, t.origin FROM chatapp_condensation c "
        "JOIN chatapp_turn t ON t.id = c.turn_id WHERE c.conversation_id = %s",
        page.conversation,
    )[0]
    assert (status, turn) == ("succeeded", "sent")


def test_a_title_that_a_worker_asks_for_is_in_every_list(stage: Stage) -> None:
    """Once the first turn has ended, pages of other conversations fetch their lists."""
    stage.cluster.ask(NO_TITLES.replace("false", "true"))
    other = stage.open(stage.converse(), 2)
    told = story(9)
    page = stage.begin(told, web=1)
    page.until_idle()
    stage.cluster.ask(NO_TITLES)
    title = f"Story number {told.number}"
    page.until("title.changed")
    other.until("list.changed")
    other.wait(lambda: title in stage.person.at(stage.cluster.web(2)).read("/"))


def test_who_signs_out_leaves_no_socket_open_anywhere(stage: Stage) -> None:
    """The one at the other web process closes within a second; others of theirs stay."""
    leaving = Person(stage.cluster)
    conversation = stage.converse()
    page = stage.open(conversation, 2, person=leaving)
    staying = stage.open(conversation, 2)
    left = time.monotonic()
    leaving.at(stage.cluster.web(1)).post("/sign-out/")
    assert page.until_closed() == 4401
    assert page.closed_at - left < 1 + stage.reading.late_since(left)
    told = staying.ask(story(9))
    staying.until_words(told, 9)


def test_a_conversation_that_is_deleted_is_closed_everywhere(stage: Stage) -> None:
    """What runs in it is stopped."""
    told = story(3_000)
    page = stage.begin(told, web=2)
    page.until_words(told, 3)
    person = stage.person.at(stage.cluster.web(1))
    person.read(f"/c/{page.conversation}/")
    person.post(f"/c/{page.conversation}/delete/")
    assert page.until_closed() == 4403


def test_a_program_hears_a_turn_from_any_process(stage: Stage) -> None:
    """All of its words, in order, while a page at the other web process follows it."""
    told = story(60)
    page = stage.open(stage.converse(), 1)
    heard = list(stage.send_by_program(page.conversation, told.message, 2))
    assert read_words("".join(said["text"] for name, said in heard if name == "text")) == told.words
    assert heard[-1][0] == "end"
    assert heard[-1][1]["status"] == "succeeded"
    page.until_idle()
    stage.check(page, told)


LEAVE = """
from django.contrib.auth.models import User
from django.utils import timezone
from chatapp.models import Deletion
Deletion.objects.create(user=User.objects.create_user("carol"), due_at=timezone.now())
"""
LOOK = """
    UPDATE procrastinate_jobs SET scheduled_at = now()
    WHERE queueing_lock = 'delete_accounts:all' AND status = 'todo'
"""
WAITING = """
    SELECT count(*) FROM procrastinate_jobs
    WHERE queueing_lock = 'delete_accounts:all' AND status = 'todo'
"""


def test_an_account_that_is_due_is_deleted_by_some_worker(stage: Stage) -> None:
    """A look for such accounts always waits in the queue, and another one after it."""
    cluster = stage.cluster
    if not cluster.workers:
        pytest.skip("one process alone keeps its jobs in memory")
    cluster.manage("shell", "-v0", "-c", LEAVE)
    while cluster.value("SELECT count(*) FROM auth_user WHERE username = 'carol'"):
        cluster.ask(LOOK)
    while not cluster.value(WAITING):
        pass
