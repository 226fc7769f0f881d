"""Pages of the API's lists: the last one has no next."""

import pytest
from django.contrib.auth.models import User

from chatapp.conversations.conversations import start_conversation
from chatapp.models import Conversation
from chatapp.web.api.pagination import PageQuery, by_moment, by_number
from tests.chatapp.conftest import Say


@pytest.mark.parametrize(("limit", "pages"), [(1, 3), (2, 2), (3, 1), (4, 1)])
def test_each_row_is_on_one_page(
    conversation: Conversation, alice: User, say: Say, limit: int, pages: int
) -> None:
    """And a page that just holds the rest is the last."""
    for text in ("One.", "Two.", "Three."):
        say("user", text)
    for _ in range(2):
        start_conversation(owner=alice)
    newest = alice.conversations.order_by("-created_at", "-pk")
    for listed, rows, column in (
        (by_number, conversation.messages.all(), "seq"), (by_moment, newest, "created_at")
    ):  # fmt: skip
        seen, after, count = [], "", 0
        while after is not None:
            page = listed(rows, column, PageQuery(after=after, limit=limit))
            seen, after, count = [*seen, *page["items"]], page["next"], count + 1
        assert (seen, count) == ([*rows], pages)
