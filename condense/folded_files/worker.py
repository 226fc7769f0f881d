"""Worker of the parser process: reads sources on stdin, answers with the rows of definitions.

Started by signatures.py as a script of its own, so that it loads nothing of the package but the
query files next to it. A request is one line of JSON, ``{"language", "size"}``, and the source's
bytes. The answer is one line: ``{"spans": [[first, last, signature], …], "broken": true | false}``.
"""

import json
import os
import resource
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from threading import Timer
from typing import BinaryIO

try:
    from tree_sitter import Language, Node, Parser, Query, QueryCursor, Range
    from tree_sitter_language_pack import get_language
except ImportError:
    sys.exit(os.EX_UNAVAILABLE)

QUERIES = Path(__file__).parent / "queries"
IDLE_SECONDS = 60
MEMORY = 1 << 30
# Names that the package of grammars spells otherwise, and the language whose query another shares.
SPELLED = {"c_sharp": "csharp", "embedded_template": "embeddedtemplate"}
SHARED = {"tsx": "typescript"}
INJECTION = "inject."

Row = tuple[int, int, bool]


@cache
def grammar(name: str) -> tuple[Language, Query]:
    """Return a language and its query, loaded once."""
    if name == "tlaplus":
        import tree_sitter_tlaplus  # noqa: PLC0415 - one more library to load, rarely needed

        language = Language(tree_sitter_tlaplus.language())
    else:
        language = get_language(SPELLED.get(name, name))  # type: ignore[arg-type]
    return language, Query(language, (QUERIES / f"{SHARED.get(name, name)}.scm").read_text())


def parse(name: str, source: bytes, ranges: Sequence[Range] = ()) -> tuple[list[Row], bool]:
    """Return the rows of definitions, and True if the source has syntax errors.

    A query captures ``@definition`` (shown always) or ``@section`` (shown when long), the ``@name``
    whose line is shown, and ``@inject.LANGUAGE`` for a part in another grammar.
    """
    language, query = grammar(name)
    parser = Parser(language, included_ranges=ranges) if ranges else Parser(language)
    root = parser.parse(source).root_node
    rows: list[Row] = []
    injected: dict[str, list[Range]] = defaultdict(list)
    for _, captures in QueryCursor(query).matches(root):
        rows.extend(_rows(captures))
        for capture, nodes in captures.items():
            if capture.startswith(INJECTION):
                injected[capture.removeprefix(INJECTION)].extend([node.range for node in nodes])
    for inner, found in injected.items():
        rows.extend(parse(inner, source, sorted(found, key=lambda part: part.start_byte))[0])
    return rows, root.has_error


def _rows(captures: dict[str, list[Node]]) -> Iterator[Row]:
    """Yield rows from the name on: decorators, annotations and template parameters are above."""
    for kind in ("definition", "section"):
        for node in captures.get(kind, ()):
            first = captures.get("name", [node])[0].start_point.row
            last, column = node.end_point
            yield first, max(first, last if column else last - 1), kind == "definition"


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more, or none came for a minute."""
    while line := _wait_for(requests):
        request = json.loads(line)
        rows, broken = parse(request["language"], requests.read(request["size"]))
        answers.write(json.dumps({"spans": rows, "broken": broken}).encode() + b"\n")
        answers.flush()


def _wait_for(requests: BinaryIO) -> bytes:
    idle = Timer(IDLE_SECONDS, os._exit, [0])
    idle.daemon = True
    idle.start()
    line = requests.readline()
    idle.cancel()
    return line


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    serve(sys.stdin.buffer, sys.stdout.buffer)
