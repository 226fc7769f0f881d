"""What a person says to a question: decided once, whoever asks how often and from which tab."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.agent.toolbox import Policy
from chatapp.models import Conversation, Question
from chatapp.services.errors import Refused

# Characters of a reason or an answer.
LONGEST_ANSWER = 10_000

ONCE, ALWAYS, DENY, ANSWER = "once", "always", "deny", "answer"
_BECOMES = {
    ONCE: Question.Status.ALLOWED,
    ALWAYS: Question.Status.ALLOWED,
    DENY: Question.Status.DENIED,
    ANSWER: Question.Status.ANSWERED,
}


def answer_question(*, question: Question, decision: str, words: str = "") -> None:
    """Store what a person said; refused where something else was said before, or nobody asks.

    The decision is "once", "always" (in this conversation), "deny" for a reason in ``words``, or
    "answer". The same once more does no harm.
    """
    status = _BECOMES.get(decision)
    if status is None or (status == Question.Status.ANSWERED) != _wants_words(question):
        raise Refused(_("This is no answer to what was asked. Reload the page."))
    if decision == ANSWER and not words.strip():
        raise Refused(_("There is no answer yet. Choose one or type it first."))
    if len(words) > LONGEST_ANSWER:
        raise Refused(_("This answer is too long. Put it into a message of its own."))
    with transaction.atomic():
        asked = Question.objects.pending().filter(pk=question.pk)
        changed = asked.change(status=status, answer=words.strip(), answered_at=timezone.now())
        if changed and decision == ALWAYS:
            _allow_always(question)
    if not changed:
        _refuse_unless_same(question, status)


def _wants_words(question: Question) -> bool:
    return question.kind == Question.Kind.ANSWER


def _allow_always(question: Question) -> None:
    conversation = Conversation.objects.select_for_update().get(pk=question.turn.conversation_id)
    conversation.tool_policies = {**conversation.tool_policies, question.tool: Policy.ALLOW.value}
    conversation.save(update_fields=["tool_policies"])


def _refuse_unless_same(question: Question, status: Question.Status) -> None:
    question.refresh_from_db(fields=["status"])
    if question.status in {Question.Status.PENDING, Question.Status.WITHDRAWN}:
        raise Refused(_("Nobody waits for this any more: the turn was stopped."))
    if question.status != status:
        raise Refused(_("This was decided already, in another tab."))
