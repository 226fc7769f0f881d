"""Attributes of a link: the place where it leads, unless its text names that, and a warning."""

import re
from contextlib import suppress
from urllib.parse import unquote

_AUTHORITY = re.compile(r"(?:https?://)?([^/?#\\\s]*)", re.IGNORECASE)
_HOST = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62}(?![\w-])")

# These end the names of files more often than those of hosts.
_FILES = frozenset({"cc", "md", "mk", "ml", "pl", "ps", "py", "rs", "sh", "so"})


def describe_link(address: str, text: str) -> dict[str, str | int | float]:
    """Return the attributes that tell the reader of ``text`` where the link leads."""
    place = _read_authority(address).rpartition("@")[2]
    if address.lower().startswith("mailto:"):
        # Who gets the mail.
        place = unquote(address[7:].partition("?")[0])
    if place in {text, _read_authority(text)}:
        return {}
    host = _normalize(place.partition(":")[0])
    found = [(name, name.rpartition(".")[2].lower()) for name in _HOST.findall(text)]
    named = {_normalize(name) for name, ending in found if ending not in _FILES}
    misleads = any(not f".{host}".endswith(f".{name}") for name in named)
    return {"data-place": place, "class": "elsewhere"} if misleads else {"data-place": place}


def _read_authority(address: str) -> str:
    match = _AUTHORITY.match(address)
    return match[1].lower() if match else ""


def _normalize(host: str) -> str:
    with suppress(UnicodeError):
        host = host.encode("idna").decode()
    return host.lower().removeprefix("www.")
