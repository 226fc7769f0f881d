"""Shares and exports: links to read a conversation, the page they lead to, and files of it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.csp import CSP
from django.utils.text import slugify
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_GET

from chatapp.accounts.rate_limits import count_up
from chatapp.conversations import conversations
from chatapp.models import Conversation, Share
from chatapp.page.transcript.readable_copy import policy, write_html, write_markdown, write_page
from chatapp.project import languages
from chatapp.project.sentences import translate as _
from chatapp.records.transfer.record_export import write_record
from chatapp.web.views.common import UserRequest, download, in_conversation

# Views of one link within a minute, by all visitors.
MOST_VIEWS = 60
MINUTE = 60
# Seconds for which an unchanged page is kept.
PAGE_LIFETIME = 300
TOO_MANY = 429
# Directives against uses of the page, in addition to those for loading.
CLOSED = ("frame-ancestors", "base-uri", "form-action")
# Characters of a file's name.
LONGEST_DOWNLOAD_NAME = 60
# All that is on record, a copy to be read, and one that is a page and needs nothing else.
FORMS: dict[str, tuple[Callable[[Conversation], Any], str]] = {
    "json": (write_record, "application/json"),
    "md": (write_markdown, "text/markdown; charset=utf-8"),
    "html": (write_html, "text/html; charset=utf-8"),
}


@in_conversation("GET", "POST")
def share_conversation(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show a conversation's sharing; or share it, and show the link this once."""
    link = ""
    if request.method == "POST":
        token = conversations.share_conversation(
            conversation=conversation, tools="tools" in request.POST
        )
        link = request.build_absolute_uri(reverse("shared", args=[token]))
    share = Share.objects.filter(conversation=conversation).first()
    said = conversation.messages.in_force().written().filter(holds_results=False)
    later = said.filter(seq__gt=share.until).count() if share else 0
    context = {"conversation": conversation, "share": share, "link": link, "later": later}
    return render(request, "chat/share.html", context)


@in_conversation("POST")
def stop_sharing(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Revoke the link."""
    conversations.stop_sharing(conversation=conversation)
    messages.success(request, _("Sharing stopped. The link no longer works."))
    return redirect("share", conversation.pk)


@require_GET
@csp_override(policy() | {name: [CSP.NONE] for name in CLOSED})
def show_shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show a shared conversation to holders of its link, and nothing else."""
    # A link opens nothing once its conversation or owner is gone.
    there = Share.objects.filter(
        conversation__deleted_at=None,
        conversation__owner__is_active=True,
        conversation__owner__deletion=None,
    ).select_related("conversation")
    share = there.filter(digest=Share.digest_of(token)).first()
    if share is None:
        answer = HttpResponse(
            write_page(_("This link doesn’t work, or is no longer shared.")), status=404
        )
    elif count_up(f"shared-views-{share.digest}", MINUTE) > MOST_VIEWS:
        words = _("Too many people are opening this link. Try again in a minute.")
        answer = HttpResponse(write_page(words))
        answer.status_code, answer["Retry-After"] = TOO_MANY, str(MINUTE)
    else:
        # Kept while nothing changes: writing the page takes longer than asking if it changed.
        own, digest = share.conversation, Share.digest_of(str(share.conversation))
        who = languages.reader()
        key = f"shared-page-{share.digest}-{own.revision}-{digest}-{who.language}-{who.locale}"
        write = partial(write_html, own, until=share.until, tools=share.tools)
        answer = HttpResponse(caches["pages"].get_or_set(key, write, PAGE_LIFETIME))
    add_never_cache_headers(answer)
    answer["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    answer["Referrer-Policy"] = "no-referrer"
    return answer


@in_conversation("GET")
def export_conversation(_request: UserRequest, own: Conversation, form: str) -> HttpResponse:
    """Return the conversation as a file."""
    write, kind = FORMS[form]
    name = slugify(str(own))[:LONGEST_DOWNLOAD_NAME] or "conversation"
    return download(write(own), f"{name}.{form}", kind)
