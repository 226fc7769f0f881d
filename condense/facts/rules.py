"""Rules: sentences of the user's that ask for something to be kept to, in one language."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from condense.facts.texts import sentences

LONGEST = 300  # characters; a longer sentence is no rule but a text
READ = 50_000  # characters of a text; nobody writes so many rules
# What makes a sentence a rule in each language that condense.language_of tells; joined to one
# expression. In scripts without spaces, and where words are joined, parts of words do.
_CUES: Mapping[str, str] = {
    "en": (
        # What somebody or something never or always does is no rule.
        r"(?<!\bi )(?<!\bhe )(?<!\bshe )(?<!\bit )(?<!\bthey )(?<!\bwho )\b(?:never|always)\b"
        r"(?! \w+(?:[^s\W]s|ed)\b)"
        r"|(?:\A\W*|[,;:-]\s|\b(?:and|also|so|but|please|just|then|or|you)\s)(?:do not|don['’]t)\b"
        r"|\A\W*(?:(?:please|but|and|also) )?(?:only|keep|leave|avoid|prefer|stick to|make sure|use"
        r"|ensure|remember|treat|refer to|assume|address|spell|quote|cite|call (?:me|us|it|them|the)"
        r"|(?:write|answer|reply|respond|speak) (?:in|all|every|each|with|dates|numbers))\b"
        r"|\A\W*no(?: \w+){1,3}\W*\Z"
        r"|\b(?:must|mustn['’]t|shouldn['’]t|may not|not allowed|from now on|whenever|every time"
        r"|at (?:most|least)|no (?:more|longer|later|earlier) than|under no circumstances"
        r"|without exception|unless i)\b"
        r"|\b(?:it|this|that|we|you|they|there|all|every \w+|each \w+) (?:should|shall|only)\b"
    ),
    "de": (
        r"\b(?:niemals|nie|immer|muss|müssen|musst|müsst|darf|dürfen|darfst|soll|sollen|sollst|sollte"
        r"|sollten|höchstens|mindestens|ausschließlich|verboten|vermeide|vermeiden|bitte (?:nicht|nur"
        r"|kein|keine|keinen|stets)|auf keinen fall|ab (?:jetzt|sofort)|stets|jedes mal|nicht mehr als"
        r"|verwende nur|nutze nur)\b"
    ),
    "fr": (
        r"\b(?:jamais|toujours|doit|doivent|dois|devez|uniquement|évite|évitez|éviter|interdit"
        r"|il (?:ne )?faut|au (?:plus|moins|maximum)|à partir de maintenant|désormais|n['’]utilis\w+"
        r"|ne \w+ pas|sans exception|chaque fois)\b"
    ),
    "es": (
        r"\b(?:nunca|siempre|jamás|debe|deben|debes|evita|evitar|evite|prohibido|hay que|como máximo"
        r"|al menos|por lo menos|a partir de ahora|no (?:uses|use|utilices|menciones|hagas|pongas"
        r"|cambies|escribas)|solo (?:usa|utiliza)|cada vez)\b"
    ),
    "pt": (
        r"\b(?:nunca|sempre|jamais|deve|devem|evite|evitar|proibido|é preciso|no máximo|pelo menos"
        r"|a partir de agora|não (?:use|usar|mencione|faça|pode|altere)|somente|apenas|toda vez)\b"
    ),
    "it": (
        r"\b(?:mai|sempre|deve|devono|devi|evita|evitare|vietato|bisogna|al massimo|almeno|d['’]ora"
        r" in poi|non (?:usare|usa|menzionare|fare|cambiare|scrivere)|solo|soltanto|ogni volta)\b"
    ),
    "tr": (
        r"\b(?:asla|her zaman|daima|yalnızca|sadece|mutlaka|gerekir|zorunda|en (?:az|fazla)|bundan"
        r" sonra|kesinlikle|yapma|kullanma|olmasın)\b"
    ),
    "ru": (
        r"\b(?:никогда|всегда|должен|должна|должно|должны|нельзя|только|избегай|избегайте|не (?:надо"
        r"|используй|используйте|больше|менее|упоминай|меняй|пиши)|обязательно|впредь|каждый раз)\b"
    ),
    "zh": (
        "不能|不要|不得|不可|不许|禁止|必须|必須|务必|始终|总是|永远|只能|避免|一律|应该|应当|最多|至少|請勿|请勿|"
        "絕不|绝不|从现在起|以后|每次"
    ),
    "ja": "しないで|してはいけ|しなければ|必ず|絶対|常に|のみ|避け|べき|以内|使わないで|ないでください|今後|毎回",
    "ko": "하지 마|안 돼|금지|반드시|항상|절대|해야|최대|최소|피하|말고|앞으로|매번",
    "ar": "يجب|لا يجوز|ممنوع|أبدا|أبدًا|دائما|دائمًا|تجنب|على الأقل|على الأكثر|لا تستخدم|لا تذكر|من الآن",
    "hi": "चाहिए|कभी नहीं|हमेशा|केवल|सिर्फ|मत |ज़रूर|कम से कम|अब से|हर बार",
}
_QUESTION = ("?", "؟", "？")


def rules_in(text: str, language: str) -> Iterator[str]:
    """Yield the sentences that are rules by the words of one language; a question is none."""
    if language not in _CUES:
        return
    expression = _expression(language)
    for sentence in sentences(text[:READ]):
        is_short = len(sentence) <= LONGEST and not sentence.endswith(_QUESTION)
        if is_short and expression.search(sentence):
            yield sentence


@cache
def _expression(language: str) -> re.Pattern[str]:
    return re.compile(_CUES[language], re.IGNORECASE)
