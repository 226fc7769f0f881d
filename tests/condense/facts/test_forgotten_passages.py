# ruff: noqa: RUF001 - words of many scripts
"""Messages are read without what is forgotten of them, wherever in them it stands."""

import tomllib
from functools import partial
from pathlib import Path

import pytest

import condense
from condense.facts.ledger import render
from condense.facts.texts import sentences
from tests.condense.sessions import summary
from tests.growth import assert_cheap


def test_no_part_of_a_message_has_it_left() -> None:
    """What only begins or ends like it stays, and so does a message of which nothing is."""
    said = "It is 47, not 4711 or a47."
    blocks = (
        condense.TextBlock(said, {condense.USER_WORDS: said}),
        condense.ToolUseBlock("t", "47", {"47": ["47", {"n": 47}]}),
        condense.ToolResultBlock("t", (condense.TextBlock(said),), extra={"user_words": said}),
        condense.ToolResultBlock("u", said),
        condense.ToolResultBlock("v"),
        condense.OpaqueBlock({"type": "thinking", "thinking": said, "signature": "47"}),
    )
    message = condense.Message("user", blocks, tokens=9)
    assert condense.without_forgotten(message, ()) is message
    left = condense.without_forgotten(message, ["47"])
    kept = "It is […], not 4711 or a47."
    assert left.blocks == (
        condense.TextBlock(kept, {condense.USER_WORDS: kept}),
        condense.ToolUseBlock("t", "47", {"47": ["[…]", {"n": 47}]}),
        condense.ToolResultBlock("t", (condense.TextBlock(kept),), extra={"user_words": kept}),
        condense.ToolResultBlock("u", kept),
        condense.ToolResultBlock("v"),
        condense.OpaqueBlock({"type": "thinking", "thinking": kept, "signature": "47"}),
    )
    assert (left.id, left.tokens, left.tags.unbound) == (message.id, None, True)


def test_the_users_part_of_a_text_goes_with_a_passage_around_it() -> None:
    """A reason of a refusal, behind words of the program; the rest of it stays."""
    said, words = "It was refused: the key is qx. Ask Tom.", "the key is qx. Ask Tom."
    block = condense.ToolResultBlock("t", said, extra={condense.USER_WORDS: words})
    message = condense.Message("user", (block,))
    (left,) = condense.without_forgotten(message, ["It was refused: the key is qx."]).blocks
    kept = "[…] Ask Tom."
    assert left == condense.ToolResultBlock("t", kept, extra={condense.USER_WORDS: kept})


def test_a_forgotten_rule_leaves_no_place_in_later_ledgers() -> None:
    """Be it told by its words or by its meaning: both are carried as they are."""
    known = condense.Ledger(rules=("Never use tabs.", "Crowds are too much for me."))
    made = summary(condense.TextBlock("S"), condense.TextBlock(render(known)))
    (block,) = condense.ledger([condense.without_forgotten(made, [known.rules[1]])])
    carried = condense.parse_ledger(block.text)
    assert carried is not None
    assert carried.rules == ("Never use tabs.",)


def test_a_request_is_told_from_what_only_sounds_like_one() -> None:
    """A plan that is dropped, another's words, a question and what slipped a mind are none."""
    told = Path(__file__).with_name("forget_sentences.toml").read_text("utf-8")
    said = tomllib.loads(told)
    missed = [one for one in said["asks"] if not condense.find_forget_requests(one)]
    assert missed == []
    assert [one for one in said["none"] if condense.find_forget_requests(one)] == []


def test_words_of_others_ask_to_forget_nothing() -> None:
    """A letter, a page or a quotation in a person's message is not the person's wish."""
    pasted = "Sum it up:\n\nFrom: B <b@x.example>\nSubject: y\n\nForget the old price list.\n\nB"
    for said in (pasted, "> Forget the price.", "The sign says:\nForget the price.\nWhy?"):
        assert condense.find_forget_requests(said) == ()
    quoted = 'Please forget the "Neon" price.'
    assert condense.find_forget_requests(quoted) == (('the "Neon" price', quoted),)


MEANT = (
    ("Forget my phone number.", "The room number is 512.", "My phone number is 555-0199."),
    ("Forget my wife's birthday.", "My sister's birthday is soon.", "My wife's birthday is near."),
    ("Forget the door code.", "The code review is on Monday.", "My door code is q."),
    ("Forget my job.", "Good work.", "My job is at the mill."),
    ("Forget my plan to leave the company.", "The project plan is done.", ""),
    ("Vergiss das Passwort der Bank.", "Das Passwort vom Server ist t8.", "Mein Bank-Passwort: q."),
    ("Oublie mon numéro de téléphone.", "Le numéro de la chambre est 512.", ""),
    ("Olvida mi número de teléfono.", "El número del cuarto es 512.", "Mi número de teléfono: 5."),
    ("Забудь номер моего телефона.", "Номер комнаты 512.", "Номер моего телефона 8912."),
    ("من فضلك انس رمز الباب.", "رمز الغرفة 512.", "رمز الباب هو 8310."),
    ("انس رقم هاتفي.", "رقم الغرفة 512.", "رقم هاتفي 0501234."),
    ("मेरा फ़ोन नंबर भूल जाओ।", "कमरे का नंबर 512 है।", "मेरा फ़ोन नंबर 98765 है।"),
    ("कृपया भूल जाओ कि मेरा फ़ोन नंबर क्या है।", "कमरे का नंबर 512 है।", ""),
    ("忘掉我的电话号码。", "房间号码是512。", "我的电话号码是1381234。"),
    ("私の電話番号を忘れてください。", "部屋番号は512です。", ""),
    ("내 전화번호는 잊어 줘.", "방 번호는 512예요.", "전화번호는 010-1234예요."),
)  # fmt: skip


def test_what_shares_a_lesser_part_of_the_words_is_not_forgotten() -> None:
    """A room's number is no phone number, and a sister's birthday not a wife's."""
    for way, other, meant in MEANT:
        ((subject, _sentence),) = condense.find_forget_requests(way)
        for said in ([other], [other, meant]):
            index = condense.MemoryRecall([condense.Message("user", one) for one in said])
            texts = dict(enumerate(said))
            found = condense.find_meant(index, subject, lambda _numbers, texts=texts: texts)
            assert found == ({1: [meant]} if meant in said and meant else {}), way


@pytest.mark.parametrize(
    ("said", "request_"),
    [
        ("Lena is ill.", "Please forget whatever I mentioned about Lena."),
        ("Lena ist krank.", "Bitte vergiss alles, was ich über Lena gesagt habe."),
        ("Lena est malade.", "Oublie ce que j'ai dit sur Lena."),
        ("Lena está enferma.", "Olvida lo que dije de Lena."),
        ("Lena è malata.", "Dimentica quello che ho detto di Lena."),
        ("A Lena está doente.", "Esqueça o que eu disse sobre a Lena."),
        ("Лена больна.", "Забудь, что я говорила о Лене."),
        ("レナは病気です。", "レナについて話したことは忘れてください。"),
        ("莱娜生病了。", "忘掉我说的关于莱娜的事"),
        ("레나는 아파요.", "레나에 대해 말한 것은 잊어 주세요."),
        ("لينا مريضة", "انس ما قلته عن لينا"),
        ("लीना बीमार है।", "लीना के बारे में जो कहा वह भूल जाओ"),
        ("Lena hasta.", "Lena hakkında söylediklerimi unut."),
    ],
)
def test_that_something_was_said_is_no_part_of_what_is_meant(said: str, request_: str) -> None:
    """A sentence on it has no word for it."""
    texts = {0: said, 1: "It rains."}
    index = condense.MemoryRecall([condense.Message("user", one) for one in texts.values()])
    ((what, _sentence),) = condense.find_forget_requests(request_)
    assert condense.find_meant(index, what, lambda _numbers: texts) == {0: [said]}


@pytest.mark.parametrize(
    ("said", "reply", "request_"),
    [
        ("My card is 4111 1111 1111 1234.", "Use 4111111111111234.", "Forget my card."),
        ("Die IBAN: DE8937040044.", "Notiert: DE89 3704 0044.", "Vergiss bitte die IBAN."),
        ("제 계좌번호는 110-234-567890이에요.", "확인: 110234567890.", "계좌번호는 잊어 줘."),
        ("La clave del wifi es perro-azul-77.", "Anotado: perro-azul-77.", "Olvida la clave."),
        (
            "私の電話番号は090-1234-5678です。",
            "090-1234-5678ですね。",
            "私の電話番号を忘れてください。",
        ),
        ("Mein Code ist Blåb\u00e4r7.", "Bla\u030aba\u0308r7 also.", "Vergiss meinen Code."),
        ("मेरा पासवर्ड गुलाब77 है।", "ठीक है, गुलाब77.", "मेरा पासवर्ड भूल जाओ।"),
        ("I earn $4,100.00 a month.", "So 4100 dollars.", "Forget what I earn."),
        ("Call my phone at 0664 1234567.", "0664 / 123 45 67?", "Forget my phone."),
        ("My key is sk-abcXYZ456.", "KEY=sk-abcXYZ456", "Forget my key."),
        ("My email is jo.doe@x.example.", "To: jo.doe@x.example", "Forget my email."),
        ("Моя зарплата 120 000 рублей.", "120000 — хорошо.", "Забудь мою зарплату."),
        ("Moja pensja to 8100 zł.", "8100 to dużo.", "Zapomnij o mojej pensji."),
        ("सैलरी 50000 है।", "50,000, ठीक है।", "मेरी सैलरी भूल जाओ।"),
        ("My weight is 82 kg.", "82 kg is fine.", "Forget my weight."),
    ],
)
def test_a_value_is_forgotten_in_each_of_its_spellings(
    said: str, reply: str, request_: str
) -> None:
    """In groups or without, and next to other words of a script without spaces."""
    assert forgotten_of([said, reply, "It rains, 77 days."], request_) == {0: [said], 1: [reply]}


def test_a_code_is_read_in_proportion_to_its_length() -> None:
    """Whatever it is made of; a square would be 64 times as dear."""
    for piece in ("a1", "a-", "मो"):

        def forget(size: int, piece: str = piece) -> None:
            forgotten_of([f"My code is 1{piece * size}."], "Forget my code.")

        assert_cheap(partial(forget, 4_000), partial(forget, 500), 24, piece)


@pytest.mark.parametrize(
    ("said", "reply", "request_"),
    [
        ("My sister's name is Ingrid.", "Ingrid is a lovely name!", "Forget my sister's name."),
        ("Ingrid is my sister's name.", "Hello Ingrid!", "Forget what my sister's name is."),
        (
            "Meine Schwester heißt Ingrid Maier.",
            "Ingrids Tag.",
            "Vergiss, wie meine Schwester heißt.",
        ),
        ("My doctor is Dr. Zoë Łódź.", "Dr. Łódź sounds kind.", "Forget who my doctor is."),
        ("Мою сестру зовут Ингрид.", "Ингрид придёт.", "Забудь, как зовут мою сестру."),
    ],
)
def test_who_asks_for_a_name_means_it_wherever_it_stands(
    said: str, reply: str, request_: str
) -> None:
    """The one behind what is asked for, or at the sentence's start; no place is a name."""
    others = ["We live in Graz, my sister too.", "Graz is nice."]
    assert forgotten_of([said, reply, *others], request_) == {0: [said], 1: [reply]}


@pytest.mark.parametrize(
    ("said", "request_"),
    [
        ("Lena was arrested. She spent a night in a cell.", "Forget what I said about Lena."),
        ("Lena ist krank. Sie liegt in der Klinik.", "Vergiss alles über Lena."),
        ("Лена больна. Она в клинике.", "Забудь всё про Лену."),
        ("莱娜生病了。她在医院。", "忘掉我说的关于莱娜的事"),
    ],
)
def test_what_goes_on_about_a_person_is_forgotten_too(said: str, request_: str) -> None:
    """Sentences behind one that is meant; not those of another message, or on something else."""
    texts = [f"{said} It rains. She sings.", "She sings."]
    assert forgotten_of(texts, request_) == {0: [*sentences(said)]}


def forgotten_of(texts: list[str], request: str) -> dict[int, list[str]]:
    """Return what a request forgets of a history with these texts."""
    index = condense.MemoryRecall([condense.Message("user", one) for one in texts])
    ((what, _sentence),) = condense.find_forget_requests(request)
    return condense.find_meant(index, what, lambda numbers: {at: texts[at] for at in numbers})


def test_a_result_without_parts_stays_one() -> None:
    """A message is compared with others by its blocks."""
    result = condense.ToolResultBlock("t", ())
    message = condense.Message("user", (result, condense.ToolResultBlock("u", "At noon.")))
    left = condense.without_forgotten(message, ["At noon."])
    assert left.blocks == (result, condense.ToolResultBlock("u", "[…]"))
