"""Old MathML in the words of MathML Core, which is what browsers draw."""

import re
import unicodedata
from xml.etree.ElementTree import Element

_WITH_LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_LIMITING = frozenset({"lim", "max", "min", "sup", "inf"})
_OVER_AND_UNDER = frozenset(_WITH_LIMITS.values())
_ROWS = frozenset({"math", "mrow", "mstyle", "mtd", "msqrt", "menclose", "mphantom"})
# Infinity, the empty set, true and false, which the library takes for operators.
_NO_OPERATORS = frozenset("\u221e\u2205\u22a4\u22a5")
_SIMILAR = "\u223c"
# What the library draws a line above or below with; it would not stretch.
_LINE = "\u2015"
_SIZE = re.compile(r"-?0?\.\d{1,4}em|0|\d{1,2}(?:\.\d{1,4})?(?:em|ex|px|pt|mm|cm)")
_NAME = re.compile(r"[^\W\d_]{2,}(?:\s[^\W\d_]+)?")
_THIN = "0.167em"
_WIDTHS = {"thinmathspace": _THIN, "mediummathspace": "0.222em", "thickmathspace": "0.278em"}


def modernize(tree: Element) -> None:
    """Rewrite what the library writes and browsers do not know, or draw otherwise."""
    for element in tree.iter():
        _mend_letters(element)
        _mend_symbol(element)
        _mend_size(element)
        if element.tag == "mtable":
            _rule_columns(element)
        if element.tag in _OVER_AND_UNDER:
            _mend_over(element)
    for element in tree.iter():
        _mend_limits(element)
        if element.tag in _ROWS:
            _space_names(element)


def _mend_letters(element: Element) -> None:
    """Browsers know no style of letters but by the letters themselves."""
    style = element.get("mathvariant", "normal")
    if element.tag in {"mi", "mn", "mo"} and style != "normal":
        element.text = "".join(_find_letter(one, style) for one in element.text or "")
        del element.attrib["mathvariant"]


def _find_letter(letter: str, style: str) -> str:
    name = re.sub("(?:LATIN|GREEK|LETTER) ", "", unicodedata.name(letter, ""))
    style = style.upper().replace("-ITALIC", " ITALIC")
    for styled in (f"MATHEMATICAL {style} {name}", f"{style} {name}"):
        try:
            return unicodedata.lookup(styled)
        except KeyError:
            continue
    return letter


def _mend_symbol(element: Element) -> None:
    """Signs have the space of operators around them, and only those."""
    text = element.text = _SIMILAR if element.text == "~" else element.text or ""
    if element.tag == "mo" and text in _NO_OPERATORS:
        element.tag = "mi"
    elif element.tag == "mi" and len(text) == 1 and text not in _NO_OPERATORS:
        kind = unicodedata.category(text)
        if kind in {"Sm", "Ps", "Pe"}:
            element.tag = "mo"
            element.attrib |= {} if kind == "Sm" else {"stretchy": "false"}


def _mend_size(element: Element) -> None:
    """Sizes are named no more; what is written as one may be no size, or any."""
    for name in {"width", "linethickness"} & element.attrib.keys():
        size = element.attrib.pop(name)
        plain = size.removeprefix("negative")
        if plain in _WIDTHS:
            size = ("" if plain == size else "-") + _WIDTHS[plain]
        if _SIZE.fullmatch(size):
            element.set(name, size)


def _rule_columns(table: Element) -> None:
    """Lines between columns are a class of the cells before them."""
    lines = table.get("columnlines", "").split()
    for row in table:
        for cell, line in zip(row, lines, strict=False):
            if line != "none":
                cell.set("class", "ruled")


def _mend_over(element: Element) -> None:
    """A line is the border of a box, and an arrow must be the base itself to stretch."""
    if element[1].text == _LINE:
        element.set("notation", "top" if element.tag == "mover" else "bottom")
        element.tag = "menclose"
        element.remove(element[1])
    elif element[0].tag == "mstyle":
        element[0] = element[0][0]


def _mend_limits(element: Element) -> None:
    """Below and above is where limits stand in a display, which the browser decides."""
    if element.tag in _WITH_LIMITS and len(element):
        base = element[0]
        if base.tag == "mo" and (base.get("movablelimits") or _takes_limits(base.text or "")):
            element.tag = _WITH_LIMITS[element.tag]
            base.set("movablelimits", "true")


def _takes_limits(operator: str) -> bool:
    return operator in _LIMITING or (
        len(operator) == 1 and unicodedata.name(operator, "").startswith("N-ARY")
    )


def _space_names(row: Element) -> None:
    """Names of functions stand apart from their neighbours, but for brackets."""
    parts = list(row)
    for before, part, after in zip([None, *parts], parts, [*parts[1:], None], strict=False):
        name = _first_leaf(part)
        if name.tag in {"mi", "mo"} and _NAME.fullmatch(name.text or ""):
            name.tag = "mo"
            apart = before is not None and (before.tag != "mo" or before.text in {")", "]"})
            follows = after is not None and _first_leaf(after).tag != "mo"
            name.attrib |= {"lspace": _THIN if apart else "0", "rspace": _THIN if follows else "0"}
        elif part.tag == "mrow" and len(part) == 1 and name.tag == "mo":
            # In braces of its own, a sign is a letter: that is how thousands are separated.
            name.attrib |= {"lspace": "0", "rspace": "0"}


def _first_leaf(element: Element) -> Element:
    while len(element):
        element = element[0]
    return element
