"""Sentences of a text as elements of its HTML, so that something can be said about each."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from markdown_it.token import Token

# Key in the environment: the list that the sentences are added to.
SENTENCES = "sentences"

_END = re.compile(r"(?<=[.!?…؟۔।])(?=\s)|(?<=[。！？])")
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
    for token in (*children, Token("softbreak", "", 0)):
        is_break = token.type in {"softbreak", "hardbreak"} and token.level == 0
        pieces = _END.split(token.content) if token.type == "text" and token.level == 0 else [""]
        for piece in pieces[:-1]:
            sentence.append(Token("text", "", 0, content=piece))
            parted, sentence = [*parted, *_marked(sentence, sentences)], []
        if is_break:
            parted, sentence = [*parted, *_marked(sentence, sentences), token], []
        elif pieces != [""]:
            sentence.append(Token("text", "", 0, content=pieces[-1]))
        else:
            sentence.append(token)
    return parted[:-1]


def _marked(sentence: Sequence[Token], sentences: list[str]) -> Sequence[Token]:
    text = " ".join("".join([one.content for one in sentence]).split())
    # A label belongs to what follows it.
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
