"""Files for a newcomer's first look: Palimpsest's own documentation, as a workspace."""

import shutil
from pathlib import Path

from django.conf import settings

SAMPLES = "samples"


def lay_out_samples() -> Path:
    """Copy the documentation into the workspace ``SAMPLES``; return its folder."""
    folder = Path(settings.WORKSPACES_ROOT) / SAMPLES
    folder.mkdir(parents=True, exist_ok=True)
    base = Path(settings.BASE_DIR)
    for file in (base / "README.md", base / "CHANGELOG.md", *sorted((base / "docs").glob("*.md"))):
        if file.is_file():
            shutil.copy(file, folder / file.name)
    return folder
