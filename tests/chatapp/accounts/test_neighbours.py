"""What is done in one conversation changes nothing that another one has on record."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone

import condense
from chatapp.condensing import summary_reviews, undo
from chatapp.conversations import conversations, forks, pins, rewind
from chatapp.models import Conversation, Review, Turn, errors, message_store
from tests.chatapp.audited import condense_on_record, live_through, talk
from tests.chatapp.records.transfer.lives import read, write
from tests.chatapp.scripted_turns import ask, end, regenerate, retry
from tests.records import put_on_record


def everything() -> dict[tuple[str, object], str]:
    """Return all rows that are stored, by their keys."""
    return {
        (model._meta.label, row[model._meta.pk.attname]): repr(row)
        for model in apps.get_app_config("chatapp").get_models()
        for row in model._base_manager.values()
    }


def go_back_and_forth(conversation: Conversation) -> None:
    """Do what can be taken back, and take it back."""
    talk(conversation, "One", "Two", "Three", "Four")
    newest = conversation.messages.latest("seq").seq
    pins.pin_message(conversation=conversation, seq=newest)
    pins.unpin_message(conversation=conversation, seq=newest)
    attempt = condense_on_record(conversation)
    undo.undo_condensation(condensation=attempt)
    undo.redo_condensation(condensation=attempt)
    pins.pin_rule(conversation=conversation, text="Never guess.")
    forks.fork_conversation(conversation=conversation, seq=newest)
    conversations.share_conversation(conversation=conversation)
    conversations.stop_sharing(conversation=conversation)
    conversations.share_conversation(conversation=conversation)
    end(ask(conversation), status=Turn.Status.FAILED)
    end(retry(conversation), "Because.")
    answer = conversation.messages.latest("seq")
    thought = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm.", "signature": "s"})
    said = condense.Message("assistant", (thought, condense.TextBlock("Well.")))
    message_store.append_message(conversation.pk, said, tokens=5)
    end(regenerate(conversation, answer.seq), "Because it is so.")
    rewind.switch_version(rewind=conversation.rewinds.latest("created_at"))


def answer_drafts(conversation: Conversation, user: User) -> None:
    """Have two drafts wait, keep one waiting longer, and discard the other, once and for all."""
    turn = Turn.objects.create(conversation=conversation)
    kept, discarded = (draft(conversation, turn) for _ in range(2))
    summary_reviews.hold_review(review=kept, summary="Yes, but", focus="")
    another_tab = Review.objects.get(pk=discarded.pk)
    summary_reviews.answer_review(review=discarded, user=user, decision="discard")
    with pytest.raises(errors.Refused, match="decided already"):
        summary_reviews.answer_review(review=another_tab, user=user, decision="accept")


def draft(conversation: Conversation, turn: Turn) -> Review:
    """Return a draft that is about to be applied."""
    attempt = put_on_record(conversation, turn=turn, at_seq=1, status="running")
    soon = timezone.now() + timedelta(hours=1)
    return Review.objects.create(condensation=attempt, ordinal=1, shown="Yes.", applies_at=soon)


def test_what_is_done_in_one_conversation_leaves_all_others_as_they_were(
    alice: User, tmp_path: Path
) -> None:
    """Every row that was there is there, and says what it said; also where the same was done."""
    for _ in range(2):
        other = conversations.start_conversation(owner=alice)
        before = everything()
        live_through(other)
        go_back_and_forth(other)
        answer_drafts(other, alice)
        read(write(other), alice, tmp_path)
        before.pop(("chatapp.Conversation", other.pk))
        assert before.items() <= everything().items()


def test_a_file_has_only_the_chains_of_its_own_conversation(alice: User, tmp_path: Path) -> None:
    """Not one that another conversation came with."""
    conversation = conversations.start_conversation(owner=alice)
    live_through(conversation)
    copy = read(write(conversation), alice, tmp_path)
    chains = {
        one.pk: [chain["conversation"] for chain in json.loads(write(one))["chains"]]
        for one in (conversation, copy)
    }
    assert chains == {
        conversation.pk: [str(conversation.pk)],
        copy.pk: [str(conversation.pk), str(copy.pk)],
    }


def test_of_two_drafts_that_wait_only_the_one_that_is_named_is_answered(alice: User) -> None:
    """And only that one is held."""
    conversation = conversations.start_conversation(owner=alice)
    answer_drafts(conversation, alice)
    waiting = Review.objects.get(status=Review.Status.PENDING)
    assert waiting.applies_at is None
    assert Review.objects.get(status=Review.Status.DISCARDED).applies_at is not None
