"""Versions of a message or an answer: what was there is set aside, and can be shown again."""

from django.utils.translation import gettext as _

from chatapp.errors import Refused
from chatapp.models import Conversation, Message, Rewind, hidden_messages
from chatapp.models.versions import read_versions


def set_message_aside(conversation: Conversation, seq: int) -> None:
    """Make room for an edit of a message of the user that is part of the conversation."""
    if not conversation.messages.questions().in_force().filter(seq=seq).exists():
        raise Refused(_("This message can't be edited any more. Reload the page."))
    known = read_versions(conversation.pk).items()
    edited = Rewind.Cause.EDITED
    roots = (root for (cause, root), one in known if cause == edited and one.starts_at(seq))
    _set_aside(conversation, edited, root_seq=next(roots, seq), first_seq=seq)


def set_answer_aside(conversation: Conversation, seq: int) -> int:
    """Make room for another answer instead of the one that ``seq`` is part of.

    Returns the seq of the question.
    """
    present = conversation.messages.in_force()
    answers = present.written().filter(role=Message.Role.ASSISTANT)
    answer = answers.select_related("turn").filter(seq=seq).first()
    question_seq = answer and _question_of(answer)
    if not question_seq:
        raise Refused(_("This answer can't be asked for again. Reload the page."))
    first = answers.filter(seq__gt=question_seq).earliest("seq")
    cause = Rewind.Cause.REGENERATED
    _set_aside(conversation, cause, root_seq=question_seq, first_seq=first.seq)
    return question_seq


def _question_of(answer: Message) -> int:
    """Return the seq of the message that an answer is for, 0 where there is none."""
    if answer.turn:
        return answer.turn.question_seq
    present = Message.objects.filter(conversation=answer.conversation_id).in_force()
    question = present.questions().filter(seq__lt=answer.seq).newest()
    return question.seq if question else 0


def _set_aside(
    conversation: Conversation, cause: Rewind.Cause, *, root_seq: int, first_seq: int
) -> None:
    """Rewind the version that is shown, which begins at ``first_seq`` where it is the only one."""
    versions = read_versions(conversation.pk).get((cause, root_seq))
    hidden_messages.rewind(
        conversation.pk,
        to_seq=versions.start if versions else first_seq,
        cause=cause,
        root_seq=root_seq,
        version=versions.shown if versions else 1,
    )


def is_shown(rewind: Rewind) -> bool:
    """Whether the version that a rewind set aside is part of the conversation again."""
    versions = read_versions(rewind.conversation_id).get((rewind.cause, rewind.root_seq or 0))
    was_undone = rewind.undone_at is not None
    return was_undone and versions is not None and versions.shown == rewind.version


def show_version(conversation: Conversation, rewind: Rewind) -> None:
    """Go to the version that a rewind set aside: the model goes on from there."""
    versions = read_versions(conversation.pk).get((rewind.cause, rewind.root_seq or 0))
    in_force = rewind.undone_at is None and rewind.rewind_parent is None
    if versions is None or not in_force:
        raise Refused(_("This version can't be shown from here any more. Reload the page."))
    hidden_messages.rewind(
        conversation.pk,
        to_seq=versions.start,
        cause=rewind.cause,
        root_seq=rewind.root_seq,
        version=versions.shown,
        brings_back=rewind,
    )
    hidden_messages.undo_rewind(rewind)
