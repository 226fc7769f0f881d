"""Encodings of text files: UTF-8, that of a byte order mark, or the best fit for the bytes."""
# ruff: noqa: RUF001 - letters of other scripts

import re
from contextlib import suppress

_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32"}
_MARKS |= {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# Characters from which a text of wide letters is recognised, and those that are examined.
_LEAST, _SAMPLE = 4, 4_000
# A log has more bytes than this, and fewer than one zero among as many.
_FEW = 20
_NAMES = {"gb18030": "GBK", "big5": "Big5", "cp932": "Shift-JIS", "cp949": "EUC-KR"}
# Encodings that people still have files in, with usual letters; of equals, the first is taken.
_USUAL = {codec: letters for codecs, letters in {
    "gb18030 big5": "的一是不了人在有，。", "cp932 euc-jp": "のにはをたがでてとしれいるスン、。",
    "windows-1252": "àâåçèêëîïñôøßãæ¿ùòµ½äöüéû°", "windows-1254": "ığşçäöüé",
    "windows-1255": "יוהלאתמרבש", "windows-1250": "ąćęłńśźżčďěňřšťůžőűşţăäöüé",
    "windows-1251 koi8-r cp866": "оеаинтсрвлк",
    "windows-1253": "αοιετνσρκπηυίόάέή", "cp949": "이다는을가에의하고지로기",
    "windows-1256": "اليمنترودبهة", "cp874": "านรกอเงมยลวท",
}.items() for codec in codecs.split()}  # fmt: skip


def decode(data: bytes) -> tuple[str, str, str]:
    """Return a text, its codec and the guessed encoding; raise UnicodeError for no text."""
    codec = next((codec for mark, codec in _MARKS.items() if data.startswith(mark)), "utf-8")
    with suppress(UnicodeError):
        text = data.decode(codec)
        if "\0" not in text:
            return text, codec if codec == "utf-8" or text.encode(codec) == data else "", ""
    if b"\0" in data:
        return _with_zeros(data)
    if re.search(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]", data):
        raise UnicodeError
    if codec == "utf-8-sig":
        return data.decode(codec, errors="replace"), "", ""
    text = data.decode(errors="replace")
    if len(text) - len(text.encode("ascii", "ignore")) <= 2 * text.count("\ufffd"):
        parts = [part for part in re.split(rb'[\r\n"<>,;]', data) if not part.isascii()]
        # In scripts that take two bytes a letter, some stand next to each other.
        is_wide = re.search(rb"[\x80-\xff]{2}", data) is not None
        codecs = [codec for codec in _USUAL if is_wide or codec not in {*_NAMES, "euc-jp"}]
        codec = max(codecs, key=lambda codec: _fit(b"\n".join(parts)[:4000], codec))
        if codec not in _NAMES and not re.search(rb"[a-z\x80-\xff][\x80-\xff]", data):
            codec = "windows-1252"  # anything else made of less than a word is far-fetched
        text = data.decode(codec, errors="replace")
    return text, "" if "\ufffd" in text else codec, _NAMES.get(codec, codec.upper())


def _with_zeros(data: bytes) -> tuple[str, str, str]:
    """Return the same of a text of wide letters without a mark, or of a log with some zeros."""
    for codec in _WIDE:
        with suppress(UnicodeError):
            begun = data[:_SAMPLE].decode(codec)
            letters = sum(c.isspace() or " " <= c < "\u0250" for c in begun)
            is_wide = len(begun) >= _LEAST and 2 * letters > len(begun)
            if is_wide and all(c.isspace() or c.isprintable() for c in begun):
                return data.decode(codec), codec, codec.upper()
    words = data.strip(b"\0")
    if len(words) <= _FEW or _FEW * words.count(b"\0") >= len(words):
        raise UnicodeError
    # A crash leaves a part of a file empty, and so does a program that goes on in one cut short.
    text, _codec, guess = decode(words.replace(b"\0", "\ufffd".encode()))
    return text, "", guess


def _fit(data: bytes, codec: str) -> float:
    from charset_normalizer import from_bytes  # noqa: PLC0415 - only where something is not UTF-8

    text = data.decode(codec, errors="ignore")
    whole = text.encode(codec, errors="ignore") + b"\n"
    it = from_bytes(whole * (200 // len(whole) + 1), cp_isolation=[codec], threshold=9)[0]
    usual = sum(c in _USUAL[codec] for c in text.lower()) / (2 + sum(c > "\x7f" for c in text))
    return it.coherence + it.multi_byte_usage + usual - 5 * it.chaos + 10 * len(whole) / len(data)
