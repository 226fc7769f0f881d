"""Pages of the transcript: together they are the whole of it, in whichever direction one reads."""

import uuid
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import condense
from chatapp.models import Condensation, Conversation, Message
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.message_parts import ToolCard
from chatapp.page.transcript.rows import RewindRow, RowPage
from tests.chatapp.conftest import Say
from tests.chatapp.models.twin import Twin
from tests.chatapp.page.transcript.shown_rows import append, ids
from tests.records import record_for

NAMES = ("say", "use_tool", "condense", "fail", "rewind", "undo_rewind", "regenerate", "switch")
OPERATIONS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 30)), max_size=20)


class Session(Twin):
    """A stored conversation in which things happen."""

    def say(self, count: int) -> None:
        """Append a few messages."""
        super().say(1 + count % 4)

    def condense(self, keep: int) -> None:
        """Have each condensation on record."""
        super().condense(keep % 4)
        made = self.conversation.messages.made_by_engine().filter(condensation=None)
        for one in made:
            record_for(self.conversation, one)

    def fail(self, _argument: int) -> None:
        """Put an attempt on record that came to nothing."""
        attempt = Condensation.objects.filter(conversation=self.conversation).first()
        if attempt:
            attempt.pk, attempt.message = uuid.uuid4(), None
            self.conversation.refresh_from_db()
            attempt.at_seq = self.conversation.last_seq
            attempt.status = Condensation.Status.FAILED
            attempt.save(force_insert=True)


def names(messages: Iterable[Message]) -> dict[str, None]:
    """Return the ids of messages' rows, in this order."""
    return {f"message-{message.seq}": None for message in messages}


def present(*pages: RowPage) -> list[str]:
    """Return the ids of the rows that no rewind has set aside."""
    return [row.id for page in pages for row in page.rows if not isinstance(row, RewindRow)]


def upwards(conversation: Conversation, first: RowPage, limit: int) -> list[RowPage]:
    """Return the pages before a page, in reading order, with it."""
    pages = [first]
    while pages[0].older:
        pages.insert(0, row_pages.page(conversation, before=pages[0].older, limit=limit))
    return pages


def downwards(conversation: Conversation, first: RowPage, limit: int) -> list[RowPage]:
    """Return the pages after a page, with it."""
    pages = [first]
    while pages[-1].newer:
        pages.append(row_pages.page_after(conversation, pages[-1].newer, limit=limit))
    return pages


# The owner is the only thing examples share.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS, limit=st.integers(1, 6), place=st.integers(0, 60))
def test_every_row_is_reached_once_and_in_order(
    alice: User, operations: list[tuple[str, Any]], limit: int, place: int
) -> None:
    """By paging up from the newest page, and both ways from any place.

    What a rewind set aside is folded into one row on each page that has any of it.
    """
    session = Session(alice)
    for operation, argument in operations:
        session.do(operation, argument)
    conversation = session.conversation
    conversation.refresh_from_db()
    whole = row_pages.page_between(conversation, "", "")
    assert len(set(ids(whole))) == len(ids(whole))
    messages = Message.objects.filter(conversation=conversation).written().in_reading_order()
    spoken = [one for one in messages if not one.holds_results]
    assert {name for name in ids(whole) if name.startswith("message")} == set(names(spoken))
    in_order = [name for name in present(whole) if name.startswith("message")]
    assert in_order == [*names(one for one in spoken if one.rewind_parent is None)]
    newest = row_pages.page(conversation, limit=limit)
    around = row_pages.page_around(conversation, str(place), limit=limit)
    above = upwards(conversation, around, limit)
    below = downwards(conversation, around, limit)
    for pages in (upwards(conversation, newest, limit), [*above, *below[1:]]):
        assert sorted(ids(*pages)) == sorted(ids(whole))
        assert present(*pages) == present(whole)
    for one, other in pairwise([*above, *below[1:]]):
        assert one.newer == other.older
    assert row_pages.page_between(conversation, around.older, around.newer) == around


@pytest.mark.parametrize("count", [9, 40])
def test_results_in_a_row_at_a_border_are_no_end(conversation: Conversation, count: int) -> None:
    """However many answer one call, each in a message of its own."""
    append(conversation, "user", condense.TextBlock("The first."))
    names = [f"c{number}" for number in range(count)]
    calls = [condense.ToolUseBlock(name, "read_file", {}) for name in names]
    append(conversation, "assistant", *calls)
    for name in names:
        append(conversation, "user", condense.ToolResultBlock(name, "text"))
    page = row_pages.page(conversation, limit=3)
    (agent,) = page.rows
    assert [card.state for card in agent.parts if isinstance(card, ToolCard)] == ["done"] * count
    assert ids(row_pages.page(conversation, before=page.older, limit=3)) == ["message-1"]


def test_a_page_around_a_place_has_what_stands_before_and_after_it(
    conversation: Conversation, say: Say
) -> None:
    """Not all that was said since."""
    for number in range(1, 41):
        say("user" if number % 2 else "assistant", f"message {number}")
    page = row_pages.page_around(conversation, "20", limit=9)
    assert [row.seq for row in page.rows] == list(range(16, 27))
    assert (page.older, page.newer) == ("16.16", "27.27")


def test_a_place_that_is_none_is_the_newest_page(conversation: Conversation, say: Say) -> None:
    """It comes from a URL that anybody can type."""
    for number in range(3):
        say("user", f"message {number}")
    for place in ("", "x", "-1", "3.x", "1.2.3", "\uff19", "9" * 40, "9" * 5_000):
        pages = [
            read(conversation, place) for read in (row_pages.page_around, row_pages.page_after)
        ]
        pages.append(row_pages.page(conversation, before=place))
        pages.append(row_pages.page_between(conversation, place, place))
        # Past the end is the end: what stood there may have been in another conversation.
        pages.append(row_pages.page_around(conversation, "999999999.999999999"))
        for page in pages:
            assert ([row.seq for row in page.rows], page.newer) == ([1, 2, 3], "")
