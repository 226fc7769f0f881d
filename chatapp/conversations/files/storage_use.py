"""The room that a user's files take on the server, and the operators' limit on it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db.models import Sum

from chatapp.conversations.files.checkpoints import Checkpoints
from chatapp.conversations.toolbox.toolbox import OWN, outputs_of
from chatapp.models import Attachment, AttachmentTotal, Conversation, ServerSettings
from chatapp.models.errors import LimitReached
from condense import say

# Seconds after which folders are measured again, however much was put there meanwhile.
MEASUREMENT_LIFETIME = 600


def check_room(owner: User, more: int = 0) -> None:
    """Raise LimitReached if a user has no room for ``more`` bytes.

    Folders are measured once in a while, and again before anything is refused.
    """
    megabytes = ServerSettings.binding(owner).storage_megabytes
    if megabytes is None:
        return
    known, key = caches["visits"], f"folders-{owner.pk}"
    attached, most = _attached(owner), megabytes << 20
    in_folders = known.get(key)
    if in_folders is None or attached + in_folders + more > most:
        workspaces, outputs = folders_of(owner, Path(settings.WORKSPACES_ROOT).resolve())
        earlier = [Checkpoints(folder).repository for folder in workspaces]
        in_folders = sum(map(_size_of, (*workspaces, *earlier, *outputs)))
        known.set(key, in_folders, MEASUREMENT_LIFETIME)
    used = attached + in_folders
    if used + more <= most:
        return
    words = say(
        "Your files take {used} MB, and each user may keep {most:,} MB. Remove some from the "
        "files of a conversation, or ask an operator for more room.",
        used=f"{used / (1 << 20):,.1f}",
        most=megabytes,
    )
    raise LimitReached(words, status=413)


@contextmanager
def room_for(owner: User, more: int) -> Iterator[None]:
    """Hold the user's upload lock; raise LimitReached if ``more`` bytes have no room."""
    place = Path(settings.DATA_DIR) / "locks"
    place.mkdir(mode=0o700, exist_ok=True)
    # A few files for all users, so that no file's name tells of a user who is gone.
    with (place / f"uploads-{owner.pk % 64}").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        check_room(owner, more)
        yield


def measure_again(owner: User) -> None:
    """Have a user's folders measured at the next check, since their files have changed."""
    caches["visits"].delete(f"folders-{owner.pk}")


def _attached(owner: User) -> int:
    """Return the bytes of a user's attachments, both sent and waiting to be sent."""
    sent = AttachmentTotal.objects.filter(owner=owner).values_list("size", flat=True).first()
    waiting = Attachment.objects.filter(owner=owner).aggregate(size=Sum("size"))["size"]
    return (sent or 0) + (waiting or 0)


def folders_of(owner: User, root: Path) -> tuple[list[Path], list[Path]]:
    """Return a user's workspaces, which are below ``root``, and the folders of their outputs."""
    chats = [*Conversation.objects.filter(owner=owner).values_list("pk", flat=True)]
    workspaces = [root / OWN / str(owner.pk), *[root / pk.hex for pk in chats]]
    return workspaces, [outputs_of(pk) for pk in chats]


def _size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder, but of those that vanish meanwhile."""
    size = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - many files
    return size
