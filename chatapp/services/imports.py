"""Turning a transcript file into a conversation."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

import condense
from chatapp import budgets, store
from chatapp.models import Conversation, Profile
from chatapp.services.conversations import start_conversation
from chatapp.services.errors import Refused

BATCH = 500


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation made from a file, and how many messages it holds."""

    conversation: Conversation
    messages: int


@transaction.atomic
def import_conversation(
    *, owner: Any, title: str, messages: Iterable[condense.Message]
) -> Imported:
    """Store ``messages`` as a new conversation; refused when there are none."""
    conversation = start_conversation(owner=owner, title=title)
    counter = budgets.counter_for(conversation.profile or Profile(provider="offline"))
    count = 0
    for batch in itertools.batched(messages, BATCH):
        counted = [(one, condense.count_message(one, counter)) for one in batch]
        count += store.append_many(conversation.pk, counted)
    if not count:
        raise Refused("The file holds no message that can be used.")
    return Imported(conversation, count)
