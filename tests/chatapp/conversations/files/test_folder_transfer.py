"""Files are put into a folder, and no archive leads anywhere else or is larger than it may be."""

import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from chatapp.conversations.files import folder_transfer as module
from chatapp.models.errors import Refused
from chatapp.tools import workspace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace, alone in a folder."""
    folder = tmp_path / "spaces" / "own"
    folder.mkdir(parents=True)
    return folder


def put(folder: Path, *files: tuple[str, bytes]) -> str:
    """Put files in by their names; return what a page says of it."""
    try:
        named = [(name, io.BytesIO(data)) for name, data in files]
        done = module.import_files(folder=folder, files=named)
    except Refused as refused:
        return str(refused)
    left_out = [f"Not uploaded: {path}" for path, _why in done.left_out]
    return "; ".join((f"{done.count} files", *left_out))


def packed(entries: dict[str, bytes]) -> bytes:
    """Return a zip."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return data.getvalue()


def tar_of(*entries: tuple[tarfile.TarInfo, int], mode: str = "w:gz") -> bytes:
    """Return a tar archive of entries with so many zeros each."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload] # it is one of those
        for info, size in entries:
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))
    return data.getvalue()


def everything(folder: Path) -> dict[str, bytes]:
    """Return all files around a workspace."""
    root = folder.parent
    found = (one for one in root.rglob("*") if one.is_file())
    return {str(one.relative_to(folder, walk_up=True)): one.read_bytes() for one in found}


def test_files_folders_and_archives_are_put_in(folder: Path) -> None:
    """Each with the path that it has."""
    put(folder, ("a.txt", b"a"), ("sub/b.txt", b"b"))
    put(folder, ("c.zip", packed({"deep/er/c.txt": b"c", "d.txt": b"d"})))
    assert put(folder, ("e.tar.gz", tar_of((tarfile.TarInfo("e.txt"), 1)))) == "1 files"
    assert everything(folder) == {
        "a.txt": b"a", "sub/b.txt": b"b", "deep/er/c.txt": b"c", "d.txt": b"d", "e.txt": b"\0",
    }  # fmt: skip


def test_no_path_in_an_archive_leads_out(folder: Path) -> None:
    """What is a link or a device is left out, and what lies outside is said to be."""
    odd = [tarfile.TarInfo(name) for name in "lhf"]
    for info, kind in zip(odd, (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE), strict=True):
        info.type, info.linkname = kind, "/etc/passwd"
    outside = [tarfile.TarInfo(name) for name in ("../out", "/out", ".git/hooks/x", "ok")]
    entries = [*((one, 0) for one in odd), *((one, 1) for one in outside)]
    answer = put(folder, ("a.tar", tar_of(*entries, mode="w")))
    assert everything(folder) == {"ok": b"\0"}
    assert "Not uploaded: ../out" in answer
    put(folder, ("a.zip", packed({"../../out": b"x", "C:\\x": b"y", "fine": b"z"})))
    assert set(everything(folder)) - {"C:\\x"} == {"ok", "fine"}


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.xz"])
@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense", packed({"a": b"x" * 50})[:60]],
    # An archive holds the time: a name made of it differs between two processes.
    ids=["empty", "nonsense", "cut"],
)
def test_what_is_no_archive_is_refused_in_words(folder: Path, name: str, data: bytes) -> None:
    """And nothing is put in of it."""
    answer = put(folder, (name, data))
    assert re.search("can't be read|0 files", answer)
    assert everything(folder) == {}


def test_as_many_files_are_put_in_as_may_be(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one more, and of no more bytes."""
    monkeypatch.setattr(module, "MAX_FILES", 2)
    monkeypatch.setattr(module, "MAX_TRANSFER_BYTES", 6)
    for count, size, answer in ((2, 3, "2 files"), (3, 1, "This is"), (2, 4, "This is")):
        sent = [(f"{number}.txt", b"x" * size) for number in range(count)]
        assert put(folder, *sent).startswith(answer)
    for one in (module, workspace):
        monkeypatch.setattr(one, "MAX_FILE", 5)
    assert put(folder, ("whole", b"12345")) == "1 files"
    assert everything(folder)["whole"] == b"12345"
    assert put(folder, ("large", b"123456")) == "0 files; Not uploaded: large"


def test_folders_of_an_archive_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing is made of them."""
    monkeypatch.setattr(module, "_MAX_ENTRIES", 10)
    entries = [(tarfile.TarInfo(f"d{number}"), 0) for number in range(11)]
    for info, _size in entries:
        info.type = tarfile.DIRTYPE
    assert "This is too much at once" in put(folder, ("a.tgz", tar_of(*entries)))
    zipped = packed({f"d{number}/": b"" for number in range(11)})
    assert "This is too much at once" in put(folder, ("a.zip", zipped))
    assert "0 files" in put(folder, ("a.tgz", tar_of(*entries[:10])))


@pytest.mark.parametrize("mode", ["w", "w:xz"])
def test_what_is_left_out_of_an_archive_is_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """However small it is packed: a file that is too large is unpacked to come to the next."""
    for one in (module, workspace):
        monkeypatch.setattr(one, "MAX_FILE", 100_000)
    last, large = (tarfile.TarInfo("last"), 1), tarfile.TarInfo("large")
    answer = put(folder, ("a.tar", tar_of((large, module.MAX_FILE + 1), last, mode=mode)))
    assert "Not uploaded: large" in answer
    assert everything(folder) == {"last": b"\0"}
    monkeypatch.setattr(module, "MAX_TRANSFER_BYTES", module.MAX_FILE + 2)
    data = tar_of((large, module.MAX_FILE + 3), last, mode=mode)
    assert "This is too much at once" in put(folder, ("a.tar", data))
    monkeypatch.setattr(module, "MAX_TRANSFER_BYTES", 1_000)
    bomb = packed({f"{number}": b"0" * 600 for number in range(5)})
    assert "This is too much at once" in put(folder, ("bomb.zip", bomb))


def test_what_an_archive_says_of_all_entries_is_no_burden_to_each(folder: Path) -> None:
    """It is forgotten with the first, and has a limit."""
    data = io.BytesIO()
    told = {f"k{number}": "v" for number in range(10_000)}
    with tarfile.open(fileobj=data, mode="w:gz", pax_headers=told) as archive:
        for number in range(3):
            archive.addfile(tarfile.TarInfo(f"{number}"))
    put(folder, ("a.tgz", data.getvalue()))
    assert len(everything(folder)) == 3
    told = {"k": "v" * 1_000_000} | told
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", pax_headers=told) as archive:
        archive.addfile(tarfile.TarInfo("a"))
    assert "This is too much at once" in put(folder, ("a.tgz", data.getvalue()))
