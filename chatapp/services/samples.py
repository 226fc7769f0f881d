"""Files for a newcomer's first look: Palimpsest's own documentation, abridged, as a workspace."""

from pathlib import Path

from django.conf import settings

SAMPLES = "samples"

# Characters of each file: together they fill the offline stand-in's window once, and not twice.
LONGEST = 6_500
_CUT = "[The rest of {name} is left out of these samples.]\n"


def lay_out_samples() -> Path:
    """Write the documentation into the workspace ``SAMPLES``; return its folder."""
    folder = Path(settings.WORKSPACES_ROOT) / SAMPLES
    folder.mkdir(parents=True, exist_ok=True)
    base = Path(settings.BASE_DIR)
    for file in (*sorted(base.glob("[CR]*.md")), *sorted((base / "docs").glob("*.md"))):
        text = _abridge(file.read_text("utf-8"), file.name)
        (folder / file.name).write_text(text, "utf-8")
    return folder


def _abridge(text: str, name: str) -> str:
    """Return the paragraphs that fit, and a line that says so where some do not."""
    if len(text) <= LONGEST:
        return text
    return text[: text.rindex("\n\n", 0, LONGEST) + 2] + _CUT.format(name=name)
