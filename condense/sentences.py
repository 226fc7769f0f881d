"""Sentences for people: English, with the template and the values that each is made of.

A record keeps both, so that a page can say the sentence in its reader's language.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from string import Formatter
from typing import Any, Self, override

# A template is words and such fields; one that is read from a file may be anything.
_FIELD = re.compile(r"\{(\w+)(?:!r)?(?::(?:,|\.0%|\.\d\d?))?\}")
_TEMPLATE = re.compile(rf"(?:[^{{}}]|\{{\{{|\}}\}}|{_FIELD.pattern})*")
# No longer number fits into every database, and no infinity into JSON.
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
        kept: dict[str, Any] = {}
        if values:
            fields = {name for _text, name, _spec, _how in Formatter().parse(template)}
            kept = {name: _kept(value) for name, value in values.items() if name in fields}
        joined = {name: _joined(value) for name, value in kept.items()}
        made = super().__new__(cls, str.format(template, **joined) if values else template)
        is_whole = all(map(_is_storable, kept.values()))
        made.template, made.values = (template[:], kept) if is_whole else (made[:], {})
        return made

    @override
    def __str__(self) -> Self:
        return self

    def __getnewargs__(self) -> tuple[str, dict[str, Any]]:
        """Return the arguments of a copy."""
        return self.template, self.values

    @override
    def format(self, *args: object, **values: object) -> "Sentence":
        """Return the sentence that this template makes of the values."""
        return Sentence(self, values)

    def to_json(self) -> list[Any]:
        """Return the template and the values as JSON."""
        return [self.template, {name: _to_json(value) for name, value in self.values.items()}]

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the sentence of a result of ``to_json``; raise ValueError for anything else."""
        match data:
            case [str(template), {**values}] if not values or _is_template(template):
                with suppress(LookupError, TypeError, ValueError):
                    return cls(template, {name: _from_json(one) for name, one in values.items()})
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

    Those that are sentences or lists of them are translated before. A text that is no sentence is
    a template without values.
    """
    values = text.values if isinstance(text, Sentence) else {}

    def told(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(told, value)]
        return retell(value, translate) if isinstance(value, Sentence) else value

    template = text.template if isinstance(text, Sentence) else text
    return translate(template, {name: told(value) for name, value in values.items()})


def change_texts(text: str, change: Callable[[str], str]) -> str:
    """Return a text changed, or a sentence with each text among its values changed."""
    if not isinstance(text, Sentence):
        return change(text)

    def told(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(told, value)]
        return change_texts(value, change) if isinstance(value, str) else value

    return Sentence(text.template, {name: told(value) for name, value in text.values.items()})


def templates_in(text: str) -> Iterator[str]:
    """Yield the template of a text, and those of the sentences among its values."""
    yield text.template if isinstance(text, Sentence) else text
    for value in text.values.values() if isinstance(text, Sentence) else ():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Sentence):
                yield from templates_in(one)


def _is_template(text: str) -> bool:
    """Return True if filling it in can neither reach into a value nor write one twice."""
    fields = _FIELD.findall(text)
    return bool(_TEMPLATE.fullmatch(text)) and len(fields) == len({*fields})


def _kept(value: object) -> Any:
    if isinstance(value, list | tuple):
        return [*map(_kept, value)]
    if isinstance(value, Sentence | int | float):
        return value
    return str(value) if type(value) is not str else value


def _joined(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _is_storable(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_storable, value))
    return not isinstance(value, int | float) or abs(value) < _LARGEST


def _to_json(value: Any) -> Any:
    if isinstance(value, list):
        return {"listed": [*map(_to_json, value)]}
    return value.to_json() if isinstance(value, Sentence) else value


def _from_json(data: Any) -> Any:
    match data:
        case {"listed": [*items]}:
            return [*map(_from_json, items)]
        case str() | int() | float():
            return data
    return Sentence.from_json(data)
