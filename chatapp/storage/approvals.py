"""Approvals: questions to a person, stored so that they outlive this process."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from chatapp.agent import events
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import Access, Asking, Audience, ToolOutcome, ToolPolicy
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.conversations.files.checkpoints import Checkpoints
from chatapp.conversations.files.storage_use import check_room
from chatapp.conversations.toolbox import toolbox as toolboxes
from chatapp.models import Checkpoint, Conversation, Profile, Question
from chatapp.models.errors import CheckpointFailed, LimitReached, Refused
from chatapp.project.sentences import translate as _
from chatapp.storage.answers import AnswerWait, refuse_unless_same, store_answer
from chatapp.storage.partial_replies import RetriedWrites
from chatapp.tools import WorkspaceToolbox
from condense import noop

log = logging.getLogger(__name__)

DENIED = "The user does not allow this call."
GO_ON = "Do not try to reach the same in another way; go on without it, or ask."
SWITCHED_OFF = "There is no such tool in this conversation, or it is switched off."


class Approvals:
    """The ``ApprovalPort`` of one run; one question at a time is open."""

    def __init__(
        self,
        run: TurnContext,
        *,
        toolbox: WorkspaceToolbox,
        saver: RetriedWrites,
        audience: Audience,
    ) -> None:
        self.checkpoints = Checkpoints(toolbox.root)
        self._kept = 0
        self.run = run
        self.toolbox = toolbox
        self.saver = saver
        self.audience = audience
        self._answers = AnswerWait(saver)
        self.leave, self.wake = self._answers.leave, self._answers.wake

    async def permit(self, asking: Asking) -> ToolOutcome | None:
        """Return the refusal for the model, or None if the call may run.

        Before the first call of a reply that may change files, a checkpoint keeps their contents.
        """
        refused, name = await self._refusal(asking), asking.call.name
        if refused is None and (reason := await self.saver.read(self._why_not, name)):
            return ToolOutcome(reason, is_error=True)
        if refused is None and self.toolbox.access(name) in toolboxes.CHANGES_FILES:
            try:
                await self.saver.read(check_room, self.run.conversation.owner)
            except LimitReached as reason:
                return ToolOutcome(f"{reason}\n{GO_ON}", is_error=True)
            await self._keep_files(asking.seq)
        return refused

    async def _refusal(self, asking: Asking) -> ToolOutcome | None:
        name = asking.call.name
        if self.toolbox.policy(name) is ToolPolicy.ALLOW:
            return None
        # The tool may have been allowed for good, or switched off, since the turn began.
        policy = await self.saver.read(self._policy_now, name)
        if policy is ToolPolicy.ALLOW:
            return None
        if policy is ToolPolicy.DENY:
            return ToolOutcome(SWITCHED_OFF, is_error=True)
        try:
            shown = await self.toolbox.preview(name, asking.call.input)
        except ToolError as error:
            # The tool could not run anyway.
            return ToolOutcome(str(error), is_error=True)
        question = await self._wait(asking, kind=Question.Kind.PERMISSION, shown=shown)
        if question.status == Question.Status.ALLOWED:
            return None
        reason = f" They say: {question.answer}" if question.answer else ""
        return ToolOutcome(f"{DENIED}{reason}\n{GO_ON}", is_error=True, user_words=question.answer)

    async def _keep_files(self, seq: int) -> None:
        if self._kept == seq or not self.checkpoints.are_possible():
            return
        try:
            name = await asyncio.to_thread(self.checkpoints.take)
        except CheckpointFailed:
            log.warning("the files could not be kept before they are changed", exc_info=True)
            return
        self._kept = seq
        await self.saver.save(self._note_files, seq, name)

    def _note_files(self, seq: int, name: str) -> None:
        with self.run.turn.holding():
            Checkpoint.objects.get_or_create(turn=self.run.turn, seq=seq, defaults={"name": name})

    async def ask(self, asking: Asking, question: str, answers: Sequence[str]) -> str:
        """Return a person's answer; raise LeftWaiting when this process stops waiting for it."""
        asked = {"kind": Question.Kind.ANSWER, "text": question, "suggestions": [*answers]}
        said: str = (await self._wait(asking, **asked)).answer
        return said

    def _why_not(self, name: str) -> str:
        """Return the reason that forbids a tool, "" for an allowed one."""
        # Turns are long, and people may be asked for days: operators decide meanwhile.
        begun = self.run.conversation
        own = Profile(owner=User.objects.get(pk=begun.owner_id))
        conversation = Conversation(pk=begun.pk, owner=own.owner, workspace=begun.workspace)
        if self.toolbox.access(name) is not Access.READ:
            denied = toolboxes.policies_of(conversation, own).get(name) is ToolPolicy.DENY
            if denied or name not in toolboxes.specs_for(own.mcp_servers):
                return SWITCHED_OFF
        try:
            if self.toolbox.uses_folder(name):
                toolboxes.workspace_of(conversation)
        except Refused as reason:
            return f"{reason}\n{GO_ON}"
        return ""

    def _policy_now(self, name: str) -> ToolPolicy:
        conversation = Conversation.objects.get(pk=self.run.conversation.pk)
        return toolboxes.policy_of(name, conversation, self.run.profile)

    async def _wait(self, asking: Asking, **columns: Any) -> Question:
        question = await self._answers.wait(
            partial(self._open, asking, columns),
            asked=lambda _question: events.PersonAsked(asking.call.id),
            stays=noop("The server is being stopped. The question stays."),
        )
        self.audience.publish(events.PersonAnswered(asking.call.id))
        return question

    def _open(self, asking: Asking, columns: Mapping[str, Any]) -> Question:
        """Return the question about a call, which may have been asked before a restart."""
        with transaction.atomic():
            self.run.turn.wait()
            question, _made = Question.objects.get_or_create(
                turn=self.run.turn,
                seq=asking.seq,
                place=asking.place,
                defaults={"tool": asking.call.name, **columns},
            )
        return question


# Characters of a reason or an answer.
LONGEST_ANSWER = 10_000

ONCE, ALWAYS, DENY, ANSWER = "once", "always", "deny", "answer"
_BECOMES = {
    ONCE: Question.Status.ALLOWED,
    ALWAYS: Question.Status.ALLOWED,
    DENY: Question.Status.DENIED,
    ANSWER: Question.Status.ANSWERED,
}


def answer_question(
    *,
    question: Question,
    decision: str,
    words: str = "",
) -> None:
    """Store a person's decision; raise Refused after another one, or if nobody waits for it.

    The decision is "once", "always" (in this conversation), "deny" for a reason in ``words``, or
    "answer". Repeating it changes nothing. A turn that waits without a process is enqueued, in the
    same transaction.
    """
    status, wants_words = _BECOMES.get(decision), question.kind == Question.Kind.ANSWER
    if status is None or (status == Question.Status.ANSWERED) != wants_words:
        raise Refused(_("That answer doesn't fit the question. Reload the page."))
    if decision == ANSWER and not words.strip():
        raise Refused(_("There is no answer yet. Choose one or type it first."))
    if len(words) > LONGEST_ANSWER:
        raise Refused(_("This answer is too long. Send it as a message instead."))
    with transaction.atomic():
        asked = Question.objects.pending().filter(pk=question.pk)
        said = {"status": status, "answer": words.strip()}
        if store_answer(asked, question.turn, **said):
            if decision == ALWAYS:
                conversation = Conversation.objects.get(pk=question.turn.conversation_id)
                conversation.tool_policies |= {question.tool: ToolPolicy.ALLOW.value}
                conversation.save(update_fields=["tool_policies"])
            return
    nobody_waits = _("Nobody waits for this any more: the turn was stopped.")
    refuse_unless_same(question, {status}, nobody_waits=nobody_waits)
