"""LaTeX as MathML: all of a formula, or nothing."""

import functools
import re
from html import unescape
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import Converter

from chatapp.rendering.mathml import modernize
from chatapp.rendering.sanitizing import replace_unsafe_characters

# Elements inside elements: what people write stays under twenty.
_MAX_DEPTH = 60

_ENVIRONMENT = re.compile(r"\\(begin|end) ?\{([a-z]+)\*?\}")
_ALIGNED = (r"\begin{align*}", r"\end{align*}")
_STACKED = (r"\begin{displaylines}", r"\end{displaylines}")
_RENAMED = {
    **dict.fromkeys(("align", "aligned", "split"), _ALIGNED),
    **dict.fromkeys(("gather", "gathered", "multline"), _STACKED),
    **dict.fromkeys(("equation", "displaymath"), ("{", "}")),
    "dcases": (r"\begin{cases}", r"\end{cases}"),
    "eqnarray": (r"\begin{array}{rcl}", r"\end{array}"),
}

# What says nothing on a page, and what the library cannot read.
_REPLACED = (
    (re.compile(r"\\(?:nonumber|notag)(?![a-zA-Z])|\\label ?\{[^{}]*\}"), ""),
    (re.compile(r"\\tag ?\{"), r"\\qquad\\tag{"),
    (re.compile(r"\\arg(?![a-zA-Z])"), r"\\operatorname{arg}"),
    (re.compile(r"(\\operatorname\*? ?\{[a-zA-Z]+)\\[,; ]([a-zA-Z]+\})"), r"\1 \2"),
)

_COMMAND = re.compile(r"\\[a-zA-Z]")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_PARTS = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
# What the library strikes a sign through with, in vain.
_STROKE = "\u29f8"


# While a paragraph streams, its finished formulas are asked for again and again.
@functools.lru_cache(maxsize=512)
def to_mathml(latex: str, *, display: bool) -> str | None:
    """Return the formula as MathML, unsanitised, or None where not all of it is understood."""
    try:
        tree = _convert(_prepare(latex), display=display)
        return tostring(tree, encoding="unicode", short_empty_elements=False)
    except Exception:  # noqa: BLE001 - the library raises whatever it stumbles on
        return None


class _NotUnderstoodError(Exception):
    """The formula holds what this module does not take."""


def _convert(latex: str, *, display: bool) -> Element:
    if not _is_balanced(latex):
        raise _NotUnderstoodError
    tree = _read(latex, display=display)
    if _has_loose_rows(tree):
        begin, end = _ALIGNED if "&" in latex else _STACKED
        tree = _read(begin + latex + end, display=display)
    if not _is_understood(tree):
        raise _NotUnderstoodError
    modernize(tree)
    return tree


def _is_balanced(latex: str) -> bool:
    """Whether every brace has its other, which the library does not look at."""
    depth = 0
    for brace in _BRACE.findall(latex):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            return False
    return depth == 0


def _prepare(latex: str) -> str:
    """Return the formula in words the library knows, without runs of spaces.

    Its patterns take quadratic time in those. Lines stay, as they end comments.
    """
    latex = "\n".join(" ".join(line.split()) for line in latex.splitlines())
    for pattern, words in _REPLACED:
        latex = pattern.sub(words, latex)
    return _ENVIRONMENT.sub(_rename, latex)


def _rename(match: re.Match[str]) -> str:
    begin, end = _RENAMED.get(match[2], (match[0], match[0]))
    return begin if match[1] == "begin" else end


class _NoMacros(dict[str, tuple[list[str], int]]):
    """Refuses definitions: a few short ones can double a text thirty times."""

    def __setitem__(self, name: str, value: tuple[list[str], int]) -> None:
        raise _NotUnderstoodError


def _read(latex: str, *, display: bool) -> Element:
    converter = Converter(display="block" if display else "inline")
    converter.macros = _NoMacros()
    tree = converter.convert_to_element(latex)
    del tree.attrib["xmlns"]
    for element in tree.iter():
        _unescape(element)
    return tree


def _unescape(element: Element) -> None:
    """Turn the entities that the library leaves for later, and those that were written."""
    written = element.text or ""
    element.text = replace_unsafe_characters(unescape(written))
    if element.tag == "mi" and written.startswith("&") and re.fullmatch("[a-zA-Z]", element.text):
        # This is how the library says that a letter stands upright.
        element.set("mathvariant", "normal")


def _has_loose_rows(tree: Element) -> bool:
    """Whether lines are broken, or aligned, where there are no rows."""
    return any(
        "linebreak" in one.attrib or (one.tag, one.text) == ("mi", "&") for one in tree.iter()
    )


def _is_understood(tree: Element) -> bool:
    """Whether no command came through as it was written, and the tree is as deep as a formula."""
    if _has_loose_rows(tree) or any(
        one.text == _STROKE
        or (one.tag == "mi" and _COMMAND.match(one.text or ""))
        or len(one) != _PARTS.get(one.tag, len(one))
        for one in tree.iter()
    ):
        return False
    level = [tree]
    for _ in range(_MAX_DEPTH):
        level = [child for one in level for child in one]
    return not level
