"""Authentication by tokens, the rows that their owners may reach, and refusals as JSON."""

import logging
import uuid
from typing import Any, cast, override

from django.contrib.auth.models import User
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError
from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_noop
from ninja import NinjaAPI, Path
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.operation import Operation
from ninja.parser import Parser
from ninja.security import HttpBearer

import condense
from chatapp.accounts import credentials
from chatapp.accounts.rate_limits import GuessLimit, count_request
from chatapp.models import ApiToken, Conversation, errors
from chatapp.project import logs
from chatapp.project.languages import in_words, reader_of
from chatapp.project.sentences import translate as _
from chatapp.turns import actions

log = logging.getLogger(__name__)

# Methods that only read; all others take a token that may write.
READING = frozenset({"GET", "HEAD", "OPTIONS"})
# The most mistakes that one refusal names.
MOST_MISTAKES = 5

NO_TOKEN = gettext_noop("Send a valid token: “Authorization: Bearer …”.")
# Sentences on a wrong value, by Pydantic's name of the mistake or the first word of that name.
NOT_AS_EXPECTED = gettext_noop("it is not what it has to be")
MISTAKES = {
    "missing": gettext_noop("it is missing"),
    "extra": gettext_noop("it can't be set here"),
    "int": gettext_noop("it has to be a whole number"),
    "bool": gettext_noop("it has to be true or false"),
    "string": gettext_noop("it has to be a text"),
    "uuid": gettext_noop("it has to be a UUID"),
    "list": gettext_noop("it has to be a list"),
    "literal_error": gettext_noop("it has to be one of these: {expected}"),
    "less_than_equal": gettext_noop("it can be {le:,} at most"),
    "greater_than_equal": gettext_noop("it has to be {ge:,} at least"),
    "string_too_long": (too_long := gettext_noop("its length can be {max_length:,} at most")),
    "too_long": too_long,
}

# The conversation's id, which stands in the address before a router's own part.
Pk = Path[uuid.UUID]


class ApiRequest(HttpRequest):
    """A request with its user in ``auth`` and the number of its API ``token``."""

    auth: User
    token: int


class Bearer(HttpBearer):
    """Admits holders of a token, never cookies; requests that write need one of ``scopes``."""

    def __init__(self, *scopes: ApiToken.Scope) -> None:
        super().__init__()
        self.scopes = scopes

    @override
    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """Return the user of a token, None if it is not valid."""
        found = credentials.holder_of_api_token(token=token.strip())
        if found is None:
            # No number of guesses finds a token, so a valid one is let in even after wrong ones.
            if not GuessLimit(request, realm="api").take():
                raise HttpError(429, _("Too many tokens were wrong. Try again in 15 minutes."))
            return None
        cast("ApiRequest", request).token = found.pk
        logs.note(user=found.owner.pk)
        reader_of(request, found.owner).enter()
        gateway = ApiToken.Scope.GATEWAY
        if found.scope == gateway and gateway not in self.scopes:
            raise HttpError(403, _("This token only opens the gateway."))
        scopes = ApiToken.Scope if request.method in READING else self.scopes
        if found.scope not in scopes:
            if found.scope == ApiToken.Scope.READ:
                raise HttpError(403, _("This token may only read."))
            raise HttpError(403, _("This token may not change settings."))
        count_request(found.owner)
        return found.owner


# Admits tokens that may change their owner's settings.
keepers = Bearer(ApiToken.Scope.ALL)


class WellFormedParser(Parser):
    """Reads bodies; characters that no database stores, such as half a surrogate, are replaced."""

    @override
    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body's object, with all its texts well-formed; raise ValueError for others."""
        body = self.parse_any(request)
        if not isinstance(body, dict):
            # The attributes of any other value would be read: a text has a title.
            raise ValueError("no object")
        return body

    def parse_any(self, request: HttpRequest) -> Any:
        """Return a body's JSON, with all its texts well-formed.

        Raises ValueError for other texts, and RecursionError for JSON that is too deep.
        """
        return condense.well_formed_json(super().parse_body(request))


class Api(NinjaAPI):
    """The API; operation ids in its description are the names of the views."""

    @override
    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


api = Api(
    title="Palimpsest",
    version="1",
    description="Conversations, what the model sees of them, and the record of every change.",
    auth=Bearer(ApiToken.Scope.WRITE, ApiToken.Scope.ALL),
    docs_url=None,
    openapi_url=None,
    parser=WellFormedParser(),
)


def present(call: ApiRequest) -> QuerySet[Conversation]:
    """Return the requesting user's conversations, except deleted ones."""
    return Conversation.objects.owned_by(call.auth).present()


def own_conversation(call: ApiRequest, pk: uuid.UUID) -> Conversation:
    """Return the requesting user's conversation; raise Http404 for a deleted or foreign one."""
    return get_object_or_404(present(call), pk=pk)


def resting_conversation(call: ApiRequest, pk: uuid.UUID) -> Conversation:
    """Return the user's conversation, after ending its turns that no process runs any more."""
    conversation = own_conversation(call, pk)
    actions.close_left_over(conversation)
    return conversation


def refusal(request: HttpRequest, status: int, sentence: str) -> HttpResponse:
    """Return a refusal."""
    return api.create_response(request, {"detail": sentence}, status=status)


@api.exception_handler(AuthenticationError)
def answer_stranger(request: HttpRequest, _error: Any) -> HttpResponse:
    """Return the refusal of a request without a valid token."""
    answer = refusal(request, 401, _(NO_TOKEN))
    answer["WWW-Authenticate"] = "Bearer"
    return answer


@api.exception_handler(HttpError)
def answer_refusal(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the refusal that a view raised, or the framework for a body that it can't read."""
    said = _("The request's body has to be a JSON object.") if error.__cause__ else str(error)
    return refusal(request, error.status_code, said)


@api.exception_handler(Http404)
@api.exception_handler(Exception)
def answer_failure(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the reason of a refusal; for a failure of the server, the request's id in its log."""
    match error:
        case Http404():
            # Missing rows and other users' rows get the same answer.
            return refusal(request, 404, _("Nothing here belongs to you."))
        case errors.LimitReached():
            answer = refusal(request, error.status, in_words(str(error)))
            answer["Retry-After"] = error.retry_after
            return answer
        case errors.Refused():
            return refusal(request, 409, in_words(str(error)))
        case MultiPartParserError() | SuspiciousOperation():
            status = 413 if isinstance(error, RequestDataTooBig) else 400
            return refusal(request, status, _("This request can't be read, or is too large."))
        case DatabaseError() if errors.is_unwritable(error) and request.method not in READING:
            return refusal(request, 409, in_words(str(errors.not_saved(error))))
    log.error("the API failed at %s", request.path, exc_info=error)
    id_ = logs.request_id()
    words = _("The server failed to answer this. Its log says why, at request {id}.", id=id_)
    return refusal(request, 500, in_words(errors.why_unread(error)) or words)


@api.exception_handler(ValidationError)
def answer_mistakes(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the refusal of invalid values, with their names."""
    mistakes = [_mistake(one) for one in error.errors[:MOST_MISTAKES]]
    said = _("A value can't be read.", "Values can't be read.", count=len(mistakes))
    return refusal(request, 422, " ".join((said, "; ".join(mistakes))))


def _mistake(error: dict[str, Any]) -> str:
    kind = error["type"]
    template = MISTAKES.get(kind) or MISTAKES.get(kind.partition("_")[0], NOT_AS_EXPECTED)
    # Pydantic lists the expected values in English.
    said = _(template, **error.get("ctx", {})).replace("' or '", "', '")
    # A body stands in the place of the view's argument for it.
    kind, *places = error["loc"]
    names = places[1:] or [kind] if kind == "body" else places
    return f"{'.'.join(map(str, names))}: {said}"


def refuse(form: BaseForm) -> HttpError:
    """Return a form's mistakes as an error."""
    mistakes = [f"{name}: {' '.join(map(str, said))}" for name, said in form.errors.items()][
        :MOST_MISTAKES
    ]
    return HttpError(422, "; ".join(mistakes))
