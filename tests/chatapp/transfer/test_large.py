"""A long conversation that was imported opens as fast as a short one."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatapp.models import Conversation
from tests.chatapp.transfer.lives import read
from tests.sessions import session

PAGES = ("chat", "inspector", "audit", "source")


def queries(browser: Client, conversation: Conversation, page: str) -> int:
    """Return how many queries it takes to open a page."""
    address = reverse(page, args=[conversation.pk])
    browser.get(address)
    with CaptureQueriesContext(connection) as found:
        assert browser.get(address).status_code == 200
    return len(found)


def test_pages_of_300_turns_and_10_condensations_take_no_more_queries_than_those_of_60_and_2(
    alice: User, browser: Client, tmp_path: Path
) -> None:
    """The chat, what the model sees, the audit record, and where it came from."""
    short, long = (
        read(session(turns, compactions), alice, tmp_path, "claude_code").conversation
        for turns, compactions in ((60, 2), (300, 10))
    )
    assert long.condensations.count() == 10
    assert long.calls.count() == 600
    for page in PAGES:
        few, many = queries(browser, short, page), queries(browser, long, page)
        assert many <= few <= 40, page


@pytest.mark.parametrize("turns", [30, 300])
def test_an_import_takes_as_many_statements_as_it_has_batches_and_records(
    alice: User, tmp_path: Path, turns: int
) -> None:
    """Not one for each message."""
    data = session(turns, 2)
    with CaptureQueriesContext(connection) as found:
        read(data, alice, tmp_path, "claude_code")
    assert len(found) < 100
