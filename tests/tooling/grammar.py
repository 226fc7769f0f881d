"""The grammar of docstrings: no noun clauses and no house words in their first lines."""

import ast
import re
import sys
from collections.abc import Iterator

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


def bad_lines() -> Iterator[str]:
    """Yield each bad first line with its place."""
    for path in sorted([*ROOT.glob("chatapp/**/*.py"), *ROOT.glob("condense/**/*.py")]):
        place = path.relative_to(ROOT)
        tree = ast.parse("" if "migrations" in place.parts else path.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                line = (ast.get_docstring(node) or "").partition("\n")[0]
                if BAD.search(PLAIN.sub("", line)):
                    yield f"{place}:{getattr(node, 'lineno', 1)}: {line}"


if __name__ == "__main__":
    sys.exit("\n".join(bad_lines()) or None)
