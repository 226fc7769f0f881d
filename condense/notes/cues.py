"""Cues: words that mark a sentence as a rule, a promise, a decision or a replacement.

In the languages with the most speakers on the web; whoever adds a word to one adds its
counterparts to the others. ``words`` are found whole, ``parts`` anywhere: phrases, and words of
scripts that set none apart or join them to others.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cues:
    """Words and parts in small letters, those parts that hold other letters in one expression."""

    words: frozenset[str]
    parts: tuple[str, ...]
    others: re.Pattern[str]

    def stand_in(self, text: str, words: AbstractSet[str]) -> bool:
        """Whether a text in small letters, with these words, says any of them."""
        if not self.words.isdisjoint(words) or [part for part in self.parts if part in text]:
            return True
        return not text.isascii() and bool(self.others.search(text))


def _cues(*lines: str) -> Cues:
    """Return the cues of some lines with commas: those of one word are words, unless marked *."""
    cues = [cue.strip() for line in lines for cue in line.split(",")]
    words = {cue for cue in cues if cue.isalpha()}
    parts = [cue.strip("*") for cue in cues if cue not in words]
    others = re.compile("|".join([re.escape(part) for part in parts if not part.isascii()]))
    return Cues(frozenset(words), tuple(filter(str.isascii, parts)), others)


# Words that make a sentence a rule wherever they stand in it; in English others may do so, too.
_RULES = (
    "must, mustn, avoid, prefer, ensure, make sure, at most, at least, stick to, not allowed",
    "no more than, no longer than",
    "muss, müssen, musst, niemals, nie, immer, nur, vermeide, vermeiden, ohne, stattdessen, lieber",
    "soll, sollte, sollst, darf, dürfen, bitte nicht, auf keinen fall, höchstens, mindestens",
    "nicht mehr, nicht erlaubt, verboten, ausschließlich",
    "doit, doivent, dois, jamais, toujours, seulement, uniquement, éviter, évite, évitez, sans",
    "plutôt, préfère, interdit, ne pas, n'utilise, il faut, au plus, au moins",
    "debe, deben, debes, nunca, siempre, solo, sólo, solamente",
    "evita, evitar, evite, sin, prefiero, prohibido, jamás",
    "en lugar de, no uses, no se puede, hay que, como máximo, al menos, por lo menos",
    "deve, devem, sempre, somente, apenas, evite, sem, em vez de, não pode, não use, pelo menos",
    "devono, mai, soltanto, evitare, senza, invece, non usare, bisogna, almeno",
    "должен, должна, должны, нельзя, никогда, всегда, только, избегай, избегайте, без, вместо",
    "не надо, не используй, не больше, не менее, обязательно",
    "不能*, 不要*, 不得*, 不可*, 不许*, 禁止*, 必须*, 必須*, 务必*",
    "始终*, 总是*, 永远*, 只能*, 仅*",
    "避免*, 一律*, 不用*, 应该*, 应当*, 最多*, 至少*, 請勿*, 请勿*, 絕不*, 绝不*, 不再*, 保持*",
    "しないで*, してはいけ*, しなければ*, 必ず*, 絶対*, 常に*, のみ*, だけ*",
    "避け*, べき*, 以内*, 使わないで*",
    "ないでください*, ないこと*",
    "하지 마*, 안 돼*, 금지*, 반드시*, 항상*, 절대*, 해야*, 최대*, 최소*, 피하*, 말고*",
    "يجب*, لا يجوز*, ممنوع*, أبدا*, أبدًا*, دائما*, دائمًا*, فقط*",
    "تجنب*, بدون*, على الأقل*, على الأكثر*",
    "لا تستخدم*, لا يمكن*, لا تغير*",
    "चाहिए*, कभी नहीं*, हमेशा*, केवल*, सिर्फ*, मत*, बिना*, ज़रूर*, कम से कम*",
    "asla, daima, sadece, yalnızca, mutlaka, gerekir, zorunda, en az, en fazla",
)
PLAIN_RULES = _cues(*_RULES)
RULES = _cues(
    "never, always, only, without, instead, should, shouldn, keep, leave, don't, do not, can't",
    "cannot, no more, no longer, no need",
    *_RULES,
)
REPLACEMENTS = _cues(
    "instead, anymore, scrap, forget, no longer, any more, rather than, changed my mind, replaces",
    "actually",
    "statt, anstatt, stattdessen, vergiss, verwirf, nicht mehr, anstelle, doch lieber",
    "plutôt, oublie, oubliez, au lieu de, ne plus, n'utilise plus, finalement",
    "olvida, olvide, en lugar de, en vez de, ya no, mejor",
    "esqueça, em vez de, ao invés de, não mais, invece, non più, dimentica, al posto di",
    "вместо, забудь, забудьте, больше не, передумал, передумала",
    "不再*, 改为*, 改成*, 改用*, 而不是*, 取消*, 換成*, 换成*, 改為*, 作废*",
    "ではなく*, 代わりに*, やめて*, 変更*, もう使わ*",
    "대신*, 더 이상*, 바꿔*, 취소*",
    "بدلا من*, بدلاً من*, لم يعد*, عوضا عن*",
    "के बजाय*, की जगह*, अब नहीं*",
    "yerine, artık, vazgeçtim",
)
PROMISES = _cues(
    "promise, promised, guarantee, guaranteed, i'll, we'll, i will, we will, you will receive",
    "will be, will arrive, by tomorrow",
    "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
    "montag*, dienstag*, mittwoch*, donnerstag*, freitag*, samstag*, sonntag*",
    "verspreche, versprochen, zugesagt, garantiert, ich werde, wir werden, wird bis, werden sie",
    "lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche",
    "promets, promis, garanti, je vais, nous allons, sera, serez, recevrez",
    "lunes, martes, miércoles, jueves, viernes, sábado, domingo",
    "prometo, prometido, garantizado, voy a, vamos a, será, recibirá, enviaremos",
    "segunda, terça, quarta, quinta, sexta, lunedì, martedì, mercoledì, giovedì, venerdì, sabato",
    "garantido, vou, receberá, enviaremos, prometto, garantito, riceverà, invieremo",
    "понедельник, вторник, среду, четверг, пятницу, субботу, воскресенье",
    "обещаю, гарантирую, будет, будут, получите, отправим, я сделаю, мы сделаем",
    "周一*, 周二*, 周三*, 周四*, 周五*, 周六*, 周日*, 星期*, 曜日*, 요일*",
    "الاثنين*, الثلاثاء*, الأربعاء*, الخميس*, الجمعة*, السبت*, الأحد*",
    "我会*, 我们会*, 我將*, 我将*, 我们将*, 将会*, 会在*, 将于*, 保证*, 承诺*",
    "お送りします*, いたします*, 届きます*, 約束*, 保証*, 予定です*",
    "하겠습니다*, 드리겠습니다*, 약속*, 예정입니다*, 보장*",
    "سوف*, سأ*, سنقوم*, أعدك*, نضمن*, ستصل*",
    "सोमवार*, मंगलवार*, बुधवार*, गुरुवार*, शुक्रवार*, शनिवार*, रविवार*",
    "pazartesi*, salı günü*, çarşamba*, perşembe*, cuma günü*",
    "करूँगा*, करेंगे*, वादा*, मिलेगा*",
    "söz veriyorum, göndereceğiz, yapacağım, yapacağız, olacak",
)
DECISIONS = _cues(
    "decided, agreed, approved, confirmed, booked, reserved, cancelled, canceled, concluded, chose",
    "chosen, settled, refunded, scheduled, the result is, in total, total of, comes to, we use",
    "going with, the answer is, root cause",
    "entschieden, vereinbart, genehmigt, bestätigt, gebucht, reserviert, storniert, insgesamt",
    "beschlossen, erstattet, ergibt, beträgt, zusammen kommt",
    "décidé, convenu, approuvé, confirmé, confirmée, réservé",
    "réservée, annulé, remboursé, au total",
    "decidido, acordado, aprobado, confirmado, confirmada, reservado, reservada, cancelado",
    "reembolsado, en total, el resultado es",
    "aprovado, cancelada, reembolsado, no total, deciso, concordato, approvato, confermato",
    "prenotato, annullato, in totale",
    "решено, решили, согласовано, одобрено, подтверждено, забронировано",
    "отменено, итого, возвращено",
    "决定*, 決定*, 已确认*, 已確認*, 已预订*, 预订号*, 已取消*, 总计*",
    "總計*, 合计*, 结果是*, 同意*, 批准*",
    "承認*, 予約*, 合計*, 確認しました*, 結論*, 返金*",
    "결정*, 확인했*, 예약*, 취소*, 합계*, 승인*, 환불*",
    "قررنا*, تم تأكيد*, مؤكد*, تم حجز*, الحجز*, تم إلغاء*, المجموع*, الإجمالي*, النتيجة هي*",
    "तय किया*, पुष्टि*, बुक*, रद्द*, कुल*",
    "karar verdik, onaylandı, rezervasyon, iptal edildi, toplam",
)
