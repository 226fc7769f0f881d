"""What people say to the agent: answers to its questions, and what holds in a conversation."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chatapp import approvals
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.context.turn_context import PROJECT_FILE, system_of
from chatapp.conversations import conversations
from chatapp.forms.conversations import BudgetForm, PoliciesForm, SystemPromptForm
from chatapp.models import McpServer, Question
from chatapp.toolbox.toolbox import specs_for
from chatapp.turns import actions
from chatapp.views.common import Request, done, own_conversation, refuse, signed_in

ANSWERED = "question-answered"


@require_POST
@signed_in
def answer_question(request: Request, pk: uuid.UUID, question_pk: int) -> HttpResponse:
    """Let a tool run, or not, or tell the model what it asked; the turn goes on at once."""
    conversation = own_conversation(request, pk)
    question = get_object_or_404(
        Question.objects.select_related("turn"), pk=question_pk, turn__conversation=conversation
    )
    suggestion = request.POST.get("suggestion", "")
    approvals.answer_question(
        question=question,
        decision=approvals.ANSWER if suggestion else request.POST.get("decision", ""),
        words=suggestion or request.POST.get("words", ""),
    )
    actions.announce_answer(pk)
    return done(request, event=ANSWERED, to=reverse("chat", args=[pk]))


@require_http_methods(["GET", "POST"])
@signed_in
def show_policies(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Show which tools may run in a conversation and what the model is told, and change that."""
    conversation = own_conversation(request, pk)
    profile = conversation.profile
    sent = request.POST if request.method == "POST" else None
    own = McpServer.objects.in_use_by(request.user.pk)
    form = PoliciesForm(
        sent,
        specs=specs_for([*own]).values(),
        decided=conversation.tool_policies,
        inherited=profile.tool_policies if profile else {},
    )
    inherited = (profile.system_prompt if profile else "") or SYSTEM_PROMPT
    prompt = SystemPromptForm(sent, own=conversation.system_prompt, inherited=inherited)
    budget = BudgetForm(sent, instance=conversation)
    if sent is None:
        context = {
            "conversation": conversation,
            "form": form,
            "prompt": prompt,
            "budget": budget,
            "effective": system_of(conversation, profile) if profile else "",
            "project_file": PROJECT_FILE,
        }
        return render(request, "chat/policies.html", context)
    if not form.is_valid():
        return refuse(request, _("There is no such choice for a tool."))
    if not prompt.is_valid():
        return refuse(request, _("This system prompt is too long."))
    if not budget.is_valid():
        return refuse(request, _("A budget is an amount of at least $0.01, or empty."))
    conversations.decide(
        conversation=conversation,
        policies=form.policies(),
        system=prompt.prompt(),
        budget=budget.cleaned_data["budget"],
    )
    actions.announce_change(pk)
    messages.success(request, _("What you chose holds from the next turn on."))
    return redirect("chat", pk)
