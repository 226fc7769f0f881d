"""What the engine tells people: English, of templates by which it can be said in other languages.

A record holds the English sentence. Whoever shows it passes the templates' translations to a
``Phrasebook``, which finds the template that a sentence was made of, and says it anew.
"""

import re
from collections.abc import Callable, Mapping
from string import Formatter

# Numbers as a template's ``{size:,}`` writes them.
GROUPED = r"-?[\d,]+"

# Characters of a sentence; what is longer is a text of somebody's, in which to look takes long.
LONGEST = 4_000


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
    """Says the sentences of templates in another language; what it does not know stays English."""

    def __init__(
        self, translations: Mapping[str, str], number: Callable[[int], str] = "{:,}".format
    ) -> None:
        """Know these templates; ``number`` writes those numbers that a template groups."""
        self._translations = translations
        self._number = number
        templates = sorted((one for one in translations if "{" in one), key=len, reverse=True)
        # The more words of its own a template has, the surer is that a sentence was made of it.
        self._patterns = [(one.partition("{")[0], _pattern(one), one) for one in templates]

    def retell(self, sentence: str) -> str:
        """Return the sentence in this language."""
        if known := self._translations.get(sentence):
            return known
        for beginning, pattern, template in self._patterns if len(sentence) <= LONGEST else ():
            if sentence.startswith(beginning) and (found := pattern.fullmatch(sentence)):
                translation = self._translations[template]
                return _fill(translation, template, found.groupdict(), self._number, self.retell)
        return sentence


def _fill(
    translation: str,
    template: str,
    values: Mapping[str, str],
    number: Callable[[int], str],
    retell: Callable[[str], str],
) -> str:
    """Return the translation with values: numbers, or texts that may be sentences themselves."""
    said = {
        name: number(int(text.replace(",", ""))) if f"{{{name}:,}}" in template else retell(text)
        for name, text in values.items()
    }
    return re.sub(r"\{(\w+)[^}]*\}", r"{\1}", translation).format(**said)


def _pattern(template: str) -> re.Pattern[str]:
    parts = ""
    for literal, name, spec, _conversion in Formatter().parse(template):
        parts += re.escape(literal)
        if name is not None:
            parts += f"(?P<{name}>{GROUPED if spec == ',' else '.*?'})"
    return re.compile(parts, re.DOTALL)
