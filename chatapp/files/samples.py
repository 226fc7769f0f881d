"""Files for a newcomer's first look: Palimpsest's own documentation, abridged, as a workspace."""

from pathlib import Path

from django.conf import settings

from chatapp.context import sizes

SAMPLES = "samples"

# What the files take together with the system prompt and the tools: the last one fills the offline
# stand-in's window, and with the answer there is still room for all of them where the condensation
# is undone.
TOKENS = 10_300
# What they take at least, however much the tools do: less would not be worth reading.
LEAST = 4_000
_CUT = "[The rest of {name} is left out of these samples.]\n"


def lay_out_samples(*, beside: int) -> Path:
    """Write the documentation into the workspace ``SAMPLES``; return its folder.

    ``beside`` it, every request holds so many tokens.
    """
    folder = Path(settings.WORKSPACES_ROOT) / SAMPLES
    folder.mkdir(parents=True, exist_ok=True)
    base = Path(settings.BASE_DIR)
    files = (base / "README.md", *sorted((base / "docs").glob("*.md")))
    waiting = {file: file.read_text("utf-8") for file in files}
    left = max(TOKENS - beside, LEAST)
    # The shortest first: what it does not need of its share the others can have.
    for file in sorted(files, key=lambda one: len(waiting[one])):
        text = _abridge(file.name, waiting[file], left // len(waiting))
        left -= _size(text)
        del waiting[file]
        (folder / file.name).write_text(text, "utf-8")
    return folder


def _abridge(name: str, text: str, tokens: int) -> str:
    """Return the lines that fit, and one that says so where some do not."""
    if _size(text) <= tokens:
        return text
    lines, left = [], tokens - _size(_CUT.format(name=name))
    for line in text.splitlines(keepends=True):
        left -= _size(line)
        if left < 0:
            break
        lines.append(line)
    return "".join(lines) + _CUT.format(name=name)


def _size(text: str) -> int:
    """Return about what a text takes when it is read: each line comes with its number."""
    return sizes.COUNTER.count(text) + 2 * text.count("\n")
