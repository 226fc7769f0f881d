"""Languages: the reader's language, and the locale of its numbers, money and lists.

Background tasks, and therefore stored texts, use English. ``in_words`` says stored sentences
in the reader's language.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from babel import Locale
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

import condense
from chatapp.project.sentences import fill_in, first_known, in_a_row, reader_locale

GetResponse = Callable[[HttpRequest], HttpResponseBase]

# The catalogues' context of sentences that are stored.
STORED = "stored"
# Languages of a browser that are read: nobody speaks more.
MOST_ACCEPTED = 10
# The name of each language in itself.
NAMES = {
    code: str(Locale.parse(code, sep="-").get_display_name()) for code, _name in settings.LANGUAGES
}


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader: the language of the page, and the locale of its numbers and moments."""

    language: str = settings.LANGUAGE_CODE
    locale: str = settings.LANGUAGE_CODE

    @classmethod
    def of(cls, chosen: str, accept_language: str) -> Self:
        """Return the reader of this chosen language ("" for none) and Accept-Language header."""
        # The locale is the first of the browser's that fits: Austria writes German in its own way.
        accepted = parse_accept_lang_header(accept_language.lower())[:MOST_ACCEPTED]
        spoken = [(code, one) for code, _share in accepted if (one := _supported(code))]
        first = next((one for _code, one in spoken), settings.LANGUAGE_CODE)
        language = chosen if chosen in NAMES else first
        fitting = [code for code, one in spoken if one == language]
        return cls(language, first_known([*fitting, language]))

    def enter(self) -> None:
        """Render everything from here on for this reader."""
        translation.activate(self.language)
        reader_locale.set(self.locale)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Render the block, and tasks that begin in it, for this reader."""
        before = reader()
        self.enter()
        try:
            yield
        finally:
            before.enter()


def _supported(code: str) -> str:
    with suppress(LookupError):
        return translation.get_supported_language_variant(code)
    return ""


def reader() -> Reader:
    """Return the reader of this context."""
    return Reader(translation.get_language() or settings.LANGUAGE_CODE, reader_locale.get())


def background() -> AbstractContextManager[None]:
    """Use English in tasks that begin in the block, as stored texts do."""
    return Reader().reading()


def keep(answer: HttpResponse, language: str) -> None:
    """Keep a language in this browser's cookie for signed-out pages; "" removes it."""
    answer.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE if language else 0,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        samesite="Lax",
    )


def choice_of(user: object, cookies: Mapping[str, str]) -> str:
    """Return the language that the account or the browser's cookie has chosen, or ""."""
    preferences = getattr(user, "preferences", None)
    return getattr(preferences, "language", "") or cookies.get(settings.LANGUAGE_COOKIE_NAME, "")


def reader_of(request: HttpRequest, user: object) -> Reader:
    """Return the reader of a request, with the language that this user has chosen, if any."""
    chosen = choice_of(user, {}) or translation.get_language_from_request(request)
    return Reader.of(chosen, request.headers.get("Accept-Language", ""))


def account_language(get_response: GetResponse) -> GetResponse:
    """Use the account's language if it has chosen one, and the locale of the browser's numbers."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        reader_of(request, request.user).enter()
        return get_response(request)

    return middleware


def in_words(stored: str) -> str:
    """Return a stored sentence, or a text that is one, in the reader's language."""
    return condense.retell(stored, _translated)


def _translated(template: str, values: Mapping[str, Any]) -> str:
    listed = {name: in_a_row(one) if isinstance(one, list) else one for name, one in values.items()}
    return fill_in(translation.pgettext(STORED, template), listed)
