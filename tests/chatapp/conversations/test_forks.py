"""A fork goes on from one place of a conversation, and leaves that one as it is."""

import errno
import os
import shutil
import uuid

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import condense
from chatapp.condensing import undo
from chatapp.conversations import conversations, forks
from chatapp.conversations.toolbox.toolbox import outputs_of, workspace_of
from chatapp.models import (
    Condensation,
    Conversation,
    Folder,
    Fork,
    Message,
    errors,
    hidden_messages,
    message_index,
    message_store,
)
from chatapp.project.search import Query
from chatapp.records.maintenance.integrity import find_problems
from tests.chatapp.audited import condense_on_record, problems, talk
from tests.chatapp.conftest import Say, reduction_of, use_tools
from tests.chatapp.models.twin import OPERATIONS, Twin, seen

HTMX = {"HX-Request": "true"}


def fork(conversation: Conversation, seq: int) -> Conversation:
    """Fork a conversation as it is stored now."""
    now = Conversation.objects.get(pk=conversation.pk)
    return forks.fork_conversation(conversation=now, seq=seq)


def written(conversation: Conversation) -> list[tuple[int, object]]:
    """Return what people, the model and tools said that is part of a conversation."""
    there = conversation.messages.written().filter(rewind_parent=None).order_by("seq")
    return [*there.values_list("seq", "content")]


class Reporter(Twin):
    """Notes of each message what stood there when it was the newest."""

    def __init__(self, owner: User) -> None:
        """Begin with nothing noted."""
        super().__init__(owner)
        self.then: dict[int, list[tuple[int, object]]] = {}

    def append(self, message: condense.Message) -> None:
        """Append, and look around."""
        super().append(message)
        if not message.tool_uses:
            self.then[self.history[-1].seq] = written(self.conversation)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=OPERATIONS, place=st.integers(0, 100))
def test_a_fork_begins_with_what_stood_there_when_its_message_was_the_newest(
    alice: User, operations: list[tuple[str, object]], place: int
) -> None:
    """Whatever came since, also where it was rewound or is another version; nothing else changes.

    At the newest message the model sees in the fork what it sees in the original, unless something
    that was made since stands behind it.
    """
    twin = Reporter(alice)
    twin.say(2)
    for operation, argument in operations:
        twin.do(operation, argument)
    seqs = [*twin.then]
    seq = seqs[place % len(seqs)]
    before = [*twin.conversation.messages.order_by("seq").values()]
    copy = fork(twin.conversation, seq)
    assert written(copy) == twin.then[seq]
    assert [*twin.conversation.messages.order_by("seq").values()] == before
    effective = message_store.read_effective(twin.conversation.pk)
    if effective and effective[-1].seq in twin.then:
        copy = fork(twin.conversation, effective[-1].seq)
        assert seen(message_store.read_effective(copy.pk)) == seen(effective)
    assert [*find_problems()] == []


def test_a_fork_keeps_its_past_condensations_undoable(conversation: Conversation) -> None:
    """On record there as well, and paid for once."""
    talk(conversation, "Where is north?", "Up.", "And south?", "Down.")
    attempt = condense_on_record(conversation, cost=None, cost_measured=False)
    talk(conversation, "East?", "Right.")
    copy = fork(conversation, 7)
    copied = copy.condensations.get()
    attempt.refresh_from_db()
    assert (copied.summary, copied.cost, copied.cost_measured) == (attempt.summary, 0, True)
    assert [one.seq for one in message_store.read_effective(copy.pk)] == [5, 6, 7]
    undo.undo_condensation(condensation=copied)
    assert [one.seq for one in message_store.read_effective(copy.pk)] == [1, 2, 3, 4, 6, 7]
    assert [one.seq for one in message_store.read_effective(conversation.pk)] == [5, 6, 7]
    assert problems(copy) == problems(conversation) == []


def test_a_fork_behind_a_fold_keeps_it_though_it_was_written_later(
    conversation: Conversation,
) -> None:
    """What stands above the message on the page stands there in the fork, and can be undone."""
    talk(conversation, "Where is north?", "Up.", "And south?", "Down.")
    condense_on_record(conversation, keep=2)
    for seq, seen_there in ((4, [5, 3, 4]), (3, [5, 3]), (2, [1, 2])):
        copy = fork(conversation, seq)
        assert [one.seq for one in message_store.read_effective(copy.pk)] == seen_there
        assert copy.forks.get().seq == seq
        for attempt in copy.condensations.all():
            undo.undo_condensation(condensation=attempt)
        assert [one.seq for one in message_store.read_effective(copy.pk)] == [*range(1, seq + 1)]
        talk(copy, "East?")
        assert problems(copy) == problems(conversation) == []
        assert [*find_problems()] == []


def test_a_fork_before_a_condensation_has_the_originals_in_sight(
    conversation: Conversation, say: Say
) -> None:
    """From before one that another hides since; one at a call has its results."""
    talk(conversation, "Where is north?", "Up.")
    first = condense_on_record(conversation)
    talk(conversation, "And south?", "Down.")
    second = condense_on_record(conversation)
    for attempt, expected in ((first, [1, 2]), (second, [3, 4, 5])):
        made = Condensation.objects.select_related("message").get(pk=attempt.pk).message
        assert made
        copy = fork(conversation, made.seq)
        assert [one.seq for one in message_store.read_effective(copy.pk)] == expected
    say("user", "Look.")
    use_tools(conversation, 2)
    say("assistant", "Seen.")
    assert [seq for seq, _content in written(fork(conversation, 8))][-3:] == [7, 8, 9]


def test_the_fork_works_with_the_same_files_and_terms(conversation: Conversation, say: Say) -> None:
    """Profile, prompt, tools, budget, folders, and long outputs that its messages name."""
    folder = Folder.objects.create(owner=conversation.owner, name="Trips")
    Conversation.objects.filter(pk=conversation.pk).update(
        folder=folder,
        system_prompt="Be brief.",
        tool_policies={"run_command": "allow"},
        title="Compass",
        budget=3,
    )
    say("user", "Hello.")
    outputs_of(conversation.pk).mkdir(parents=True)
    (outputs_of(conversation.pk) / "aa.txt").write_text("long")
    copy = Conversation.objects.get(pk=fork(conversation, 1).pk)
    assert (copy.system_prompt, copy.tool_policies) == ("Be brief.", {"run_command": "allow"})
    assert (copy.owner, copy.folder, copy.budget) == (conversation.owner, folder, 3)
    assert (copy.profile, copy.title) == (conversation.profile, "Compass (fork)")
    assert workspace_of(copy) == workspace_of(conversation)
    assert (outputs_of(copy.pk) / "aa.txt").read_text() == "long"


def test_a_fork_is_whole_or_none_where_a_disk_has_no_links(
    conversation: Conversation, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs are copied then; where there is no room for that, nothing is left of the fork."""

    def fail(*_paths: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    say("user", "Hello.")
    outputs = outputs_of(conversation.pk)
    outputs.mkdir(parents=True)
    (outputs / "aa.txt").write_text("long")
    monkeypatch.setattr(os, "link", fail)
    copy = fork(conversation, 1)
    assert (outputs_of(copy.pk) / "aa.txt").read_text() == "long"
    with pytest.raises(errors.Refused, match="no such message"):
        fork(conversation, 9)
    monkeypatch.setattr(shutil, "copy2", fail)
    with pytest.raises(errors.Refused, match="nothing was forked"):
        fork(conversation, 1)
    assert {*Conversation.objects.all()} == {conversation, copy}
    assert {one.name for one in outputs.parent.iterdir()} == {outputs.name, copy.pk.hex}


def test_a_long_title_is_cut_with_a_sign(conversation: Conversation, say: Say) -> None:
    """The name of a fork says that it is one."""
    Conversation.objects.filter(pk=conversation.pk).update(title="x" * 200)
    say("user", "Hello.")
    assert fork(Conversation.objects.get(pk=conversation.pk), 1).title == f"{'x' * 179}… (fork)"


def test_a_message_is_in_the_fork_column_by_column_what_it_is(conversation: Conversation) -> None:
    """But for keys, and for what belongs to the original: turns, and what was set aside."""
    talk(conversation, "Where is north?", "Up, and")
    use_tools(conversation, 1, "Let me look.")
    undo.undo_condensation(condensation=condense_on_record(conversation))
    cut = {"stop_reason": "max_tokens", "unbound": True, "claimed": True}
    conversation.messages.filter(seq=2).update(**cut)
    tags = condense.Tags(truncation_id=uuid.uuid4().hex)
    marker = condense.Message("user", (condense.TextBlock("[cut]"),), tags=tags, tokens=3)
    oldest = [one.id for one in message_store.read_effective(conversation.pk)][:2]
    hidden_messages.apply_reduction(conversation.pk, reduction_of(marker, tuple(oldest)))
    talk(conversation, "Thanks.")
    copy = fork(conversation, 7)
    own = {"id", "conversation", "turn", "rewind_parent"}
    names = [one.name for one in Message._meta.concrete_fields if one.name not in own]
    there, here = (one.messages.order_by("seq").values(*names) for one in (conversation, copy))
    assert [*here] == [*there]
    assert [one["undone"] for one in here] == [False] * 4 + [True, False, False]
    assert [one["truncation_parent"] is None for one in here] == [False] * 2 + [True] * 5
    # The one that begins at the marker begins before it, as at a summary.
    assert fork(conversation, 6).messages.latest("seq").seq == 5


def test_both_heads_lead_to_the_other_side(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """And both records tell of the fork; a side that was deleted is not offered.

    A place where no message is is refused, as a sentence where the person is.
    """
    say("user", "Hello.")
    say("assistant", "Hi.")
    page = reverse("chat", args=[conversation.pk])
    assert "Fork from here" in browser.get(page).text
    for seq in (0, 3, 999_999_999):
        answer = browser.post(reverse("fork", args=[conversation.pk, seq]), headers=HTMX)
        assert (answer.status_code, Fork.objects.count()) == (422, 0)
        assert "There is no such message here" in answer.text
    answer = browser.post(reverse("fork", args=[conversation.pk, 1]), headers=HTMX)
    copy = Conversation.objects.exclude(pk=conversation.pk).get()
    other = reverse("chat", args=[copy.pk])
    assert answer.headers["HX-Redirect"] == other
    assert f'Continued in <a href="{other}?at=1#message-1">' in browser.get(page).text
    assert f'Forked from <a href="{page}?at=1#message-1">' in browser.get(other).text
    record = browser.get(reverse("audit", args=[conversation.pk])).text
    assert "Fork: at message 1" in record
    record = browser.get(reverse("audit", args=[copy.pk])).text
    assert "Fork: of another conversation, at message 1" in record
    browser.post(reverse("delete", args=[copy.pk]))
    assert "Continued in" not in browser.get(page).text


def test_no_head_leads_to_somebody_elses_conversation(
    browser: Client, conversation: Conversation, bob: User
) -> None:
    """Whatever an imported record says its other side is: not even its title is told."""
    theirs = conversations.start_conversation(owner=bob, title="Bob's own")
    Fork.objects.create(conversation=conversation, other=theirs.pk, is_copy=True, seq=1).enter()
    page = browser.get(reverse("chat", args=[conversation.pk])).text
    assert "Forked from" not in page
    assert str(theirs.pk) not in page


def test_a_fork_of_many_messages_takes_no_more_statements_than_one_of_few(
    conversation: Conversation,
) -> None:
    """Their contents do not leave the database: while they are copied, nobody else can write."""
    talk(conversation, "Where is north?", "Up.")
    with CaptureQueriesContext(connection) as few:
        fork(conversation, 2)
    rows = [
        Message(
            conversation=conversation, seq=at, position=at, role="user", content="Hm.", tokens=1
        )
        for at in range(3, 603)
    ]
    Message.objects.bulk_create(rows)
    Conversation.objects.filter(pk=conversation.pk).update(last_seq=602)
    with CaptureQueriesContext(connection) as many:
        copy = fork(conversation, 602)
    assert len(many) == len(few)
    assert written(copy) == written(conversation)
    assert [*copy.messages.order_by("pk")] == [*copy.messages.order_by("seq")]
    assert len(message_index.find_places(copy, Query.read("north"), limit=9)) == 1
