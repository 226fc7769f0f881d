"""Strict readers: a wrong value is named in one sentence."""

import errno
import os
import resource
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import Any, override

import pytest

from chatapp.project.environment import (
    BadEnvironment,
    folder_problem,
    make_folder,
    read_flag,
    read_folder,
    read_list,
    read_networks,
    read_number,
    read_or_create_secret,
    read_origins,
    read_text,
)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_unset_and_empty_give_the_default(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """An empty line in an env file means the same as no line."""
    monkeypatch.delenv("X", raising=False)
    if value is not None:
        monkeypatch.setenv("X", value)
    assert read_text("X", "default") == "default"
    assert read_flag("X", default=True) is True
    assert read_number("X", 8000, most=65_535) == 8000
    assert read_list("X", ["a"]) == ["a"]
    assert read_origins("X") == []


def test_a_flag_is_one_of_the_usual_spellings_and_never_guessed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A typo does not silently mean no."""
    for meaning, values in ((True, ("1", "TRUE", "yes", "on")), (False, ("0", "Off"))):
        for value in values:
            monkeypatch.setenv("X", value)
            assert read_flag("X", default=not meaning) is meaning
    for value in ("2", "maybe", "tru"):
        monkeypatch.setenv("X", value)
        with pytest.raises(BadEnvironment, match=rf"^X must be true or false, not '{value}'\.$"):
            read_flag("X", default=False)


@pytest.mark.parametrize(
    ("bounds", "wrong", "said"),
    [
        ({"most": 50}, ["51", "-1", "ten", "0.1", "8 0", "٣"], "from 0 to 50"),
        ({"least": 1}, ["0", "-1", "1.5", "²"], "of at least 1"),
    ],
)
def test_a_number_is_plain_digits_within_its_bounds(
    monkeypatch: pytest.MonkeyPatch, bounds: dict[str, int], wrong: list[str], said: str
) -> None:
    """The sentence names the bounds: a share of one is no percentage."""
    for value in ("1", "50"):
        monkeypatch.setenv("X", value)
        assert read_number("X", 10, **bounds) == int(value)
    for value in wrong:
        monkeypatch.setenv("X", value)
        with pytest.raises(BadEnvironment, match=f"^X must be a whole number {said}, not '"):
            read_number("X", 10, **bounds)


def test_lists_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Space around entries does not count; an empty one would match more than was meant."""
    monkeypatch.setenv("X", "a, b ,c")
    assert read_list("X", []) == ["a", "b", "c"]
    monkeypatch.setenv("X", "a,,b")
    with pytest.raises(BadEnvironment, match=r"^X has an empty entry"):
        read_list("X", [])


def test_origins_have_a_scheme_and_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django compares origins as text, so that a path would never match."""
    monkeypatch.setenv("X", "https://a.example, http://b.example:8080")
    assert read_origins("X") == ["https://a.example", "http://b.example:8080"]
    monkeypatch.setenv("X", "https://a.example/")
    with pytest.raises(BadEnvironment, match=r"X must list origins"):
        read_origins("X")


def test_networks_are_addresses_or_have_a_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is none, nor is a network in which a single address is meant."""
    monkeypatch.setenv("X", "127.0.0.1, 10.0.0.0/8,2001:db8::/32")
    assert [str(one) for one in read_networks("X")] == [
        "127.0.0.1/32",
        "10.0.0.0/8",
        "2001:db8::/32",
    ]
    for wrong in ("localhost", "10.0.0.1/8", "*"):
        monkeypatch.setenv("X", wrong)
        with pytest.raises(BadEnvironment, match="X must list addresses and networks"):
            read_networks("X")


def test_folders_are_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A later change of the working folder moves nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("X", "here")
    assert read_folder("X", Path("/unused")) == tmp_path / "here"


def test_a_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """Other accounts of the machine cannot read conversations; why it can't be made is said."""
    folder = make_folder("X", tmp_path / "a" / "b")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(BadEnvironment, match=r"^X .*/file/data cannot be created: Not a directory"):
        make_folder("X", tmp_path / "file" / "data")


def test_writability_is_tried(tmp_path: Path) -> None:
    """A folder that takes a file is fine; one that does not is a problem with a reason."""
    assert folder_problem("X", tmp_path) is None
    assert list(tmp_path.glob("tmp*")) == []
    problem = folder_problem("X", tmp_path / "missing")
    assert problem == f"X {tmp_path / 'missing'} is not writable: No such file or directory."


@contextmanager
def no_room() -> Iterator[None]:
    """Let files be made meanwhile, and nothing be written to them, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_takes_nothing(tmp_path: Path) -> None:
    """Although a file of no length can still be made on it."""
    with no_room():
        (tmp_path / "empty").touch()
        problem = folder_problem("X", tmp_path)
    assert problem == f"X {tmp_path} is not writable: File too large."


class OnCard(PosixPath):
    """A file on a disk without links, as memory cards are."""

    @override
    def hardlink_to(self, target: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize("kind", [Path, OnCard])
def test_the_secret_is_stable_and_private(tmp_path: Path, kind: type[Path]) -> None:
    """The first reader creates it, later ones get the same, and no one else can read it."""
    path = kind(tmp_path / "secret-key")
    secret = read_or_create_secret(path)
    assert len(secret) >= 64
    assert read_or_create_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.glob("tmp*")) == []


@pytest.mark.parametrize("kind", [Path, OnCard])
def test_racing_readers_agree_on_the_secret(tmp_path: Path, kind: type[Path]) -> None:
    """Two processes that start together sign with the same key."""
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(read_or_create_secret, [kind(tmp_path / "secret-key")] * 32))
    assert len(secrets) == 1


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_damaged_secret_file_is_named(tmp_path: Path, content: bytes) -> None:
    """An empty key would sign everything with nothing."""
    path = tmp_path / "secret-key"
    path.write_bytes(content)
    with pytest.raises(BadEnvironment, match=r"^The secret key file .*secret-key"):
        read_or_create_secret(path)
