"""The engine's sentences for people: English, made of templates that can be translated.

A record holds the English sentence. A page passes the templates' translations to a ``Phrasebook``,
which finds the template that a sentence was made of, and says it anew.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from string import Formatter

# Values of these names are sentences, of templates again; all others stay as somebody said them.
SENTENCES = frozenset(
    {"advice", "error", "floor", "issue", "lacking", "problem", "reason", "what", "why"}
)
# Values of these names are one or several of them, with commas between.
LISTS = frozenset({"check", "checks"})
# How deep sentences stand in sentences: a failed call is told in a truncation that took its place.
DEPTH = 4
# A share as a template's ``{part:.0%}`` writes it, and numbers as its ``{size:,}`` does.
WRITTEN = {".0%": re.compile(r"[0-9]{1,9}%"), ",": re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3}){0,6}")}


def say(template: str, /, **values: object) -> str:
    """Return the sentence that a template makes of the values, as ``str.format`` does."""
    return template.format(**values)


def noop(sentence: str, /) -> str:
    """Return the sentence: it is one that people read, and has no values."""
    return sentence


def plural(singular: str, plural: str, /) -> tuple[str, str]:
    """Return both: they are one sentence, for one and for ``{count}`` of something."""
    return singular, plural


class Phrasebook:
    """Translates the sentences of known templates; others stay English."""

    def __init__(
        self,
        translations: Mapping[str, str],
        number: Callable[[int], str] = "{:,}".format,
        listed: Callable[[Iterable[str]], str] = ", ".join,
        percent: Callable[[int], str] = "{}%".format,
    ) -> None:
        """Know these templates; ``number`` writes grouped numbers, ``listed`` writes lists."""
        self._translations = translations
        self._listed = listed
        self._written = {",": number, ".0%": percent}
        # The more words of its own a template has, the surer is that a sentence was made of it.
        templates = sorted((one for one in translations if "{" in one), key=len, reverse=True)
        self._templates = [(_Template(one), translations[one]) for one in templates]

    def retell(self, sentence: str, depth: int = DEPTH) -> str:
        """Return the sentence in this language, in time that grows with its length."""
        if (known := self._translations.get(sentence)) or not depth:
            return known or sentence
        for template, translation in self._templates:
            if (values := template.values_in(sentence)) is not None:
                told = {name: self._told(template, name, values[name], depth) for name in values}
                if template.has_words or told != values:
                    return re.sub(r"\{(\w+)[^}]*\}", r"{\1}", translation).format(**told)
        return sentence

    def _told(self, template: "_Template", name: str, value: str, depth: int) -> str:
        if write := self._written.get(template.specs[name]):
            return write(int(value.rstrip("%").replace(",", "")))
        if name in LISTS:
            return self._listed([self.retell(one, depth - 1) for one in value.split(", ")])
        return self.retell(value, depth - 1) if name in SENTENCES else value


class _Template:
    def __init__(self, template: str) -> None:
        parts = [*Formatter().parse(template)]
        self._fields = [(name, spec or "") for _text, name, spec, _conversion in parts if name]
        texts = [text for text, _name, _spec, _conversion in parts]
        self._beginning, *self._gaps = texts if len(texts) > len(self._fields) else [*texts, ""]
        self.specs = dict(self._fields)
        self.has_words = any(map(str.isalpha, "".join(texts)))

    def values_in(self, sentence: str) -> dict[str, str] | None:
        """Return the values from which this template makes the sentence, None if it can't.

        Each ends where the text after it is next. A sentence begins with a name only if that has no
        blanks: people's own sentences would look like ours.
        """
        if not sentence.startswith(self._beginning):
            return None
        values: dict[str, str] = {}
        at = len(self._beginning)
        for (name, spec), gap in zip(self._fields, self._gaps, strict=True):
            is_last = len(values) == len(self._fields) - 1
            end = len(sentence) - len(gap) if is_last else sentence.find(gap, at)
            if end < at or not sentence.startswith(gap, end):
                return None
            values[name] = value = sentence[at:end]
            if (written := WRITTEN.get(spec)) and not written.fullmatch(value):
                return None
            if not at and name not in SENTENCES and " " in value:
                return None
            at = end + len(gap)
        return values
