"""Rules: sentences of the user's that ask for something to be kept to, in one language."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from condense.budget.language import language_in
from condense.facts.texts import sentences
from condense.messages import Message

LONGEST_CHARS = 300  # a longer sentence is no rule but a text
READ_CHARS = 50_000  # of a text; nobody writes so many rules
_ENGLISH = (
    # What somebody or something never or always does is no rule.
    r"(?<!\bi )(?<!\bhe )(?<!\bshe )(?<!\bit )(?<!\bthey )(?<!\bwho )\b(?:never|always)\b"
    r"(?! \w+(?:[^s\W]s|ed)\b)"
    # Where a sentence, or a part of it, begins with them.
    r"|(?:\A\W*|[,;:-]\s|\b(?:and|also|so|but|please|just|then|or|you)\s)(?:do not|don['’]t)\b"
    r"|\A\W*(?:(?:please|but|and|also) )?(?:only|keep|leave|avoid|prefer|stick to|make sure"
    r"|use|ensure|remember|treat|refer to|assume|address|spell|quote|cite|call (?:me|it|them|the)"
    r"|(?:write|answer|reply|respond|speak) (?:in|all|every|each|with|dates|numbers))\b"
    r"|\A\W*no(?: \w+){1,3}\W*\Z"
    r"|\b(?:must|mustn['’]t|shouldn['’]t|may not|not allowed|from now on|whenever|every time"
    r"|at (?:most|least)|no (?:more|longer|later|earlier) than|under no circumstances)\b"
    r"|\b(?:it|this|that|we|you|they|there|all|every \w+|each \w+) (?:should|shall|only)\b"
)
# Words and phrases that make a sentence a rule in each other language that is told apart.
_CUES = {
    "de": "niemals, nie, immer, stets, muss, müssen, musst, müsst, darf, dürfen, darfst, soll, "
    "sollen, sollst, sollte, sollten, höchstens, mindestens, ausschließlich, verboten, vermeide, "
    "bitte nicht, bitte nur, bitte kein, bitte keine, bitte keinen, auf keinen fall, ab jetzt, "
    "ab sofort, jedes mal, nicht mehr als, verwende nur",
    "fr": "jamais, toujours, doit, doivent, dois, devez, uniquement, évite, évitez, interdit, "
    "il faut, il ne faut, au plus, au moins, au maximum, à partir de maintenant, désormais, ne pas",
    "es": "nunca, siempre, jamás, debe, deben, debes, evita, evite, prohibido, hay que, al menos, "
    "como máximo, a partir de ahora, no uses, no menciones, no hagas, no cambies, no escribas",
    "pt": "nunca, sempre, jamais, deve, devem, evite, proibido, é preciso, no máximo, somente, "
    "pelo menos, a partir de agora, não use, não mencione, não faça, não pode, não altere, apenas",
    "it": "mai, sempre, deve, devono, devi, evita, evitare, vietato, bisogna, al massimo, almeno, "
    "d'ora in poi, non usare, non menzionare, non fare, non cambiare, non scrivere, soltanto",
    "tr": "asla, her zaman, daima, yalnızca, sadece, mutlaka, gerekir, zorunda, en az, en fazla, "
    "bundan sonra, kesinlikle, yapma, kullanma",
    "ru": "никогда, всегда, должен, должна, должно, должны, нельзя, только, избегай, избегайте, "
    "не надо, не используй, не упоминай, не меняй, не пиши, не больше, обязательно, впредь",
    # Here parts of words count: there are no spaces between words, or words are joined.
    "zh": "不能, 不要, 不得, 不可, 不许, 禁止, 必须, 必須, 务必, 始终, 总是, 永远, 只能, "
    "避免, 一律, 应该, 应当, 最多, 至少, 请勿, 請勿, 绝不, 絕不, 从现在起, 以后",
    "ja": "しないで, してはいけ, しなければ, 必ず, 絶対, 常に, のみ, 避け, べき, 以内, 使わないで, "
    "ないでください, 今後",
    "ko": "하지 마, 지 마, 안 돼, 금지, 반드시, 항상, 절대, 해야, 최대, 최소, 피하, 말고, 앞으로",
    "ar": "يجب, لا يجوز, ممنوع, أبدا, أبدًا, دائما, دائمًا, تجنب, على الأقل, على الأكثر, "
    "لا تستخدم, لا تذكر",
    "hi": "चाहिए, कभी नहीं, हमेशा, केवल, सिर्फ, मत , ज़रूर, कम से कम, अब से",
}
_JOINED = {"zh", "ja", "ko", "ar", "hi"}
_QUESTION = ("?", "؟", "\uff1f")


def language_spoken(messages: Sequence[Message]) -> str:
    """Return the language of the user's words; what cannot be told, and is ASCII, is English."""
    users = [one.words for one in messages if one.role == "user" and not one.in_force]
    return language_in(messages) or ("en" if users and all(map(str.isascii, users)) else "")


def rules_in(text: str, language: str) -> Iterator[str]:
    """Yield the sentences that are rules by the words of one language; a question is none."""
    expression = _expression(language)
    for sentence in sentences(text[:READ_CHARS]) if expression else ():
        is_short = len(sentence) <= LONGEST_CHARS and not sentence.endswith(_QUESTION)
        if is_short and expression and expression.search(sentence):
            yield sentence


@cache
def _expression(language: str) -> re.Pattern[str] | None:
    if language == "en":
        return re.compile(_ENGLISH, re.IGNORECASE)
    cues = "|".join([re.escape(cue) for cue in _CUES.get(language, "").split(", ") if cue])
    if not cues:
        return None
    return re.compile(cues if language in _JOINED else rf"\b(?:{cues})\b", re.IGNORECASE)
