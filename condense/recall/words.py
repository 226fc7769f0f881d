# ruff: noqa: RUF001 - letters of other scripts
"""Words, in any script: how they are compared, and what of a question is looked for."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

# Characters of scripts that put no space between words: Thai to Burmese, Khmer, East Asia's.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_RUN = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_HAN = re.compile("[\u3400-\u9fff]")
_ARABIC = re.compile("[\u0600-\u06ff]")
# Signs of any Chinese or Japanese text; what they stand between are words.
_LINKS = re.compile(
    "[的了是吗嗎呢吧啊呀在有和与與就也都还還把被给給让讓请請我你您他她它們们这這那哪什么麼怎几幾多少个個再来着啥何誰好谢謝]+"
)
# With what an Arabic word may begin: and, with, so, like, for, and the article.
_ARTICLES = ("وال", "بال", "فال", "كال", "ال", "لل")
_HEADS = (*_ARTICLES, "و", "ب", "ل", "ف", "ك")
# What a short word may end with, in the plural or another case.
_TAILS = ("s", "es", "n", "en", "e")
# Shorter words are looked for as they are, of longer ones this share of their letters.
SHORTEST_STEM, STEM = 5, 0.7
MOST_TERMS, LONGEST = 24, 500  # of a question; characters that are read for them
ASKED = 8  # words of it that are asked of an index, the longest
# Where a text has more, what it asks is looked for: in so many characters at either end, where the
# questions have so many bytes.
ENDS, LEAST_ASKED = 2_000, 20
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？؟])|\n+")
MARKS = ("?", "？", "؟")
AGAIN = 8  # times that a term is looked for in one text

Kind = Literal["word", "stem", "pair", "sign", "common"]
Forms = tuple[tuple[str, bool], ...]

# Words of any question and of any short answer, which tell nothing of what it is about.
_ENGLISH = """
continue evening fine good great keep morning nice perfect sounds sure works wrong right day happy
sorry please about after again ago all also am an and any are as ask asked at be because been
before being but by can could did do does doing don done down else ever exactly for from get gets
give go goes going got had has have having he hello help her hey hi him his how if in into is it
its just know let like ll make many may me might mine more most much must my need needed no not
now of off oh ok okay on once one only or other our out over own perhaps re really remember remind
said same say says see she should show since so some still such take tell than thank thanks that
the their them then there these they thing things think this those to told too up us use used
using very ve want wanted was way we well were what when where which while who whom whose why will
with would yes yet you your
"""
_GERMAN = """
abend genau guten klar klasse leider mach morgen passt perfekt prima stimmt tag toll aber alle
alles als also am an auch auf aus bei beim bin bis bitte brauche da damals danke dann darf das
dass dein dem den denn der des die dies diese dir doch du eigentlich ein eine einem einen einer
eines er es etwas fur gab gerade gern gesagt gibt gut habe haben hab hat hatte hatten ich ihm ihn
ihr ihre im in ist ja jetzt kann kannst kein keine konnen konnte machen mal man mein meine mich
mir mit mehr muss mussen nach nein nicht nichts noch nochmal nun nur ob oder ohne schon sehr sein
seine sich sie sind so soll sollen sollte sollten super um und uns unser unsere vom von vor war
waren warum was weg weiter welche welchem welchen welcher welches wenn wer werden wie wieder
wieviel will wir wird wo wollte wollten wurde wurden zu zum zur
"""
_FRENCH = """
accord bonsoir continue genial journee matin parfait salut super va au aux avec avait avais avez
avoir avons bien bon bonjour ca ce ces cet cette combien comme comment dans de deja des dit dois
doit donc du elle elles en encore est et ete etre eu fait faire fallait faut je la le les leur
leurs lui ma mais me meme merci mes moi mon ne non nos notre nous on ont ou oui par pas peux peut
plus plutot pour pouvez pourquoi qu quand que quel quelle quelles quels qui quoi rappelle sa sans
se ses si son sont sur ta te tes toi ton tout toute tous tres tu un une voulais vos votre vous
"""
_SPANISH = """
adelante buenas buenos dias genial perfecto sigue tardes ahora al algo antes aqui asi aun bueno
cada como con cosa cual cuales cuando cuanta cuantas cuanto cuantos de debe debo decias del desde
dijiste dijo donde dos el ella ellos en entonces era eramos eran eres es esa ese eso esta estaba
estan este esto estoy fue gracias ha habia habiamos hace hacer hago hasta hay hola la las le les
lo los mas me mi mis muy nada ni no nos nosotros nuestra nuestro os otra otro para pero poco por
porque puede puedo pues que quedamos quien quienes recuerdame se sea ser si sin sobre solo somos
son soy su sus tal tambien te tengo tenemos tenia teniamos tiene tienes toda todo todos tu un una
uno unos vale va vamos vez ya yo
"""
_RUSSIAN = """
давай день добрыи отлично понятно привет продолжай продолжаи утро без бы был была были было быть
вам вас ведь весь во вот все всего вы где да даже для до его ее если есть еще же за здесь из или
им их как какая какие какой каком какую ко когда кого которая которые который кто куда ли меня мне
много можно мои мой моя мы на над надо нам нас наш наша не него нее нет ни но ну нужно об он она
они от очень по под пожалуиста помнишь помню потом потому почему при про раз сам самая самыи свои
себя сеичас сеи сколько со спасибо так такои там тебя теперь то тобои тогда того тоже только том
тот ты уже хорошо хочу чего чем что чтоб чтобы эта эти это этого этои этот
"""
_ARABIC_WORDS = """
اكمل تمام جيد حسنا رائع صباح مرحبا ان انا انت او اذا اي اين الان الى التي الذي الذين اليوم ام بعد
بل به بها بين تم ثم جدا حتى حول خلال ذلك دون سوف شكرا شو صار عن عند عندما على عليه عليها غير في
فقط فيه فيها قال قبل قد كان كانت كل كلها كم كما كنت كنا كيف لا لك لكن لم لماذا لن لنا له لها لو لي
ليس ما ماذا مازال متى مثل مرة مع من منذ منه منها نحن نعم هذا هذه هل هم هنا هناك هو هي وما ومن ولا
وهل يا يكون
"""
# By language, without accents.
_LISTS = (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _RUSSIAN, _ARABIC_WORDS)
_COMMON = tuple([frozenset(words.split()) for words in _LISTS])


def common_words(words: Collection[str]) -> frozenset[str]:
    """Return the common words of the language that most of these words may be of."""
    return max(_COMMON, key=lambda common: sum(word in common for word in words))


@dataclass(frozen=True, slots=True)
class Term:
    """Something to look for: a word, how words begin, two signs, one sign, or a common word.

    ``word`` is the whole of what only begins like that.
    """

    text: str
    kind: Kind
    word: str = field(default="", compare=False)

    @property
    def forms(self) -> Forms:
        """What a text may have instead, each with whether the word may go on."""
        if self.kind == "stem":
            heads = ("", *_HEADS) if _ARABIC.match(self.text) else ("",)
            return tuple([(head + self.text, True) for head in heads])
        tails = _TAILS if self.kind == "word" and len(self.text) > 2 else ()  # noqa: PLR2004
        return tuple([(self.text + tail, False) for tail in ("", *tails)])

    def places(self, folded: str) -> Iterator[tuple[int, float]]:
        """Yield where a folded text has it, at most so often, and how well it fits there."""
        text, size = self.text, len(self.text)
        at = folded.find(text)
        for _ in range(AGAIN):
            if at < 0:
                return
            if fit := self._fit(folded, at, at + size):
                yield at, fit
            at = folded.find(text, at + size)

    def _fit(self, folded: str, start: int, end: int) -> float:
        if self.kind in {"pair", "sign"}:
            return 1
        if start and folded[start - 1].isalnum():
            if self.kind != "stem":
                return 0
            return 1 if _ARABIC.match(self.text) else WITHIN
        if self.kind == "stem" or not folded[end : end + 1].isalnum():
            return 1
        rest = folded[end : end + 3]
        tail = next((at for at, letter in enumerate(rest) if not letter.isalnum()), len(rest))
        return ENDED if self.kind == "word" and rest[:tail] in _TAILS else 0


# How well a term fits in the middle of a word, as in a German compound; and with an ending.
WITHIN, ENDED = 0.5, 0.8


def terms_of(question: str) -> list[Term]:
    """Return what to look for, in the order of the question, each once.

    Common words are there too, since a text that has them beside the others fits better. Where
    there is more than can be looked for, it is what the text asks, if anything, or how it begins.
    """
    found = _all_terms(question)
    words = sum([one.kind in {"word", "stem"} for one in found])
    if words > ASKED or len(found) > MOST_TERMS or len(question) > LONGEST:
        found = _all_terms(_questions_in(question) or question)
    return found[:MOST_TERMS]


def _questions_in(text: str) -> str:
    """Return the sentences at either end of a text that ask, "" where they say too little."""
    ends = text if len(text) <= 2 * ENDS else f"{text[:ENDS]}\n{text[-ENDS:]}"
    asked = " ".join([one for one in _SENTENCE_END.split(ends) if one.endswith(MARKS)])
    return asked[-LONGEST:] if len(asked.encode(errors="replace")) >= LEAST_ASKED else ""


def _all_terms(question: str) -> list[Term]:
    words = _RUN.findall(fold(unicodedata.normalize("NFC", question[:LONGEST])))
    common = common_words(words)
    return list(dict.fromkeys(term for word in words for term in _terms(word, common)))


def _terms(word: str, common: frozenset[str]) -> Iterator[Term]:
    if is_unspaced(word[0]):
        for part in _LINKS.split(word):
            yield from (Term(one + other, "pair") for one, other in pairwise(part))
            yield from (Term(sign, "sign") for sign in part if len(part) == 1 or _HAN.match(sign))
    elif word in common:
        yield Term(word, "common")
    elif len(word) > 1 or word.isdigit():
        if _ARABIC.match(word):
            heads = (
                head for head in _ARTICLES if word.startswith(head) and len(word) > len(head) + 2
            )
            word = word.removeprefix(next(heads, ""))
        # Letters of other scripts than Latin say more.
        shortest = SHORTEST_STEM if word.isascii() else SHORTEST_STEM - 1
        if len(word) < shortest or not word.isalpha():
            yield Term(word, "word")
        else:
            yield Term(word[: max(shortest - 1, math.ceil(STEM * len(word)))], "stem", word)


def words_of(text: str) -> Iterator[str]:
    """Yield what an index in memory has of a text: words, signs and pairs of them."""
    for word in _RUN.findall(fold(unicodedata.normalize("NFC", text))):
        if is_unspaced(word[0]):
            yield from word
            yield from (one + other for one, other in pairwise(word))
        else:
            yield word


def space_out(text: str) -> str:
    """Put each character that may be a word of its own between spaces."""
    return text if text.isascii() else _UNSPACED_CHARACTER.sub(r" \g<0> ", text)


def is_unspaced(character: str) -> bool:
    """Whether a character may be a word of its own."""
    return bool(_UNSPACED_CHARACTER.match(character))


def fold(text: str) -> str:
    """Return a text of the same length without capitals and accents."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _Folded(dict[int, str]):
    """What each character is without capital and accent, worked out when it is first asked for."""

    def __missing__(self, code: int) -> str:
        """Work it out; what is a word of its own has no accents, only parts."""
        character = chr(code)
        if not is_unspaced(character):
            character = unicodedata.normalize("NFD", character)[0].lower()[0]
        self[code] = character
        return character


_FOLDED = _Folded()
