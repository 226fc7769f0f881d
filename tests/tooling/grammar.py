"""The language of the product: docstrings and comments begin plainly, class names are unique."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.processes import ROOT

# Subject first: "Return the event for an ending", not "Return what is told of an ending".
BAD = re.compile(
    r"\b(?:what|whoever|whatever|where|whether|how|who|told|tell(?:s|ing)?|beside|brought"
    r"|bring(?:s|ing)?|heed\w*|wish(?:es|ed)?|hears?|heard|look(?:s|ed|ing)? after"
    r"|clear(?:s|ed|ing)? up|c[oa]m(?:es?|ing) to nothing)\b(?!-)",
    re.I,
)
# Code, and "who" behind its noun: "the user who pressed Stop". A "where" is an "if" too often.
PLAIN = re.compile(r"``.*?``|\b(?:an?|the|each|every|any|no|one) (?:[\w-]+ ){1,2}who\b", re.I)
# A comment begins with its subject, too, and names what a number bounds.
BAD_COMMENT = re.compile(r"\s*# (?:What|Who(?:ever)?|Whatever|Whether|How|So many)\b")
# Django looks for a Command and a DatabaseWrapper by name, the toolbox for Arguments.
# A Message of the engine is a Message of the database.
SHARED = {"Command", "DatabaseWrapper", "Arguments", "Message"}


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Yield the product's modules but migrations, each with its path below the root."""
    for path in sorted([*ROOT.glob("chatapp/**/*.py"), *ROOT.glob("condense/**/*.py")]):
        place = path.relative_to(ROOT)
        if "migrations" not in place.parts:
            yield place, ast.parse(path.read_bytes())


def bad_lines() -> Iterator[str]:
    """Yield each bad first line with its place."""
    for place, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                line = (ast.get_docstring(node) or "").partition("\n")[0]
                if BAD.search(PLAIN.sub("", line)):
                    yield f"{place}:{getattr(node, 'lineno', 1)}: {line}"


def bad_comments() -> Iterator[str]:
    """Yield the first line of each comment without a subject, with its place."""
    for place, _tree in modules():
        before = ""
        for number, line in enumerate((ROOT / place).read_text("utf-8").splitlines(), 1):
            if BAD_COMMENT.match(line) and not before.lstrip().startswith("#"):
                yield f"{place}:{number}: {line.strip()}"
            before = line


def repeated_names() -> Iterator[str]:
    """Yield each class's name that stands in two modules, with the places."""
    places = defaultdict[str, list[str]](list)
    for place, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name not in SHARED:
                places[node.name].append(f"{place}:{node.lineno}")
    for name, where in places.items():
        if len(where) > 1:
            yield f"{name} is the name of several classes: {', '.join(where)}"


if __name__ == "__main__":
    sys.exit("\n".join([*bad_lines(), *bad_comments(), *repeated_names()]) or None)
