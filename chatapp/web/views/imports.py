"""Imports: a conversation made from files, and the report of the unused parts."""

import uuid
import zipfile
from pathlib import Path

from django.contrib import messages
from django.core.files.storage import FileSystemStorage
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django_htmx.http import HttpResponseClientRedirect

from chatapp.conversations import pins
from chatapp.conversations.composer import attachments
from chatapp.models import Conversation, ImportRun, Source, errors
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.records import importers
from chatapp.records.transfer import import_jobs
from chatapp.web.views.common import (
    UserRequest,
    in_conversation,
    limited_upload,
    signed_in,
    wants_page,
)

# Files of a task's folder, and bytes of all that is sent.
MOST_FILES = 20
MOST_BYTES = 250 * 1024 * 1024
# Characters, each of up to four bytes, that a file system takes of a name, and some that it adds.
LONGEST_UPLOAD_NAME = 60


def _too_much() -> str:
    return _(
        "That is too much: {files:,} files and {size:,} MB can be imported at once.",
        files=MOST_FILES,
        size=MOST_BYTES >> 20,
    )


@limited_upload(lambda: (MOST_BYTES, _too_much()))
@signed_in("GET", "POST")
def import_conversation(request: UserRequest) -> HttpResponse:
    """Show the formats that can be imported, or start to import the uploaded files."""
    if request.method == "POST":
        return redirect("import_job", _begin(request).pk)
    if running := import_jobs.find_running(request.user):
        return redirect("import_job", running.pk)
    found = [importers.load_importer(one) for one in importers.list_formats()]
    found.sort(key=lambda one: (not hasattr(one, "read_chat"), one.LABEL))
    formats = [(in_words(one.LABEL), getattr(one, "WHERE", "")) for one in found]
    return render(request, "imports/page.html", {"formats": formats, "most": MOST_BYTES >> 20})


def _begin(request: UserRequest) -> ImportRun:
    sent = request.FILES.getlist("files")
    if not sent:
        raise errors.Refused(_("Choose a file first."))
    if len(sent) > MOST_FILES or sum(file.size or 0 for file in sent) > MOST_BYTES:
        raise errors.Refused(_too_much())
    names = [attachments.clean_name(file.name or "") for file in sent]
    run = import_jobs.begin_import(owner=request.user)
    try:
        # Two of the same name are no files of one folder, and both are kept apart to say so.
        for name, file in zip(names, sent, strict=True):
            FileSystemStorage(run.folder).save(
                name[-LONGEST_UPLOAD_NAME:].lstrip(".") or "file", file
            )
        if (form := importers.recognise(run.path)) is None:
            raise errors.Refused(_why_unknown(run.path))
        import_jobs.start_import(run, form=form, name=names[0])
    except BaseException:
        import_jobs.drop(run)
        raise
    return run


def _why_unknown(path: Path) -> str:
    if path.is_dir():
        return _("These files don't belong together. Import them one by one.")
    if zipfile.is_zipfile(path):
        return _("Nothing in this ZIP can be imported. Unpack it and choose a file.")
    return str(importers.UNKNOWN_FORMAT)


@signed_in("GET")
def show_import(request: UserRequest, job_pk: uuid.UUID) -> HttpResponse:
    """Show the progress of an import; once it is over, redirect to its one conversation."""
    run = import_jobs.find_import(job_pk, request.user)
    whole = wants_page(request)
    imported = run.imported if run else 0
    found, earlier = Source.objects.none(), 0
    if run and run.finished_at:
        mine = Source.objects.filter(conversation__owner=request.user)
        there = mine.filter(conversation__deleted_at=None, digest=run.digest)
        found = there.filter(run=run).select_related("conversation")
        earlier = there.count() - found.count()
        whole_file = imported == 1 and not (run.unused or run.refusal)
        if whole_file and (source := found.first()):
            place = _open(request, source, earlier)
            return place if whole else HttpResponseClientRedirect(place.url)
    template = "imports/job.html" if whole else "imports/_progress.html"
    sources = found.order_by("-conversation__updated_at")
    context = {"job": run, "job_pk": job_pk, "imported": imported}
    return render(request, template, {**context, "sources": sources, "earlier": earlier})


def _open(request: UserRequest, source: Source, earlier: int) -> HttpResponseRedirect:
    """Open the conversation of a file, or first its report if it has rules or a system prompt."""
    if source.conversation.system_prompt or pins.claimed_rules(source.conversation):
        return redirect("source", source.pk)
    told = {"source": source, "earlier": earlier}
    messages.info(request, render_to_string("imports/_toast.html", told))
    return redirect("chat", source.pk)


@in_conversation("GET")
def show_source(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the source of a conversation, and the parts that could not be used."""
    source = get_object_or_404(Source, conversation=conversation)
    if source.form not in importers.list_formats():
        raise Http404
    context = {
        "conversation": conversation,
        "source": source,
        "label": in_words(importers.load_importer(source.form).LABEL),
        "claimed": pins.claimed_rules(conversation),
    }
    return render(request, "imports/source.html", context)
