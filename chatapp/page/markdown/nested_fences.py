"""Fences of markdown that has fences itself, which models write with marks of one length."""

import re

_FENCE = re.compile(r"[ \t>]*(`{3,}(?!.*`)|~{3,})[ \t]*(\S*)")
_MARKDOWN = re.compile(r"`{3,}[ \t]*(?:md|markdown|mdx)\b", re.IGNORECASE)
_LONG = "`" * 9


def widen_fences(text: str) -> str:
    """Return the text with longer marks around such a block, so that it ends with its own."""
    lines, opened = text.split("\n"), list[tuple[str, int]]()
    for number, line in enumerate(lines if _MARKDOWN.search(text) else ()):
        mark, info = found.groups() if (found := _FENCE.match(line)) else ("", "")
        outer = lines[opened[0][1]].lstrip(" >") if opened else ""
        if mark and not info and opened and mark.startswith(opened[-1][0]):
            opened.pop()
            if not opened and outer.startswith(_LONG):
                lines[number] = line.replace("```", _LONG, 1)
        elif mark and not opened:
            opened = [(mark, number)]
        elif info and _MARKDOWN.match(outer):
            opened.append((mark, number))
            if not outer.startswith(_LONG):
                lines[opened[0][1]] = lines[opened[0][1]].replace("```", _LONG, 1)
    return "\n".join(lines)
