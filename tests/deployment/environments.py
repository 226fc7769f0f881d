"""Python environments that tests make, with nothing in them or with what the tests run with."""

import site
import subprocess
import sys
import venv
from pathlib import Path


def pip(*arguments: str, python: str | Path = sys.executable) -> None:
    """Have the pip of these tests work for a Python."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--python", python, *arguments], check=True)


def environment(folder: Path, *, with_pip: bool = False) -> Path:
    """Make an empty environment; return its Python."""
    venv.create(folder, symlinks=True, with_pip=with_pip)
    return folder / "bin" / "python"


def lend_packages(folder: Path) -> None:
    """Have an environment see what these tests run with, in place of minutes of downloads."""
    (packages,) = folder.glob("lib/*/site-packages")
    lines = (f"import site; site.addsitedir({place!r})\n" for place in site.getsitepackages())
    (packages / "lent.pth").write_text("".join(lines))
