"""Sentences for people: English, with the template and the values that each is made of.

A record keeps both, so that a page can say the sentence in its reader's language.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from string import Formatter
from typing import Any, Self, override

# A template is words and such fields; one that is read from a file may be anything.
_FIELD = re.compile(r"\{(\w+)(?:!r)?(?::(?:,|\.0%|\.\d\d?))?\}")
_TEMPLATE = re.compile(rf"(?:[^{{}}]|\{{\{{|\}}\}}|{_FIELD.pattern})*")
# A longer number fits into no database, and infinity into no JSON.
_LARGEST = 2**63


class Sentence(str):
    """A sentence with its ``template`` and ``values``: texts, numbers, sentences, and their lists.

    In another language, numbers and sentences among the values are said anew, and texts stay.
    """

    __slots__ = ("template", "values")
    template: str
    values: dict[str, Any]

    def __new__(cls, template: str = "", values: Mapping[str, object] | None = None) -> Self:
        """Fill in the template as ``str.format`` does; without values it is the text."""
        fields = [one[1] for one in Formatter().parse(template)] if values else ()
        kept = {name: _kept(one) for name, one in (values or {}).items() if name in fields}
        shown = {name: ", ".join(v) if isinstance(v, list) else v for name, v in kept.items()}
        made = super().__new__(cls, str.format(template, **shown) if values else template)
        made.template, made.values = template[:], kept
        if any(isinstance(one, int | float) and not abs(one) < _LARGEST for one in kept.values()):
            made.template, made.values = made[:], {}
        return made

    @override
    def __str__(self) -> Self:
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.template, self.values

    @override
    def format(self, *args: object, **values: object) -> "Sentence":
        """Return the sentence that this template makes of the values."""
        return Sentence(self, values)

    def to_json(self) -> dict[str, Any]:
        """Return the template and the values as JSON."""
        return {"template": self.template, "values": _each(self.values, Sentence.to_json)}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the sentence of a result of ``to_json``; raise ValueError for anything else."""
        match data:
            case {"template": str(template), "values": dict(values)}:
                fields = _FIELD.findall(template)
                # Filling it in can neither read inside a value nor write one twice.
                if not values or (_TEMPLATE.fullmatch(template) and len(fields) == len({*fields})):
                    with suppress(LookupError, TypeError, ValueError):
                        return cls(template, {name: _read(one) for name, one in values.items()})
        raise ValueError(f"no sentence: {data!r:.200}")


def say(template: str, /, **values: object) -> Sentence:
    """Return the sentence that a template makes of the values, as ``str.format`` does."""
    return Sentence(template, values)


def noop(sentence: str, /) -> Sentence:
    """Return a text as a sentence without values, or as the template of some."""
    return sentence if isinstance(sentence, Sentence) else Sentence(sentence)


def plural(singular: str, plural: str, /) -> tuple[str, str]:
    """Return both: they are one sentence, for one and for ``{count}`` of something."""
    return singular, plural


def retell(text: str, translate: Callable[[str, Mapping[str, Any]], str]) -> str:
    """Return a text in another language: ``translate`` is given each template and its values.

    Sentences among the values are translated before. A text that is no sentence is a template.
    """
    said = noop(text)
    return translate(said.template, _each(said.values, lambda one: retell(one, translate)))


def change_texts(text: str, change: Callable[[str], str]) -> str:
    """Return a text changed, or a sentence with each text among its values changed."""
    if not isinstance(text, Sentence):
        return change(text)
    return Sentence(text.template, each_text(text.values, lambda one: change_texts(one, change)))


def each_text(value: Any, change: Callable[[str], Any]) -> Any:
    """Return a JSON value with each of its texts changed, sentences as a whole."""
    return _each(value, change, str)


def templates_in(text: str) -> list[str]:
    """Return the template of a text, and those of the sentences among its values."""
    found = [noop(text).template]
    _each(noop(text).values, lambda one: found.extend(templates_in(one)))
    return found


def _each(value: Any, change: Callable[[Any], Any], kind: type = Sentence) -> Any:
    """Return the values with each of a kind changed, in lists too."""
    if isinstance(value, dict):
        return {name: _each(one, change, kind) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_each(one, change, kind) for one in value]
    return change(value) if isinstance(value, kind) else value


def _kept(value: object) -> Any:
    if isinstance(value, list | tuple):
        return [one if isinstance(one, str) else str(one) for one in value]
    is_kept = isinstance(value, Sentence | int | float) or type(value) is str
    return value if is_kept else str(value)


def _read(data: Any) -> Any:
    if isinstance(data, list):
        return [*map(_read, data)]
    return data if isinstance(data, str | int | float) else Sentence.from_json(data)
