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
_OTHERS = ("koi8-r", "ibm866", "cp874", *map("windows-125{}".format, range(7)))
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
# Kana of Shift-JIS, which the detector misses in some texts, and the part of a text that tells.
_KANA, _MOST = re.compile("[\u3041-\u30fc]"), 100_000
_HIGH, _LATIN = re.compile(rb"[\x80-\xff]"), {"windows-1250", "windows-1254"}
# Latin letters stand among ASCII: a rarer encoding must fit them better by this much.
_CLEARLY = 3


def decode(data: bytes) -> tuple[str, str, str]:
    """Return a text, its codec, and what was guessed; raise UnicodeError for what is no text."""
    codec = next((codec for mark, codec in _MARKS.items() if data.startswith(mark)), "utf-8")
    with suppress(UnicodeError):
        text = data.decode(codec)
        if "\0" not in text:
            return text, codec if codec == "utf-8" or text.encode(codec) == data else "", ""
    if _CONTROL.search(data):
        raise UnicodeError
    text = data.decode(errors="replace")
    if codec == "utf-8-sig" or _is_mostly_whole(text):
        return text.removeprefix("\ufeff"), "", "UTF-8"
    # The last has a letter for each byte.
    for codec in (_guess(data), "windows-1252", "cp850"):
        text = data.decode(codec, errors="replace")
        if _is_mostly_whole(text) and (codec in _FAR_EAST or "\ufffd" not in text):
            break
    return text, "" if "\ufffd" in text else codec, _FAR_EAST.get(codec, codec.upper())


def _guess(data: bytes) -> str:
    import chardet  # noqa: PLC0415 - only where something is not UTF-8

    # Much ASCII around a few words would hide what they are written in.
    words = b"\n".join(word for word in data.split() if not word.isascii())[:_MOST]
    letters = words.decode("cp932", errors="ignore")
    if 3 * len(_KANA.findall(letters)) > len(letters) - len(letters.encode("ascii", "ignore")):
        return "cp932"
    known = (*_FAR_EAST, *_OTHERS)
    found = chardet.detect_all(words, include_encodings=known, ignore_threshold=True)
    fits = {str(one["encoding"]).lower(): one["confidence"] for one in found}
    codec = next((name for name in fits if name in known), "windows-1252")
    if codec in _FAR_EAST or 2 * len(words) < 3 * len(_HIGH.findall(words)):
        return codec
    is_clear = codec in _LATIN and fits[codec] >= _CLEARLY * fits.get("windows-1252", 0)
    return codec if is_clear else "windows-1252"


def _is_mostly_whole(text: str) -> bool:
    return len(text) - len(text.encode("ascii", "ignore")) > 2 * text.count("\ufffd")
