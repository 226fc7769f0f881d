"""Sessions: the conversation that a request belongs to."""

from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils import timezone

from chatapp.accounts.accounts import preferences_of
from chatapp.gateway import naming
from chatapp.gateway.bodies import read_body
from chatapp.gateway.dialects import Told
from chatapp.gateway.requests import Request
from chatapp.gateway.rewrites import Rewriter
from chatapp.models import ClientConversation, Conversation, HistoryLink
from chatapp.models.database import insert, lock
from chatapp.storage.request_reader import RequestReader

# Digests that are looked for in one query, beginning with the longest history.
AT_ONCE = 50


@transaction.atomic
def find_conversation(request: Request) -> tuple[Conversation, bool]:
    """Return the conversation of a request, and True if it is new.

    A name decides, then what is stored of the history. Within a session, a request of another kind
    is a conversation beside it.
    """
    # Two requests of one session come at once.
    lock(User, request.owner.pk)
    known = _of_session(request, request.name.session)
    if found := _with_history(known, request):
        return found, False
    there = known.filter(parent=None) if request.name.session else ()
    main = next((one.conversation for one in there), None)
    if main is not None and _is_alike(main, request):
        return main, False
    above = None if main else _of_session(request, request.name.parent).filter(parent=None).first()
    made = _begin(request, above.conversation if above and request.name.parent else main)
    if main and request.told.tools and not _head_of(main, request).tools:
        # The first request was for a title, or only tried whether somebody answers.
        _put_beside(main, made)
        _put_beside(made, None)
    return made, True


def counted(request: Request) -> bytes:
    """Return a request as it would go out now; nothing is stored."""
    talk = _with_history(_of_session(request, request.name.session), request)
    made = Rewriter(request, talk).rewrite() if talk else None
    parts = b",".join([part for part, _number in made.parts]) if made else b""
    return request.body.head + parts + request.body.tail if made else request.raw


def _of_session(request: Request, session: str) -> "models.QuerySet[ClientConversation]":
    return ClientConversation.objects.of(request.owner, request.dialect.name, session)


def _with_history(
    known: "models.QuerySet[ClientConversation]", request: Request
) -> Conversation | None:
    """Return the conversation that has the longest beginning of a history.

    A question alone may be anybody's: its request has to be alike, and nameless has to come first.
    """
    entries = [one for one in request.history.entries if not one.is_told]
    answered = next((n for n, one in enumerate(entries) if one.role == "assistant"), len(entries))
    rows = HistoryLink.objects.filter(message__conversation__client__in=known.values("pk"))
    rows = rows.select_related("message__conversation")
    for end in range(len(entries), 0, -AT_ONCE):
        part = [one.digest for one in entries[max(0, end - AT_ONCE) : end]]
        found = rows.filter(digest__in=part).order_by("message__conversation__updated_at")
        by = {bytes(one.digest): one for one in found}
        for place, digest in reversed([*enumerate(part, end - len(part))]):
            if link := by.get(digest):
                talk = link.message.conversation
                waits = talk.last_seq == link.message.seq
                waits = waits and not talk.calls.filter(status="running").exists()
                is_own = (request.name.session or waits) and _is_alike(talk, request)
                return talk if place >= answered or is_own else None
    return None


def _head_of(conversation: Conversation, request: Request) -> Told:
    """Return the facts of a conversation's newest request, without its history."""
    call = conversation.calls.filter(manifest__isnull=False).order_by("-pk").first()
    if call is None:
        return Told(())
    parts = RequestReader(conversation.pk).parts(call.manifest)
    return request.dialect.read(read_body(parts.head + parts.tail, "").value)


def _is_alike(conversation: Conversation, request: Request) -> bool:
    return naming.are_alike(_head_of(conversation, request), request.told)


def _begin(request: Request, parent: Conversation | None) -> Conversation:
    made: Conversation = insert(Conversation(owner=request.owner, profile=request.profile))
    columns = {"program": request.program, "session": request.name.session}
    insert(ClientConversation(conversation=made, dialect=request.dialect.name, **columns))
    _put_beside(made, parent)
    return made


def _put_beside(conversation: Conversation, parent: Conversation | None) -> None:
    """Make a conversation a side request of another, in the archive, or one of its own."""
    ClientConversation.objects.filter(pk=conversation.pk).update(parent=parent)
    at = timezone.now() if parent else None
    Conversation.objects.filter(pk=conversation.pk).update(archived_at=at)


@transaction.atomic
def continue_here(*, conversation: Conversation) -> None:
    """Let a conversation of another program go on here; its next request begins another one."""
    lock(Conversation, conversation.pk)
    ClientConversation.objects.open().filter(pk=conversation.pk).update(is_open=False)
    HistoryLink.objects.filter(message__conversation=conversation).delete()
    # It was signed behind that program's prompt.
    conversation.messages.all().stop_sending_thinking()
    if conversation.profile is None:
        default = preferences_of(conversation.owner).default_profile
        Conversation.objects.filter(pk=conversation.pk).update(profile=default)
