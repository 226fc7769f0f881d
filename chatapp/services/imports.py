"""Turning a transcript file into a conversation."""

import itertools
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

import condense
from chatapp.context import budgets, toolboxes
from chatapp.context.instructions import system_of
from chatapp.models import Conversation, Profile, store
from chatapp.providers import keyless_spec
from chatapp.services.accounts import preferences_of
from chatapp.services.conversations import start_conversation
from chatapp.services.errors import Refused
from chatapp.services.pins import pin_message

BATCH = 500

# Without a vendor behind it, a window may be as large as any recorded session.
ROOMY_WINDOW = 2_000_000


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation made from a file: its messages, and the profile that answers it."""

    conversation: Conversation
    messages: int
    profile: Profile


@transaction.atomic
def import_conversation(
    *, owner: User, title: str, messages: Iterable[condense.Message]
) -> Imported:
    """Store ``messages`` as a new conversation; refused when there are none.

    The user's default profile answers it if all of it fits there, otherwise another that is large
    enough; where there is none, a profile without a key and with a large window is made. What is
    pinned stays so as long as it fits there.
    """
    conversation = start_conversation(owner=owner, title=title)
    count = tokens = 0
    pinned: list[int] = []
    for batch in itertools.batched(messages, BATCH):
        counted = [(one, condense.count_message(one, budgets.COUNTER)) for one in batch]
        pinned += [seq for seq, one in enumerate(batch, count + 1) if one.tags.pinned]
        tokens += sum(size for _message, size in counted)
        count += store.append_many(conversation.pk, counted)
    if not count:
        raise Refused("The file holds no message that can be used.")
    conversation.profile = profile = _find_profile(conversation, tokens)
    conversation.save(update_fields=["profile"])
    for seq in pinned:
        with suppress(Refused):
            pin_message(conversation=conversation, seq=seq)
    return Imported(conversation, count, profile)


def _find_profile(conversation: Conversation, tokens: int) -> Profile:
    owner = conversation.owner
    preferences = preferences_of(owner)
    default = preferences.default_profile
    profiles = [default] if default else []
    profiles += Profile.objects.filter(owner=owner).order_by("context_window")
    for profile in profiles:
        tools = toolboxes.offered(conversation, profile)
        system = system_of(conversation, profile)
        overhead = budgets.overhead_for(profile.provider, tools, system).total
        if not budgets.budget_for(profile, preferences).exceeds(tokens + overhead):
            return profile
    return _make_roomy_profile(owner)


def _make_roomy_profile(owner: User) -> Profile:
    spec = keyless_spec()
    profile, _made = Profile.objects.get_or_create(
        owner=owner,
        name=f"{spec.first_profile}, large window",
        defaults={
            "provider": spec.name,
            "model": spec.models[0].id,
            "context_window": ROOMY_WINDOW,
            "max_output": 2_000,
        },
    )
    return profile
