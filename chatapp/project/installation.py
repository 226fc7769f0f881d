"""Installation: a checkout, or a wheel in site-packages, and the folders of either."""

import os
import sys
from pathlib import Path

# The folder of this package.
PACKAGE = Path(__file__).resolve().parent.parent
# Folders next to the packages in a checkout are inside this one in a wheel (`pyproject.toml`).
_RESOURCES = PACKAGE / "resources"

IS_CHECKOUT = not _RESOURCES.is_dir()

# The folder of templates/, static/, docs/ and README.md.
BASE_DIR = PACKAGE.parent if IS_CHECKOUT else _RESOURCES

# The name of the command line in messages.
PROGRAM = "manage.py" if IS_CHECKOUT else "palimpsest"


def default_data_folder() -> Path:
    """Return the folder of all data unless DATA_DIR names another."""
    if IS_CHECKOUT:
        return BASE_DIR / "var"
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/palimpsest")
    # The XDG specification ignores a relative path.
    home = os.environ.get("XDG_DATA_HOME", "")
    return Path(home if Path(home).is_absolute() else "~/.local/share", "palimpsest")


def how_to_install(extra: str) -> str:
    """Return the instruction that installs an extra of pyproject.toml."""
    # PyPI has another project under this name, so the instruction never installs by name.
    if IS_CHECKOUT:
        return f"run `.ci/install {extra}`"
    extras = ",".join(dict.fromkeys(("app", extra)))
    return f"install the wheel as `palimpsest-….whl[{extras}]`"
