"""Which files of a workspace are kept from the model, in the syntax of .gitignore."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

RULES = ".rooignore"
LARGEST_RULES = 1_000_000

Ignore = Callable[[str], bool]


def read_rules(root: Path) -> Ignore:
    """Return the test for workspace paths (with "/") that ``.rooignore`` in the root describes.

    Where the file is there but cannot be read, everything is kept from the model.
    """
    try:
        with (root / RULES).open("rb") as file:
            text = file.read(LARGEST_RULES)
    except FileNotFoundError:
        return lambda _path: False
    except OSError:
        return lambda _path: True
    return ignore_matcher(text.decode(errors="replace").splitlines())


def ignore_matcher(lines: Iterable[str]) -> Ignore:
    """Return the test that the lines of an ignore file describe; ill-formed lines say nothing."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - takes 40 ms, only needed with rules

    spec = GitIgnoreSpec([])
    for line in lines:
        with suppress(ValueError):
            spec += GitIgnoreSpec.from_lines([line])
    return spec.match_file
