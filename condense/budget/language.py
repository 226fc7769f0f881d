"""Languages: the user's language, recognised by its script or its commonest words."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from operator import attrgetter

from condense.messages import Message

SAMPLE_CHARS = 2_000  # characters of a message
NEWEST = 10  # messages that are looked at
FEWEST = 2  # common words; one may be a name
# A script that one language of many has to itself, or nearly; Japanese is written in Han, too.
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "ja": re.compile("[\u3041-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "ar": re.compile("[\u0621-\u064a]"),
    "hi": re.compile("[\u0904-\u0939]"),
    "ru": re.compile("[\u0410-\u044f]"),
}
_COMMON: Mapping[str, str] = {
    "en": "the and is are of to it that you this with for not what can please a as do",
    "de": "der die das und ist nicht ein eine zu mit für auf ich wir bitte wie",
    "fr": "le la les et est des un une pas pour dans que je vous avec il tu n qu",
    "es": "el la los las y es un una que por para con no en del como",
    "pt": "o a os as e é um uma que não para com em do da por",
    "it": "il lo la gli e è un una che non per con di del sono come",
    "tr": "ve bir bu için değil ile ne da de mi çok var olarak gibi daha lütfen",
}
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """Return the code of a text's language, "" if it is unclear."""
    text = text[:SAMPLE_CHARS]
    words = _WORD.findall(text.casefold())
    for code, script in () if text.isascii() else _SCRIPTS.items():
        # Kana are in every Japanese sentence; otherwise the script of most letters counts.
        found = sum([bool(script.search(word)) for word in words])
        if found and (code == "ja" or 2 * found > len(words)):
            return code
    said = Counter(words)
    counts = {code: sum(map(said.__getitem__, common.split())) for code, common in _COMMON.items()}
    best, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    is_plain = counts[best] > counts[second]
    # One word that is said again and again may be another language's.
    return best if is_plain and len({*words} & {*_COMMON[best].split()}) >= FEWEST else ""


def language_in(messages: Sequence[Message]) -> str:
    """Return the language of the user's newest words of a clear language, "" without any."""
    users = [one for one in reversed(messages) if one.role == "user"]
    own = [one for one in users if not (one.is_summary or one.is_marker)]
    said = islice(filter(None, map(attrgetter("words"), own)), NEWEST)
    return next(filter(None, map(language_of, said)), "")
