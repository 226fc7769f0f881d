"""What people say to the agent's questions, and which tools they let run in a conversation."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chatapp import services
from chatapp.forms import PoliciesForm
from chatapp.live import turns
from chatapp.models import Conversation, Question
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
    services.answer_question(
        question=question,
        decision=services.ANSWER if suggestion else request.POST.get("decision", ""),
        words=suggestion or request.POST.get("words", ""),
    )
    turns.announce_answer(pk)
    return done(request, event=ANSWERED, to=reverse("chat", args=[pk]))


@require_http_methods(["GET", "POST"])
@signed_in
def show_policies(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Show which tools may run in a conversation, and change that."""
    conversation = own_conversation(request, pk)
    inherited = conversation.profile.tool_policies if conversation.profile else {}
    sent = request.POST if request.method == "POST" else None
    form = PoliciesForm(sent, decided=conversation.tool_policies, inherited=inherited)
    if sent is None:
        context = {"conversation": conversation, "form": form}
        return render(request, "chat/policies.html", context)
    if not form.is_valid():
        return refuse(request, _("There is no such choice for a tool."))
    Conversation.objects.filter(pk=pk).update(tool_policies=form.policies())
    messages.success(request, _("From the next turn on, the tools may run as you chose."))
    return redirect("chat", pk)
