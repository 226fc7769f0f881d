"""Undo: take a condensation back, redo it, or put single messages and facts back.

Repeating a request changes nothing and is no error.
"""

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

import condense
from chatapp.conversations.context import sizes
from chatapp.conversations.context.turn_context import terms_with
from chatapp.conversations.conversations import choose_profile
from chatapp.conversations.forks import fork_conversation
from chatapp.conversations.locks import lock, refuse_while_running
from chatapp.conversations.pins import pin_whole, what_pins_take
from chatapp.conversations.toolbox.toolbox import outputs_of
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    Profile,
    hidden_messages,
    message_store,
)
from chatapp.models.errors import Refused
from chatapp.models.messages import MessageQuerySet
from chatapp.models.profiles import KeySource
from chatapp.project.sentences import translate as _

_SUCCEEDED, _UNDONE = Condensation.Status.SUCCEEDED, Condensation.Status.UNDONE


class DoesNotFit(Refused):
    """The originals need more ``tokens`` than are ``allowed``.

    They fit with each ``larger`` profile of the owner's, the smallest first. The undo would take
    ``later`` condensations with it.
    """

    def __init__(self, tokens: int, allowed: int, *, later: int, larger: Sequence[Profile]) -> None:
        said = _(
            "The originals need about {tokens:,} tokens; {allowed:,} fit. Switch to a profile "
            "with a larger window, branch with the originals, or put back only some messages.",
            tokens=tokens,
            allowed=allowed,
        )
        super().__init__(said)
        self.tokens, self.allowed, self.later, self.larger = tokens, allowed, later, larger


@dataclass(frozen=True, slots=True)
class Undo:
    """The result of an undo; sizes are None in a conversation without a profile."""

    later: int  # condensations that are undone with it
    tokens: condense.TokenCount | None  # the new size
    allowed: int | None  # the largest size that fits


def list_hidden(*, condensation: Condensation) -> MessageQuerySet:
    """Return the messages a condensation hid, or whose results it cleared, in reading order.

    They are the same when it was undone, and when another one hides them by now.
    """
    made = condensation.message
    if made is None:
        return Message.objects.none()
    return Message.objects.hid_by(made).in_reading_order()


@contextmanager
def _locked(condensation: Condensation) -> Iterator[tuple[Conversation, Condensation]]:
    """Lock the conversation of a condensation, and read the condensation anew."""
    with lock(condensation.conversation) as locked:
        yield locked, Condensation.objects.select_related("message").get(pk=condensation.pk)


def undo_condensation(
    *, condensation: Condensation, later: int = 0, profile: Profile | None = None
) -> None:
    """Put the originals back into the effective history; raise DoesNotFit if they don't fit.

    It takes the ``later`` condensations that stand on this one with it, and raises Refused for
    another number of them. A ``profile`` answers from now on, and lends its window.
    """
    with _locked(condensation) as (locked, attempt):
        if attempt.status == _UNDONE:
            return
        if profile:
            refuse_while_running(locked)
            choose_profile(conversation=locked, profile=profile)
            locked.refresh_from_db()
        _undo(locked, attempt, later)


def branch_with_originals(*, condensation: Condensation) -> Conversation:
    """Return a fork of the whole conversation whose model sees the originals."""
    own, copy = condensation.conversation, None
    try:
        with transaction.atomic():
            newest = own.messages.filter(rewind_parent=None).aggregate(seq=Max("seq"))["seq"]
            copy = fork_conversation(conversation=own, seq=newest or 0)
            made = condensation.message
            copies = copy.condensations.select_related("message")
            # The fork begins before a condensation that nothing follows.
            if made and (copied := copies.filter(message__seq=made.seq).first()):
                with lock(copy):
                    _undo(copy, copied, None, weighs=False)
    except BaseException:
        if copy:
            shutil.rmtree(outputs_of(copy.pk), ignore_errors=True)
        raise
    return copy


def put_back_messages(*, condensation: Condensation, seqs: Collection[int]) -> None:
    """Pin some of the hidden messages, so that the model sees them again, word for word."""
    chosen = list_hidden(condensation=condensation).written().filter(seq__in=seqs)
    with lock(condensation.conversation) as locked:
        tokens, room = sum([row.tokens for row in chosen]), room_for(locked)
        if tokens > room:
            said = _("These need about {tokens:,} tokens; {room:,} fit.", tokens=tokens, room=room)
            raise Refused(said)
        for row in chosen:
            pin_whole(locked, row)


def room_for(conversation: Conversation) -> float:
    """Return the tokens of hidden messages that can be put back now."""
    pins = what_pins_take(conversation)
    return max(0, min(pins.most - pins.tokens, sizes.room_in(conversation)))


def preview_undo(*, condensation: Condensation) -> Undo:
    """Return the result of undoing this and all that stands on it; raise as the undo would."""
    # An undo can only be weighed once it is done: it is done, and rolled back.
    with transaction.atomic():
        with _locked(condensation) as (locked, attempt):
            undo = _undo(locked, attempt, None)
        transaction.set_rollback(True)
    return undo


def _undo(
    conversation: Conversation, attempt: Condensation, later: int | None, *, weighs: bool = True
) -> Undo:
    """Undo an attempt and the ``later`` ones that stand on it, None for any number of them."""
    refuse_while_running(conversation, lets_client=True)
    message = attempt.message
    if attempt.status != _SUCCEEDED or message is None:
        raise Refused(_("Only an active condensation can be undone."))
    if message.rewind_parent:
        raise Refused(_("A rewind also hid this condensation. Undo the rewind first."))
    above = hidden_messages.hiders_of(message)
    if later is not None and later != len(above):
        raise Refused(
            _("This has changed meanwhile. Reload the page.")
            if later
            else _("A later condensation hides this one. Undo that first, or both at once.")
        )
    undone = sorted((message, *above), key=lambda one: one.seq, reverse=True)
    records = Condensation.objects.filter(message__in=undone, status=_SUCCEEDED)
    if records.count() < len(undone):
        raise Refused(_("A summary that was imported hides this one, and can't be undone."))
    for made in undone:
        hidden_messages.undo_reduction(made)
    weighs = weighs and not conversation.writer  # a client sends all, whether it fits or not
    tokens, allowed = _weigh(conversation, len(above)) if weighs else (None, None)
    records.order_by("-message__seq").change(status=_UNDONE, undone_at=timezone.now())
    return Undo(len(above), tokens, allowed)


def redo_condensation(*, condensation: Condensation) -> None:
    """Take an undo back: the summary stands for its messages again, and newer ones follow it.

    Condensations that were undone together are redone together. Refused if one of them hid messages
    that are not all visible now, or if another one stands between.
    """
    with _locked(condensation) as (locked, attempt):
        if attempt.status == _SUCCEEDED:
            return
        refuse_while_running(locked, lets_client=True)
        if attempt.status != _UNDONE or attempt.message is None:
            raise Refused(_("Only an undone condensation can be redone."))
        if attempt.message.rewind_parent:
            raise Refused(_("A rewind also hid this condensation. Undo the rewind first."))
        undone = locked.condensations.undone().filter(undone_at=attempt.undone_at)
        redone = undone.order_by("message__seq")
        # Each hides again the messages that the ones before it left.
        for made in Message.objects.filter(condensation__in=redone).order_by("seq"):
            if not hidden_messages.redo_reduction(made):
                raise Refused(
                    _(
                        "Another condensation or a rewind hides part of this, or what it built on "
                        "was undone. Take that back first."
                    )
                )
        redone.change(status=_SUCCEEDED, undone_at=None, redone_at=timezone.now())


def put_back(*, condensation: Condensation, index: int | None) -> None:
    """Append a message with a fact that a condensation lost."""
    with _locked(condensation) as (locked, attempt):
        receipt = attempt.receipt
        if index is None or index >= len(receipt.findings):
            raise Refused(_("There is no such fact in this record."))
        fact = receipt.findings[index]
        if fact.state == "kept":
            return
        refuse_while_running(locked)
        passages = locked.messages.forgotten_passages()
        if any(fact.quote in one or one in fact.quote for one in passages):
            raise Refused(_("This was forgotten."))
        # Only the user's own words are marked as theirs.
        own = fact.quote if fact.kind in ("constraints", "names") else ""
        text = f"{condense.PUT_BACK} ({fact.kind.replace('_', ' ')}): {fact.quote}"
        block = condense.TextBlock(text, {condense.USER_WORDS: own})
        message = condense.Message(role="user", content=(block,))
        tokens = condense.count_message(message, sizes.COUNTER)
        message_store.append_message(locked.pk, message, tokens=tokens)
        Condensation.objects.filter(pk=attempt.pk).change(receipt=receipt.with_kept(index))


def _weigh(conversation: Conversation, later: int) -> tuple[condense.TokenCount | None, int | None]:
    """Return the size after an undo and the limit; raise DoesNotFit above it."""
    profile = conversation.answering
    if profile is None:
        return None, None
    conversation.refresh_from_db(fields=["measured_tokens", "measured_seq"])
    history = message_store.read_outline(conversation.pk)[0]

    def weigh(by: Profile) -> tuple[condense.TokenCount, int]:
        terms = terms_with(conversation, by)
        return sizes.Scale.read(terms).weigh(history), terms.budget().capacity

    tokens, allowed = weigh(profile)
    if tokens.value <= allowed:
        return tokens, allowed
    others = conversation.owner.profiles.order_by("context_window").exclude(pk=profile.pk)
    usable = [(one, *weigh(one)) for one in others if one.key_source != KeySource.MISSING]
    larger = [one for one, size, most in usable if size.value <= most]
    raise DoesNotFit(tokens.value, allowed, later=later, larger=larger)
