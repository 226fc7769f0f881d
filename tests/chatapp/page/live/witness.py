"""Somebody who looks at what became of a conversation, and fails where it must not be so."""

import hashlib
import json
import uuid
from dataclasses import dataclass, field

import condense
from chatapp.condensing import undo
from chatapp.conversations import pins
from chatapp.conversations.locks import find_broken
from chatapp.conversations.rewind import undo_rewind
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Profile,
    Rewind,
    Turn,
    message_store,
)
from chatapp.models.messages import MessageQuerySet
from chatapp.models.versions import read_versions
from chatapp.page.transcript import row_pages
from tests.chatapp.page.transcript.shown_rows import ids
from tests.standin.server import Standin

# Any conversation fits, so that all of it can be brought back.
ROOMY = 2_000_000


@dataclass
class Witness:
    """Remembers what was said and seen, and checks after each step what must hold."""

    conversation: Conversation
    standin: Standin
    said: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    before: str = ""
    rewound_from: dict[uuid.UUID, str] = field(default_factory=dict)

    @property
    def messages(self) -> MessageQuerySet:
        """All messages of the conversation."""
        return Message.objects.filter(conversation=self.conversation)

    def what_was_said(self) -> str:
        """Return a digest of all that people and the model said and nobody set aside."""
        rows = self.messages.in_force().written().in_reading_order()
        return digest([(row.seq, row.content) for row in rows])

    def what_the_model_sees(self) -> str:
        """Return a digest of the effective history."""
        history = message_store.read_effective(self.conversation.pk)
        return digest([(one.seq, one.to_api()) for one in history])

    def look(self) -> None:
        """Remember how things are before a step."""
        self.before = self.what_was_said()

    def check(self) -> None:
        """Fail where a step did something that it must not."""
        self.nothing_runs_on()
        self.no_word_is_lost()
        self.every_word_can_be_reached()
        self.every_call_is_on_record()
        self.what_the_model_sees_is_what_the_tags_say()
        self.what_was_rewound_came_back()
        self.what_is_pinned_is_there()

    def nothing_runs_on(self) -> None:
        assert not Turn.objects.filter(conversation=self.conversation, status="running").exists()
        running = Condensation.objects.filter(conversation=self.conversation, status="running")
        assert not running.exists()

    def no_word_is_lost(self) -> None:
        now = {str(row.pk): json.dumps(row.content, sort_keys=True) for row in self.messages}
        assert self.seen.items() <= now.items()
        self.seen = now
        texts = [row.content for row in self.messages.filter(role="user").written()]
        stored = json.dumps(texts)
        assert all(json.dumps(text)[1:-1] in stored for text in self.said)

    def every_word_can_be_reached(self) -> None:
        """It has a row, and whatever set it aside is on record and can be gone back on."""
        whole = row_pages.page_between(self.conversation, "", "")
        spoken = [row for row in self.messages.written() if not row.holds_results]
        assert {f"message-{row.seq}" for row in spoken} <= set(ids(whole))
        rewinds = Rewind.objects.filter(conversation=self.conversation)
        standing = {one.pk for one in rewinds if one.undone_at is None}
        assert {one.rewind_parent for one in (*self.messages, *rewinds)} <= {None, *standing}
        for versions in read_versions(self.conversation.pk).values():
            others = {*range(1, versions.count + 1)} - {versions.shown}
            assert all(versions.set_aside(number) for number in others)

    def every_call_is_on_record(self) -> None:
        # Those of other conversations too: what was stopped as it was sent may arrive later.
        assert ModelCall.objects.count() >= len(self.standin.requests)
        assert not self.standin.problems

    def what_the_model_sees_is_what_the_tags_say(self) -> None:
        rows = self.messages.in_reading_order()
        derived = condense.effective_history([message_store.to_engine(row) for row in rows])
        stored = message_store.read_effective(self.conversation.pk)
        assert [one.id for one in stored] == [one.id for one in derived]
        visible = {row.pk for row in rows.filter(hidden=False)}
        assert visible == {row.pk for row in rows.shown_by_tags()}

    def what_was_rewound_came_back(self) -> None:
        """Where a rewind was undone, all is there again that it had set aside."""
        plain = Rewind.objects.filter(conversation=self.conversation, root_seq=None)
        for one in plain:
            if one.undone_at is None:
                self.rewound_from.setdefault(one.pk, self.before)
            elif known := self.rewound_from.pop(one.pk, ""):
                assert self.what_was_said() == known

    def what_is_pinned_is_there(self) -> None:
        """Each pin holds: the model reads the message word for word."""
        pk = self.conversation.pk
        assert find_broken(pk, message_store.read_effective(pk)) == ""

    def undo_everything(self) -> None:
        """Take back what can be, the latest first: then the model sees all that was said."""
        roomy = Profile.objects.filter(owner=self.conversation.owner_id)
        roomy.update(context_window=ROOMY)
        # What would hide a message that was pinned since is refused.
        for row in self.messages.filter(pinned=True, rewind_parent=None):
            pins.unpin_message(conversation=self.conversation, seq=row.seq)
        while True:
            self.undo_condensations()
            assert self.what_the_model_sees_is_all_that_was_said()
            rewind = Rewind.objects.filter(conversation=self.conversation).undoable().first()
            if rewind is None:
                return
            undo_rewind(rewind=rewind)
            self.check()

    def undo_condensations(self) -> None:
        for made in self.messages.in_force().made_by_engine().order_by("-seq"):
            undo.undo_condensation(condensation=made.condensation)
            self.check()

    def what_the_model_sees_is_all_that_was_said(self) -> bool:
        rows = self.messages.in_force().written().in_reading_order()
        return self.what_the_model_sees() == digest(
            [(row.seq, message_store.to_engine(row).to_api()) for row in rows]
        )


def digest(value: object) -> str:
    """Return a hash of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
