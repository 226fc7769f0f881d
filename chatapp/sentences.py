"""Sentences in the reader's language, with values in place."""

from string import Formatter
from typing import Any, override

from django.utils.translation import gettext, ngettext

from chatapp.number_formats import number


def translate(sentence: str, plural: str = "", /, **values: object) -> str:
    """Return a sentence in the reader's language; of a plural, the form for ``count``.

    Values stand in it as with ``str.format``, but ``{size:,}`` and ``{size:,.1f}`` are numbers as
    the reader's locale writes them.
    """
    said = ngettext(sentence, plural, values["count"]) if plural else gettext(sentence)  # type: ignore[arg-type] # a number
    return _FORMATTER.vformat(said, (), values) if values else said


class _LocalFormatter(Formatter):
    @override
    def format_field(self, value: Any, format_spec: str) -> Any:
        if not format_spec.startswith(","):
            return super().format_field(value, format_spec)
        return number(value, int(format_spec[2:-1] or 0))


_FORMATTER = _LocalFormatter()
