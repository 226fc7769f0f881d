"""Archives to be put into a workspace, and what is there afterwards."""

import io
import tarfile
import zipfile
from pathlib import Path


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
