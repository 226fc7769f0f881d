"""The grammar of docstrings: no noun clauses and no house words in their first lines."""

import ast
import re
import sys
from collections import Counter
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
# By folder; equal to the count, so that it only shrinks.
ALLOWED = {
    "condense/facts": 41,
    "condense/recall": 23,
}


def bad_lines() -> Iterator[tuple[str, str]]:
    """Yield the folder of each bad first line, and the line with its place."""
    for path in sorted([*ROOT.glob("chatapp/**/*.py"), *ROOT.glob("condense/**/*.py")]):
        place = path.relative_to(ROOT)
        tree = ast.parse("" if "migrations" in place.parts else path.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                line = (ast.get_docstring(node) or "").partition("\n")[0]
                if BAD.search(PLAIN.sub("", line)):
                    folder = "/".join(place.parts[:-1][:2])
                    yield folder, f"{place}:{getattr(node, 'lineno', 1)}: {line}"


if __name__ == "__main__":
    found = list(bad_lines())
    counts = Counter(folder for folder, _line in found)
    for folder in (wrong := {one for one, _count in counts.items() ^ ALLOWED.items()}):
        print(f"{folder}: {counts[folder]} bad first lines, {ALLOWED.get(folder, 0)} allowed")
    for folder, line in found:
        if folder in wrong:
            print(line)
    sys.exit(bool(wrong))
