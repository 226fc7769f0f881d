"""LaTeX as MathML: all of a formula, or nothing."""

import functools
import re
import tomllib
import unicodedata
from contextlib import suppress
from html import unescape
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import Converter

_TABLE = tomllib.loads(Path(__file__).with_name("mathml.toml").read_text("utf-8"))
# The elements of formulas, and the attributes of each.
TAGS = {element: {*attributes} for element, attributes in _TABLE.items()}

# Elements inside elements: formulas of people stay under twenty.
_MAX_DEPTH = 60

_ALIGNED = (r"\begin{align*}", r"\end{align*}")
_STACKED = (r"\begin{displaylines}", r"\end{displaylines}")
_RENAMED = {
    **dict.fromkeys(["align", "aligned", "split", "flalign", "alignat", "alignedat"], _ALIGNED),
    **dict.fromkeys(("gather", "gathered", "multline"), _STACKED),
    **dict.fromkeys(("equation", "displaymath"), ("{", "}")),
    "dcases": (r"\begin{cases}", r"\end{cases}"),
    "eqnarray": (r"\begin{array}{rcl}", r"\end{array}"),
}
_ENVIRONMENT = re.compile(r"\\(begin|end) ?\{([a-z]+)\*?\}")
# Commands without an effect on a page, and those that the library can't read.
_REPLACED = (
    (re.compile(r"\\(?:nonumber|notag)(?![a-zA-Z])|\\label ?\{[^{}]*\}"), ""),
    (re.compile(r"(\\begin ?\{align(?:ed)?at\*?\}) ?\{\d+\}"), r"\1"),
    (re.compile(r"\\tag ?\{"), r"\\qquad\\tag{"),
    (re.compile(r"\\arg(?![a-zA-Z])"), r"\\operatorname{arg}"),
    (re.compile(r"(\\operatorname\*? ?\{[a-zA-Z]+)\\[,; ]([a-zA-Z]+\})"), r"\1 \2"),
)
# mhchem's commands and LaTeX's for them; other commands and words stay as they are.
_CHEMISTRY = re.compile(r"\\(ce|pu) ?\{((?:[^{}]|\{[^{}]*\})*+)\}")
_WRITTEN = tomllib.loads(Path(__file__).with_name("chemistry.toml").read_text("utf-8"))
_LETTERS = re.compile(r"(\\text\{[^{}]*\}|\\[a-zA-Z]+)|[a-zA-Z]+")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_PARTS = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
_COMMAND = re.compile(r"\\[a-zA-Z]")
# The library's sign to strike through another one, which browsers do not draw.
_STROKE = "\u29f8"

_WITH_LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_LIMITING = frozenset({"lim", "max", "min", "sup", "inf"})
# Infinity, the empty set, true and false, which the library takes for operators.
_NO_OPERATORS = frozenset("\u221e\u2205\u22a4\u22a5")
# The library's line above or below a sign; it would not stretch.
_LINE = "\u2015"
_SIZE = re.compile(r"-?0?\.\d{1,4}em|0|\d{1,2}(?:\.\d{1,4})?(?:em|ex|px|pt|mm|cm)")
_NAME = re.compile(r"[^\W\d_]{2,}(?:\s[^\W\d_]+)?")
_THIN = "0.167em"
_WIDTHS = {"thinmathspace": _THIN, "mediummathspace": "0.222em", "thickmathspace": "0.278em"}


# While a paragraph streams, its finished formulas are asked for again and again.
@functools.lru_cache(maxsize=512)
def to_mathml(latex: str, *, display: bool) -> str | None:
    """Return the formula as MathML, unsanitised, or None unless all of it is understood."""
    try:
        # The library's patterns take quadratic time in runs of spaces. Lines stay, as they end
        # comments.
        latex = "\n".join(" ".join(line.split()) for line in latex.splitlines())
        # An empty line parts two formulas, or means nothing.
        latex = re.sub(r"\n\n+", "\n" if "\\\\" in latex else r"\\\\" + "\n", latex.strip())
        latex = _CHEMISTRY.sub(_write_chemistry, latex)
        for pattern, words in _REPLACED:
            latex = pattern.sub(words, latex)
        latex = _ENVIRONMENT.sub(
            lambda found: _RENAMED.get(found[2], (found[0], found[0]))[found[1] == "end"], latex
        )
        tree = _convert(latex, display=display)
        _mend(tree)
        return tostring(tree, encoding="unicode", short_empty_elements=False)
    except Exception:  # noqa: BLE001 - the library raises whatever it stumbles on
        return None


def _convert(latex: str, *, display: bool) -> Element:
    """Return the library's reading of a formula, if that is all of it."""
    depth = 0
    for brace in _BRACE.findall(latex):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            break
    # The library ignores a brace without its partner.
    if depth:
        raise ValueError("braces without their other")
    tree = _read(latex, display=display)
    if _has_loose_rows(tree):
        begin, end = _ALIGNED if "&" in latex else _STACKED
        tree = _read(begin + latex + end, display=display)
    level = [tree]
    for _ in range(_MAX_DEPTH):
        level = [child for one in level for child in one]
    left_over = [
        one
        for one in tree.iter()
        if one.text == _STROKE
        or (one.tag == "mi" and _COMMAND.match(one.text or ""))
        or len(one) != _PARTS.get(one.tag, len(one))
    ]
    if level or left_over or _has_loose_rows(tree):
        raise ValueError("not all of it was understood")
    return tree


def _write_chemistry(found: re.Match[str]) -> str:
    said = found[2]
    for pattern, written in _WRITTEN[found[1]]:
        said = re.sub(pattern, written, said)
    return f"{{{_LETTERS.sub(lambda one: one[1] or rf'\mathrm{{{one[0]}}}', said)}}}"


class _NoMacros(dict[str, tuple[list[str], int]]):
    """Refuses definitions: a few short ones can double a text thirty times."""

    def __setitem__(self, name: str, value: tuple[list[str], int]) -> None:
        raise ValueError("macros are not defined here")


def _read(latex: str, *, display: bool) -> Element:
    converter = Converter(display="block" if display else "inline")
    converter.macros = _NoMacros()
    tree = converter.convert_to_element(latex)
    del tree.attrib["xmlns"]
    for element in tree.iter():
        written = element.text or ""
        element.text = unescape(written)
        if element.tag == "mi" and written[:1] == "&" and re.fullmatch("[a-zA-Z]", element.text):
            # The library's form of an upright letter.
            element.set("mathvariant", "normal")
    return tree


def _has_loose_rows(tree: Element) -> bool:
    """Return True if the formula has line breaks or alignment marks outside of rows."""
    return any(
        "linebreak" in one.attrib or (one.tag, one.text) == ("mi", "&") for one in tree.iter()
    )


def _mend(tree: Element) -> None:
    """Rewrite elements that browsers do not know, or draw otherwise."""
    for element in tree.iter():
        if element.tag in {"mi", "mn", "mo"}:
            _mend_sign(element)
        for name in {"width", "linethickness"} & element.attrib.keys():
            _mend_size(element, name)
        if element.tag == "mtable":
            lines = element.get("columnlines", "").split()
            for cell, line in [pair for row in element for pair in zip(row, lines, strict=False)]:
                cell.attrib |= {"class": "ruled"} if line != "none" else {}
        if element.tag in {"mover", "munder", "munderover"}:
            _mend_over(element)
    for element in tree.iter():
        base = element[0] if len(element) else element
        text = base.text or ""
        is_large = len(text) == 1 and unicodedata.name(text, "").startswith("N-ARY")
        has_limits = bool(base.get("movablelimits")) or text in _LIMITING or is_large
        if element.tag in _WITH_LIMITS and base.tag == "mo" and has_limits:
            # Limits stand below and above in a display, which the browser decides.
            element.tag = _WITH_LIMITS[element.tag]
            base.set("movablelimits", "true")
        if element.tag in {"math", "mrow", "mstyle", "mtd", "msqrt", "menclose", "mphantom"}:
            _space_names(element)


def _mend_size(element: Element, name: str) -> None:
    """Replace a named size by its value; remove one that is no plain size."""
    size = element.attrib.pop(name)
    plain = size.removeprefix("negative")
    if plain in _WIDTHS:
        size = ("" if plain == size else "-") + _WIDTHS[plain]
    if _SIZE.fullmatch(size):
        element.set(name, size)


def _mend_over(element: Element) -> None:
    """Make a line over a base its border, and make an arrow the base, so that it stretches."""
    if element[1].text == _LINE:
        element.set("notation", "top" if element.tag == "mover" else "bottom")
        element.tag = "menclose"
        element.remove(element[1])
    elif element[0].tag == "mstyle":
        element[0] = element[0][0]


def _mend_sign(element: Element) -> None:
    """Set the letters of a style, the only one that browsers know, and the space around signs."""
    style = element.get("mathvariant", "normal")
    if style != "normal":
        element.text = "".join(_find_letter(one, style) for one in element.text or "")
        del element.attrib["mathvariant"]
    text = element.text = "\u223c" if element.text == "~" else element.text or ""
    if element.tag == "mo" and text in _NO_OPERATORS:
        element.tag = "mi"
    elif element.tag == "mi" and len(text) == 1 and text not in _NO_OPERATORS:
        kind = unicodedata.category(text)
        if kind in {"Sm", "Ps", "Pe"}:
            element.tag = "mo"
            element.attrib |= {} if kind == "Sm" else {"stretchy": "false"}


def _find_letter(letter: str, style: str) -> str:
    name = re.sub("(?:LATIN|GREEK|LETTER) ", "", unicodedata.name(letter, ""))
    style = style.upper().replace("-ITALIC", " ITALIC")
    for styled in (f"MATHEMATICAL {style} {name}", f"{style} {name}"):
        with suppress(KeyError):
            return unicodedata.lookup(styled)
    return letter


def _space_names(row: Element) -> None:
    """Add space around the names of functions, except at brackets."""
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
