# ruff: noqa: E501, RUF001 - sentences of many languages
"""Small talk recalls nothing, and questions do, in the languages of the interface and some more."""

import pytest

from condense import CharacterCounter, MemoryRecall, Message, recalled_block, with_subject
from tests.condense.dialogues import numbered

SMALL_TALK = {
    "en": "Thank you so much, that helps.|Good evening!|Nice work, keep going.|Alright, got it.|Are you still there?|Great stuff, carry on.|Wait, back in a sec.",
    "de": "Vielen Dank, das hilft mir sehr.|Guten Abend!|Gut gemacht, weiter geht's.|Alles klar, verstanden.|Bist du noch da?|Schönen Feierabend!|Ach so, jetzt hab ich's kapiert.",
    "fr": "Merci beaucoup, ça m'aide bien.|Bonsoir !|Bien joué, continue comme ça.|C'est noté, compris.|Comment ça va aujourd'hui ?|Bonne soirée à toi.|Une seconde, je reviens tout de suite.",
    "es": "Muchas gracias, me ayuda mucho.|¡Buenas noches!|Buen trabajo, sigue así.|De acuerdo, entendido.|¿Sigues ahí?|Sin prisa, tómate tu tiempo.|Espera un momento, ahora vuelvo.",
    "pt": "Muito obrigada, isso ajuda bastante.|Boa noite!|Bom trabalho, continue assim.|Certo, entendi.|Vamos continuar?|Oi, tudo bem com você?",
    "ru": "Большое спасибо, это очень помогло.|Добрый вечер!|Отлично, продолжай.|Ладно, понял.|Как у тебя дела сегодня?|Не спеши, всё нормально.|Секунду, сейчас вернусь.",
    "zh": "非常感谢，很有帮助。|晚上好！|做得好，加油。|明白了，收到。|你还在吗？|祝你周末愉快。|稍等一下，我马上回来。",
    "ja": "どうもありがとうございます、助かります。|こんばんは！|よくできました、続けてください。|了解しました。|今日は元気ですか？|あはは、面白いね。|ちょっと待ってて、すぐ戻ります。",
    "ko": "정말 고마워요, 도움이 됐어요.|좋은 저녁이에요!|잘했어요, 계속하세요.|알겠습니다, 이해했어요.|아직 거기 있어요?|안녕, 잘 지냈어?",
    "hi": "बहुत बहुत धन्यवाद, इससे मदद मिली।|शुभ संध्या!|अच्छा काम, ऐसे ही करते रहो।|ठीक है, समझ गया।|आज आप कैसे हैं?|आपका दिन शुभ हो।",
    "ar": "شكرا جزيلا، هذا يساعدني كثيرا.|مساء الخير!|عمل جيد، استمر هكذا.|حسنا، فهمت.|كيف حالك اليوم؟|أتمنى لك يوما سعيدا.|لحظة واحدة، سأعود حالا.",
    "it": "Grazie mille, mi aiuta molto.|Come stai?|Buonasera!|Ciao di nuovo!|Grazie, va bene così.|Andiamo avanti?|Ahah, bellissimo.",
    "th": "ขอบคุณมาก เยี่ยมเลย|สวัสดี สบายดีไหม|โอเค ไปต่อได้เลย",
}
ASKS = {
    "en": "Where does Anna live?|remind me how high the deposit was|What did we decide about the roof?|how tall is the water tower",
    "de": "Wo wohnt Anna?|erinnere mich an die Höhe der Kaution|Was haben wir wegen dem Dach beschlossen?",
    "fr": "Où habite Anna ?|rappelle-moi le montant de la caution|Qu'avons-nous décidé pour le toit ?",
    "es": "¿Dónde vive Anna?|recuérdame cuánto era la fianza del piso|¿Qué decidimos sobre el tejado?",
    "pt": "Onde mora a Anna?|me lembra quanto era a caução do apartamento|O que decidimos sobre o telhado?",
    "ru": "Где живёт Анна?|напомни, сколько был залог за квартиру|Что мы решили насчёт крыши?",
    "zh": "安娜住在哪里？|提醒我押金是多少|屋顶的事我们怎么决定的？",
    "ja": "アンナはどこに住んでいますか？|敷金がいくらだったか教えて|屋根についてどう決めましたか？",
    "ko": "안나는 어디에 살아요?|보증금이 얼마였는지 알려 줘|지붕은 어떻게 하기로 했죠?",
    "hi": "अन्ना कहाँ रहती है?|मुझे याद दिलाओ जमा राशि कितनी थी|छत के बारे में हमने क्या तय किया?",
    "ar": "أين تسكن آنا؟|ذكرني كم كان مبلغ التأمين|ماذا قررنا بشأن السقف؟",
    "th": "แอนนาอยู่ที่ไหน|เตือนฉันหน่อยว่าเงินมัดจำเท่าไร",
    "it": "Dove abita Anna?|ricordami quanto era la caparra di casa|Cosa abbiamo deciso sul tetto?",
}


# Whose words were said, each of another thing, in any order.
SAID = [
    "The old house by the lake would have cost us a million.",
    "We saved the receipts of the trip in a folder.",
    "The deposit was nine hundred euros.",
    "Anna paints boats.",
]


@pytest.mark.parametrize(
    ("said", "recalls"),
    [
        ("Thanks a million, you saved me!", False),
        ("What was a million, and what was saved", True),
        ("Forget the million and the receipts.", True),
        ("Million, folder, deposit, boats", True),
        ("Folder with the receipts", True),
        ("A million", False),
        ("A million?", True),
    ],
)
def test_words_that_were_never_said_together_recall_nothing(said: str, recalls: bool) -> None:
    """Unless they are many, or asked for."""
    search = MemoryRecall(numbered([Message("user", one) for one in SAID]))
    block = recalled_block(search(said, 9), counter=CharacterCounter(), limit=1_500)
    assert bool(block) == recalls


@pytest.mark.parametrize("language", SMALL_TALK)
def test_small_talk_recalls_nothing_and_a_question_does(language: str) -> None:
    """Though all its words were said before."""
    for said in SMALL_TALK[language].split("|"):
        assert with_subject(said, lambda: "Where does Anna live?") == said
    for said, recalls in ((SMALL_TALK[language], False), (ASKS[language], True)):
        search = MemoryRecall(numbered([Message("user", one) for one in [said, *said.split("|")]]))
        blocks = {
            one: recalled_block(search(one, 9), counter=CharacterCounter(), limit=1_500)
            for one in said.split("|")
        }
        assert [one for one, block in blocks.items() if bool(block) != recalls] == []


@pytest.mark.parametrize(
    "question",
    [
        "And the other one?",
        "tell me her age",
        "Und der andere?",
        "Et le sien ?",
        "¿Cuánto nos debe?",
        "А у неё?",
        "那另一个呢？",
        "じゃあ、彼女は？",
        "والآخر؟",
        "और उसका?",
    ],
)
def test_a_question_that_says_little_is_asked_with_the_words_before_it(question: str) -> None:
    """One that names its subject needs none, and neither does what asks nothing."""
    assert with_subject(question, lambda: "Anna paints boats.") == f"{question}\nAnna paints boats."
    for other in ("What did Anna say about the roof of the house?", "The other one"):
        assert with_subject(other, lambda: "Boats.") == other
