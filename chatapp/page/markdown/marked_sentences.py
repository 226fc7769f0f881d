"""Sentences of a text as elements of its HTML, so that something can be said about each."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from markdown_it.token import Token

# Key in the environment: the list that the sentences are added to.
SENTENCES = "sentences"

_END = re.compile(r"[.!?…؟۔।。！？]$")
_PLACE = re.compile(r"(?<=[.!?…؟۔।])(?=\s)|(?<=[。！？])")
_BREAKS = {"softbreak", "hardbreak"}
_WORD = re.compile(r"\w")
# As the sanitizer leaves them.
_BEGINNING = re.compile(r'<span data-sentence="(\d+)">')
_REST = re.compile(r'<span data-marks="(\d+)"></span>')


def part_sentences(tokens: Sequence[Token], sentences: list[str]) -> None:
    """Make each sentence of all blocks but headings an element, and add its words to a list."""
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type != "heading_open":
            token.children = _parted(token.children or (), sentences)


def _parted(children: Sequence[Token], sentences: list[str]) -> list[Token]:
    parted, sentence = list[Token](), list[Token]()
    for token in children:
        is_plain = token.type == "text" and token.level == 0
        for piece in _PLACE.split(token.content) if is_plain else [""]:
            sentence.append(Token("text", "", 0, content=piece) if is_plain else token)
            if token.type in _BREAKS or (is_plain and _END.search(piece)):
                parted += _marked(sentence, sentences)
                sentence = []
    return [*parted, *_marked(sentence, sentences)]


def _marked(sentence: Sequence[Token], sentences: list[str]) -> Sequence[Token]:
    text = " ".join("".join([one.content for one in sentence]).split())
    # A label belongs to the sentence after it.
    if not _WORD.search(text) or text.endswith(":"):
        return sentence
    number = str(len(sentences))
    sentences.append(text)
    opening = Token("sentence_open", "span", 1, attrs={"data-sentence": number})
    marks = Token("marks_open", "span", 1, attrs={"data-marks": number})
    closing = Token("sentence_close", "span", -1)
    return [opening, *sentence, marks, closing, closing]


def fill_sentences(html: str, begin: Callable[[int], str], mark: Callable[[int], str]) -> str:
    """Return sanitized HTML with the beginning and the marks of each sentence, by its number."""
    html = _BEGINNING.sub(lambda found: begin(int(found[1])), html)
    return _REST.sub(lambda found: mark(int(found[1])), html)
