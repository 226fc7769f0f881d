"""Questions to a person: tool approvals and summary reviews; a conversation's policies."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.condensing import summary_reviews
from chatapp.conversations import conversations
from chatapp.conversations.context.turn_context import PROJECT_FILE, terms_with
from chatapp.conversations.files import workspaces
from chatapp.models import Conversation, Profile, Question, Review, errors
from chatapp.models.accounts import preferences_of
from chatapp.page.transcript import summary_proposal
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.turns import actions
from chatapp.web.forms import KEPT
from chatapp.web.forms.conversations import ConversationForm, PoliciesForm, SystemPromptForm
from chatapp.web.views.common import REFUSED_STATUS, UserRequest, done, in_conversation


@in_conversation("POST")
def answer_question(request: UserRequest, own: Conversation, question_pk: int) -> HttpResponse:
    """Allow or deny a tool, or send the model an answer; the turn goes on at once."""
    questions = Question.objects.select_related("turn")
    suggestion = request.POST.get("suggestion", "")
    actions.answer_question(
        get_object_or_404(questions, pk=question_pk, turn__conversation=own),
        "answer" if suggestion else request.POST.get("decision", ""),
        suggestion or request.POST.get("words", ""),
    )
    return done(request, event="question-answered", to=reverse("chat", args=[own.pk]))


@in_conversation("POST")
def answer_review(request: UserRequest, own: Conversation, review_pk: int) -> HttpResponse:
    """Apply a summary, as it is or changed, have it written again, or discard it."""
    summary_reviews.answer_review(
        review=_own_review(own, review_pk),
        user=request.user,
        decision=request.POST.get("decision", ""),
        summary=request.POST.get("summary", ""),
        focus=request.POST.get("focus", ""),
        edits="edit" in request.POST,
    )
    actions.announce_answer(own.pk)
    return done(request, event="review-answered", to=reverse("chat", args=[own.pk]))


@in_conversation("GET", "POST")
def show_figures(request: UserRequest, own: Conversation, review_pk: int) -> HttpResponse:
    """Show the context's size with a review's summary, and the facts that this keeps.

    The request holds the review, so that it does not apply by itself any more, and keeps the typed
    text. After the answer it returns nothing: the page may ask once more by then. GET gives the
    summary with its sentences without a source marked, which may take seconds.
    """
    review = _own_review(own, review_pk)
    if review.status != Review.Status.PENDING:
        return HttpResponse(status=204)
    if request.method == "GET":
        row = {"reads": summary_proposal.read_marked(review)}
        return render(request, "chat/_review_marked.html", {"row": row})
    summary, focus = (request.POST.get(name, "") for name in ("summary", "focus"))
    if summary_reviews.hold_review(review=review, summary=summary, focus=focus):
        actions.announce_answer(own.pk)
        actions.announce_change(own.pk)
    figures = summary_proposal.read_figures(review, summary, edits="edit" in request.POST)
    context = {"figures": figures, "focus": review.condensation.focus, "is_held": True}
    context["review"] = review
    return render(request, "chat/_review_figures.html", context)


def _own_review(own: Conversation, pk: int) -> Review:
    reviews = Review.objects.select_related("condensation__conversation")
    return get_object_or_404(reviews, pk=pk, condensation__conversation=own)


@in_conversation("GET", "POST")
def show_policies(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show and change a conversation's tool policies, system prompt, settings and folder."""
    profile = conversation.profile
    sent = request.POST if request.method == "POST" else None
    form = PoliciesForm(
        sent,
        profile=profile or Profile(owner=request.user),
        decided=conversation.tool_policies,
        inherited=profile.tool_policies if profile else {},
    )
    inherited = (profile.system_prompt if profile else "") or SYSTEM_PROMPT
    prompt = SystemPromptForm(sent, own=conversation.system_prompt, inherited=inherited)
    recalls = preferences_of(request.user).auto_recall
    own = ConversationForm(sent, instance=conversation, recalls=recalls)
    typed = {} if "workspace" in request.POST.getlist(KEPT) else request.POST
    folder = typed.get("workspace", conversation.workspace).strip().strip("/")
    if sent is not None and all(one.is_valid() for one in (form, prompt, own)):
        try:
            workspaces.choose_workspace(conversation=conversation, folder=folder)
        except errors.Refused as refusal:
            prompt.add_error(None, in_words(str(refusal)))
        else:
            conversations.change_settings(
                conversation=conversation,
                tool_policies=form.policies(),
                system_prompt=prompt.prompt(),
                **own.cleaned_data,
            )
            actions.announce_change(conversation.pk)
            messages.success(request, _("Saved. It takes effect with the next turn."))
            return redirect("chat", conversation.pk)
    context = {
        "conversation": conversation,
        "form": form,
        "prompt": prompt,
        "own": own,
        "workspace": folder,
        "effective": terms_with(conversation, profile).system if profile else "",
        "project_file": PROJECT_FILE,
    }
    return render(
        request, "chat/policies.html", context, status=200 if sent is None else REFUSED_STATUS
    )
