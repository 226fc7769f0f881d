"""What language people write in, so that a prompt can be chosen by it."""

import pytest

from condense import Configuration, TokenCount, language_in, language_of
from tests.condense.dialogues import call, result, user
from tests.condense.sessions import summary

SAID = {
    "en": "Why is the parser slow? Please fix it and tell me what it was.",
    "de": "Warum ist der Parser so langsam? Bitte nicht die API ändern.",
    "fr": "Pourquoi est-ce que le test échoue ? Il ne faut pas changer les données.",
    "es": "¿Por qué falla la prueba? No cambies los datos del cliente.",
    "pt": "Por que o teste falha? Não mude os dados do cliente, e diga o que é.",
    "it": "Perché il test non passa? Non cambiare i dati del cliente, che è importante.",
    "tr": "Bu test ne için çok yavaş? Veri ve şema değil, bir ayar olarak bak.",
    "ru": "Почему тест падает? Порт 8080 менять нельзя.",
    "zh": "端口8080不能改。请修复解析器。",
    "ja": "ポート8080は変更しないでください。設定を確認。",
    "ko": "포트 8080은 절대 바꾸지 마세요.",
    "ar": "لا تغير المنفذ 8080 من فضلك.",
    "hi": "कृपया पोर्ट 8080 मत बदलो।",
}


@pytest.mark.parametrize(("code", "text"), SAID.items())
def test_a_sentence_tells_its_language(code: str, text: str) -> None:
    """By its script, or by words that any sentence has."""
    assert language_of(text) == code


@pytest.mark.parametrize(
    "text", ["", "1", "OK", "make test", "x = 1", "Berlin, Paris, 東京 and Rome!"]
)
def test_what_tells_none_is_of_none(text: str) -> None:
    """Names, commands and single words are of any."""
    assert language_of(text) == ""


def test_the_newest_words_count_from_which_it_can_be_told() -> None:
    """Results of tools and summaries are nobody's, and "1" tells nothing."""
    talk = [user(SAID["fr"]), user(SAID["de"]), call(), result(text=SAID["en"]), user("1")]
    assert language_in(talk) == "de"
    assert language_in([summary(), *talk[2:]]) == ""


def test_a_configuration_fills_it_in() -> None:
    """Unless the caller knows better."""
    wanted, size = Configuration(), TokenCount(1)
    said = [user(SAID["ja"])]
    assert wanted.situation(said, size, wanted.budget(1_000)).language == "ja"
