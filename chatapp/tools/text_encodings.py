"""Encodings of text files: UTF-8, what a mark says, and else what fits the bytes best."""

import re
from contextlib import suppress

_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16",
}  # fmt: skip
# Those that people still have files in. The first are read whatever else might fit.
_FAR_EAST = {
    "gb18030": "GBK", "big5": "Big5", "cp932": "Shift-JIS", "euc-jp": "EUC-JP", "cp949": "EUC-KR",
}  # fmt: skip
_OTHERS = ("koi8-r", "cp866", "cp874", *map("windows-125{}".format, range(7)))
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
# What the detector makes of less than a word, or with less confidence, is a guess of its own.
_WORD, _SURE = re.compile(rb"[\x80-\xff]{2}"), 0.1


def decode(data: bytes) -> tuple[str, str, str]:
    """Return a text, its codec, and what was guessed; raise UnicodeError for what is no text."""
    codec = next((codec for mark, codec in _MARKS.items() if data.startswith(mark)), "utf-8")
    with suppress(UnicodeError):
        text = data.decode(codec)
        if "\0" not in text:
            return text, codec if codec == "utf-8" or text.encode(codec) == data else "", ""
    if _CONTROL.search(data):
        raise UnicodeError
    text, codec = data.decode(errors="replace"), "utf-8"
    if not _is_mostly_whole(text):
        import chardet  # noqa: PLC0415 - only where something is not UTF-8

        found = chardet.detect(data, include_encodings=(*_FAR_EAST, *_OTHERS))
        codec = str(found["encoding"]).lower()
        is_sure = found["confidence"] >= _SURE or codec == "windows-1250"
        if codec not in _FAR_EAST and not (is_sure and _WORD.search(data)):
            codec = "windows-1252"
        text = data.decode(codec, errors="replace")
        if not _is_mostly_whole(text):
            codec, text = "windows-1252", data.decode("windows-1252")
    return text, "" if "\ufffd" in text else codec, _FAR_EAST.get(codec, codec.upper())


def _is_mostly_whole(text: str) -> bool:
    return len(text) - len(text.encode("ascii", "ignore")) > 2 * text.count("\ufffd")
