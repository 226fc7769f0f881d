"""Strict readers of environment variables: a wrong value is named, never guessed at."""

import atexit
import contextlib
import fcntl
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from chatapp.project.installation import PROGRAM, how_to_install

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})

# Names of this machine that no other machine can reach it by.
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})

# Every address of this machine; a browser opens the other one instead.
WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - only names

# Connections to a database server, at most one a thread; seconds to wait for a free one, and for a
# try to connect: otherwise the pool would pause longer after each.
POOL = {"min_size": 0, "max_size": 40, "timeout": 10, "reconnect_timeout": 1, "max_idle": 5}

# The name of a connection in PostgreSQL tells its process; names have 63 bytes there.
APPLICATION = "palimpsest"
PROCESS = f"{APPLICATION} {os.getpid()}@{socket.gethostname()}"[:63]

# The escapes that a password needs in an address.
ESCAPE = "in a password, write @ as %40, / as %2F and # as %23."

# The schemes of a mail server's address, with the options of Django's backend.
MAIL_TLS = {"smtp": {}, "smtp+tls": {"use_tls": True}, "smtps": {"use_ssl": True}}

# Bytes that a test file must take: file systems hand out as many at once.
BLOCK = 4096


class BadEnvironment(ImproperlyConfigured):
    """The environment asks for something impossible; its text is one sentence for a person."""


def read_text(name: str, default: str) -> str:
    """Return the variable without surrounding space; unset and empty both give the default."""
    return os.environ.get(name, "").strip() or default


def read_flag(name: str, *, default: bool) -> bool:
    """Return True or False from the variable, in any of the usual spellings."""
    text = read_text(name, "true" if default else "false").lower()
    if text not in TRUE | FALSE:
        raise BadEnvironment(f"{name} must be true or false, not {text!r}.")
    return text in TRUE


def read_number(name: str, default: int, *, least: int = 0, most: int | None = None) -> int:
    """Return a whole number from ``least`` to ``most``; None means no upper bound."""
    text = read_text(name, str(default))
    number = int(text) if _is_number(text) else -1
    if number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BadEnvironment(f"{name} must be a whole number {bounds}, not {text!r}.")
    return number


def read_list(name: str, default: list[str]) -> list[str]:
    """Return the comma-separated entries of the variable."""
    text = read_text(name, "")
    entries = [entry.strip() for entry in text.split(",")] if text else default
    if not all(entries):
        raise BadEnvironment(f"{name} has an empty entry: {text!r}.")
    return entries


def read_names(name: str) -> list[str]:
    """Return comma-separated names of folders, none of them a path."""
    names = read_list(name, [])
    for entry in names:
        if "/" in entry or entry in {".", ".."}:
            raise BadEnvironment(f"{name} must list names of folders, not {entry!r}.")
    return names


def read_origins(name: str) -> list[str]:
    """Return comma-separated origins, each a scheme and a host without a path."""
    origins = read_list(name, [])
    for origin in origins:
        if not _is_origin(origin):
            raise BadEnvironment(
                f"{name} must list origins such as https://chat.example.org, not {origin!r}."
            )
    return origins


def read_origin(name: str) -> str:
    """Return one origin as browsers write it, "" if the variable is unset."""
    origin = read_text(name, "").rstrip("/").lower()
    if origin and not _is_origin(origin):
        raise BadEnvironment(
            f"{name} must be an address without a path, such as https://chat.example.org, "
            f"not {origin!r}."
        )
    return origin


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_place = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False
    is_whole = text == f"{parts.scheme}://{parts.netloc}"
    return parts.scheme in {"http", "https"} and is_place and is_whole


def read_networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Return comma-separated addresses and networks; an address is a network of one."""
    networks = []
    for entry in read_list(name, []):
        try:
            networks.append(ip_network(entry))
        except ValueError as error:
            raise BadEnvironment(
                f"{name} must list addresses and networks such as 127.0.0.1 and 10.0.0.0/8, "
                f"not {entry!r}."
            ) from error
    return networks


def read_database(name: str, default: dict[str, object]) -> dict[str, object]:
    """Return Django's settings of the PostgreSQL database at an address, by default others."""
    address = read_text(name, "")
    return database_at(name, address) if address else default


def database_at(name: str, address: str) -> dict[str, object]:
    """Return Django's settings of the PostgreSQL database at an address, which ``name`` gave."""
    # A thread takes a connection out of a pool for each piece of work; one that broke is replaced.
    try:
        # Comes with the extra "scale".
        from psycopg import ProgrammingError  # noqa: PLC0415 - only where it is used
        from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415
    except ImportError as error:
        needed = f"{name} needs the extra `scale`: {how_to_install('scale')}."
        raise BadEnvironment(needed) from error
    example = "postgresql://user:password@host/database"
    # Neither this sentence nor its cause quotes the address, which may hold a password.
    wrong = BadEnvironment(f"{name} must be an address such as {example}; {ESCAPE}")
    if not address.startswith(("postgresql://", "postgres://")):
        raise wrong
    try:
        given = conninfo_to_dict(address)
    except ProgrammingError:
        raise wrong from None
    ports = str(given.get("port", "")).split(",")
    if not all(_is_number(one) and 0 < int(one) < 2**16 for one in ports if one):
        raise wrong
    # A slash in a password ends it too early, and the rest of it would be the database's name.
    if not (given.get("dbname") or given.get("service")) or "@" in str(given.get("dbname")):
        raise wrong
    keys = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    return {
        "ENGINE": "chatapp.project.postgresql",
        **{key: given.pop(part, "") for key, part in keys.items()},
        "PORT": given.pop("port", ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**given, "application_name": PROCESS, "pool": POOL},
    }


def read_redis(name: str) -> str:
    """Return the address of a Redis or Valkey server, "" if the variable is unset."""
    address = read_text(name, "")
    if not address:
        return ""
    try:
        # Comes with the extra "scale".
        from redis import Redis, RedisError  # noqa: PLC0415 - only where it is used
    except ImportError as error:
        needed = f"{name} needs the extra `scale`: {how_to_install('scale')}."
        raise BadEnvironment(needed) from error
    example = "redis://:password@host:6379/0"
    wrong = BadEnvironment(f"{name} must be an address such as {example}; {ESCAPE}")
    try:
        parts = urlsplit(address)
        is_complete = bool(parts.hostname) and parts.port != 0
        number = parts.path.removeprefix("/") or "0"
        if parts.scheme == "unix":
            is_complete, number = parts.path.startswith("/"), "0"
        # It knows which options there are as soon as it makes a connection, before it is used.
        Redis.from_url(address).connection_pool.make_connection()
    except (TypeError, ValueError, RedisError):
        raise wrong from None
    if not is_complete or parts.fragment or not _is_number(number):
        raise wrong
    return address


def read_mail_server(name: str) -> dict[str, object]:
    """Return the options of Django's SMTP backend for a server at an address, {} without one."""
    address = read_text(name, "")
    if not address:
        return {}
    # No word of the address, which may hold a password.
    wrong = BadEnvironment(
        f"{name} must be an address such as smtp+tls://user:password@host:587; {ESCAPE}"
    )
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    is_rest_empty = not (parts.path.strip("/") or parts.query or parts.fragment)
    if parts.scheme not in MAIL_TLS or not host or port == 0 or not is_rest_empty:
        raise wrong
    known = {"username": unquote(parts.username or ""), "password": unquote(parts.password or "")}
    return {"host": host, "port": port, "timeout": 10, **known, **MAIL_TLS[parts.scheme]}


def _is_number(text: str) -> bool:
    # isdecimal alone accepts digits of other scripts, which nobody means in a setting.
    return text.isascii() and text.isdecimal()


def read_folder(name: str, default: Path) -> Path:
    """Return an absolute folder path; `~` and relative paths are resolved."""
    try:
        return Path(read_text(name, str(default))).expanduser().absolute()
    except RuntimeError as error:
        raise BadEnvironment(f"{name} is in a home folder, and there is none.") from error


def make_folder(name: str, folder: Path) -> Path:
    """Return the folder, made when it is missing, readable by its owner only."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadEnvironment(f"{name} {folder} cannot be created: {error.strerror}.") from error
    return folder


def folder_problem(name: str, folder: Path) -> str | None:
    """Return a sentence with the reason that nothing can be written there, or None."""
    try:
        # Root ignores permission bits, a mount can be read-only, and a full disk still takes files
        # of no length: only a real write is a test.
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(BLOCK))
    except OSError as error:
        return f"{name} {folder} is not writable: {error.strerror}."
    return None


def database_problem(name: object) -> str | None:
    """Return a sentence if the database's file exists but is empty, else None.

    SQLite makes a new database of it as soon as it is opened, in the place of one that was lost.
    The ``name`` is that of Django's setting.
    """
    path = Path(str(name))
    # For other databases it is a name, and no path.
    if not (path.is_absolute() and path.is_file()) or path.stat().st_size:
        return None
    return (
        f"The database {path} is empty, which no server leaves it. Restore a backup with "
        f"`{PROGRAM} restore FILE --replace`, or remove this file to begin anew."
    )


@contextlib.contextmanager
def only_server_in(name: str, folder: Path) -> Iterator[None]:
    """Keep other servers out of the folder; raise BadEnvironment when one is there already."""
    # The system lets go of the lock when the process ends, however it does.
    with (folder / "server.lock").open("a", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadEnvironment(
                f"Another server is running with {name} {folder}. Stop it first, or set {name} to "
                "another folder."
            ) from error
        _own.add(folder)
        try:
            yield
        finally:
            _own.discard(folder)


_own: set[Path] = set()
_to_the_end = contextlib.ExitStack()
atexit.register(_to_the_end.close)


def stay_only_server_in(name: str, folder: Path) -> None:
    """Keep other servers out until this process ends, if it does not do so already."""
    if folder not in _own:
        _to_the_end.enter_context(only_server_in(name, folder))


def name_new_file(draft: Path, path: Path) -> None:
    """Give a file this name unless another has it; it may keep its old one."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:
        # Memory cards and many network folders have no links.
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if not path.exists():
                draft.rename(path)
        finally:
            os.close(folder)


def read_or_create_secret(path: Path) -> str:
    """Return the secret in the file; the first call creates it for its owner only."""
    try:
        if not path.exists():
            # It is 0600 from the start, and whole when it has its name.
            descriptor, name = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(secrets.token_urlsafe(64))
                name_new_file(Path(name), path)
            finally:
                Path(name).unlink(missing_ok=True)
        secret = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise BadEnvironment(
            f"The secret key file {path} cannot be used: {error.strerror}."
        ) from error
    except UnicodeDecodeError as error:
        raise BadEnvironment(f"The secret key file {path} does not hold a key.") from error
    if not secret:
        raise BadEnvironment(
            f"The secret key file {path} is empty. Put the key back from a copy, or delete the "
            "file to get a new one: then API keys and second factors have to be set up again."
        )
    return secret
