"""An installed copy: where it stores everything, and how it names itself."""

import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatapp.project import installation
from chatapp.project.environment import BadEnvironment, read_folder
from tests.processes import ROOT

Load = Callable[[], dict[str, Any]]


@pytest.fixture
def installed(tmp_path: Path) -> Load:
    """Return what the module knows where a wheel has put it."""
    (tmp_path / "resources").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    copy = shutil.copy(ROOT / "chatapp" / "project/installation.py", folder)
    return lambda: runpy.run_path(str(copy))


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has another folder for it")
@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("", "~/.local/share/palimpsest"),
        ("/srv/share", "/srv/share/palimpsest"),
        ("share", "~/.local/share/palimpsest"),
    ],
)
def test_what_is_installed_stores_in_the_users_folder_for_data(
    installed: Load, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    """As the XDG specification says; nothing is written beside the code."""
    monkeypatch.setenv("XDG_DATA_HOME", variable)
    assert installed()["default_data_folder"]() == Path(folder)


def test_a_checkout_stores_in_its_own_folder() -> None:
    """One folder to remove, and the words of its own commands."""
    assert installation.default_data_folder() == ROOT / "var"
    assert installation.PROGRAM == "manage.py"
    assert installation.how_to_install("scale") == "run `.ci/install scale`"


def test_an_extra_is_named_with_the_application(installed: Load) -> None:
    """By the wheel's file: on PyPI another project has the name."""
    told = installed()["how_to_install"]
    assert told("app") == "install the wheel as `palimpsest-….whl[app]`"
    assert told("scale") == "install the wheel as `palimpsest-….whl[app,scale]`"


def test_a_folder_of_nobody_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service's user may have no home."""
    monkeypatch.setenv("DATA_DIR", "~nobody-of-this-name/data")
    with pytest.raises(BadEnvironment, match=r"^DATA_DIR is in a home folder, and there"):
        read_folder("DATA_DIR", Path("var"))
