"""Settings: what a fresh checkout gets, and what the environment changes."""

import stat
import traceback
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tests.chatapp.loaded_settings import Load, load

__all__ = ["load"]


def test_defaults_are_safe(load: Load, tmp_path: Path) -> None:
    """Without any variable the server is local, without debug pages, in its own folder."""
    loaded = load()
    assert loaded["DEBUG"] is False
    assert (loaded["HOST"], loaded["PORT"]) == ("127.0.0.1", 8000)
    assert set(loaded["ALLOWED_HOSTS"]) == {"localhost", "127.0.0.1", "[::1]"}
    assert loaded["WORKSPACES_ROOT"] == tmp_path / "workspaces"
    assert loaded["DATABASES"]["default"]["NAME"] == tmp_path / "palimpsest.sqlite3"
    assert loaded["ANTHROPIC_API_KEY"] == ""


def test_variables_change_settings(load: Load, tmp_path: Path) -> None:
    """Each variable that the README lists arrives."""
    work, given = tmp_path / "work", {"SEAL_KEY": "given too", "SECRET_KEY": "given"}
    arrives = {
        "ANTHROPIC_API_KEY": ("key", "key"),
        "ANTHROPIC_BASE_URL": ("http://localhost:9000", "http://localhost:9000"),
        "CSRF_TRUSTED_ORIGINS": ("https://chat.example.org", ["https://chat.example.org"]),
        "DEBUG": ("1", True),
        "HOST": ("::1", "::1"),
        "PORT": ("9001", 9001),
        "SHARED_WORKSPACES": ("handbook, projects", ["handbook", "projects"]),
        "WORKSPACES_ROOT": (str(work), work),
    }
    loaded = load(LOG_LEVEL="debug", **given, **{name: set_ for name, (set_, _) in arrives.items()})
    expected = given | {name: read for name, (_, read) in arrives.items()}
    assert loaded.items() >= expected.items()
    assert "[::1]" in loaded["ALLOWED_HOSTS"]
    loggers = loaded["LOGGING"]["loggers"]
    assert [loggers[name]["level"] for name in ("chatapp", "condense")] == ["DEBUG"] * 2
    assert not (tmp_path / "secret-key").exists()


def test_an_address_names_another_database(load: Load) -> None:
    """As PostgreSQL's own programs read it; its password may have any characters."""
    address = "postgresql://chat:a%40b@db.example.org:5433/talk?sslmode=require"
    database = load(DATABASE_URL=address)["DATABASES"]["default"]
    place = [database[name] for name in ("HOST", "PORT", "USER", "PASSWORD", "NAME")]
    assert place == ["db.example.org", "5433", "chat", "a@b", "talk"]
    assert database["OPTIONS"]["sslmode"] == "require"


REFUSED = {
    "DATABASE_URL": """
        mysql://chat:secret@db/talk postgresql:///talk?secret=1 postgresql://chat:secret@db
        postgresql://chat:secret@db:0/talk postgresql://chat:secret@db:54x/talk
        postgresql://chat:sec/ret@db/secret postgresql://chat:12/secret@db/talk
        postgresql://chat:%secret@db/talk talk
    """,
    "EMAIL_URL": """
        http://chat:secret@mail smtp:// smtp+tls://chat:secret@mail:0
        smtp+tls://chat:12/secret@mail smtps://chat:sec#ret@mail
        smtps://chat:secret@mail/?use_ssl=1 mail
    """,
    "REDIS_URL": """
        valkey://:secret@db redis://:secret@ redis://:secret@db:0 redis://:secret@db:63x
        redis://:secret@db/one redis://:secret@db/0/1 redis://:secret@db/0?secret=1
        redis://:secret@db/0?db=secret redis://:sec#ret@db redis://:12/secret@db
        redis://a:12/secret@db unix://secret db
    """,
}


@pytest.mark.parametrize(
    ("name", "address"), [(name, one) for name, all_ in REFUSED.items() for one in all_.split()]
)
def test_an_address_of_nothing_is_refused(load: Load, name: str, address: str) -> None:
    """Without a word of it: it may be of the password."""
    with pytest.raises(ImproperlyConfigured, match=f"^{name} must be an address") as refused:
        load(**{name: address})
    assert "secret" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    "address",
    [
        "redis://db",
        "rediss://user:s%40cret@db.example.org:6380/1",
        "redis://:secret@[::1]:6379/0?socket_timeout=10",
        "unix:///run/redis/redis.sock?db=1",
    ],
)
def test_an_address_of_redis_is_taken(load: Load, address: str) -> None:
    """By itself it makes no cluster: the database has to be one that can be shared."""
    loaded = load(REDIS_URL=address)
    assert (loaded["REDIS_URL"], loaded["CLUSTER"]) == (address, False)
    assert load(REDIS_URL=address, DATABASE_URL="postgresql:///talk")["CLUSTER"] is True


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("smtp://localhost", {"host": "localhost", "port": None}),
        ("smtp+tls://chat:a%40b@mail:587", {"use_tls": True, "password": "a@b", "port": 587}),
        ("smtps://chat@mail/", {"use_ssl": True, "username": "chat", "password": ""}),
    ],
)
def test_an_address_of_a_mail_server_is_taken(
    load: Load, address: str, expected: dict[str, object]
) -> None:
    """Without TLS, with TLS from STARTTLS on, and with TLS from the start."""
    options = load(EMAIL_URL=address)["MAILERS"]["default"]["OPTIONS"]
    assert options.items() >= expected.items()


@pytest.mark.parametrize(
    "name",
    [
        *("ATTACHMENTS_PER_MESSAGE", "LARGEST_ATTACHMENT", "LARGEST_IMAGE_EDGE"),
        *("LOG_FORMAT", "LOG_LEVEL", "PORT"),
    ],
)
def test_what_cannot_work_is_refused(load: Load, name: str) -> None:
    """None at all would forbid what a limit is about."""
    with pytest.raises(ImproperlyConfigured, match=f"^{name} must be (a whole|DEBUG, |text or)"):
        load(**{name: "65536" if name == "PORT" else "0"})


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({}, True),
        ({"HOST": "::1"}, True),
        ({"HOST": "192.0.2.1"}, False),
        ({"ALLOWED_HOSTS": "localhost,chat.example.org"}, False),
        ({"HOST": "192.0.2.1", "ALLOW_PRIVATE_ADDRESSES": "yes"}, True),
        ({"ALLOW_PRIVATE_ADDRESSES": "no"}, False),
    ],
)
def test_private_addresses_are_for_a_server_that_nobody_else_can_reach(
    load: Load, environment: dict[str, str], *, allowed: bool
) -> None:
    """Unless the operator says otherwise, either way."""
    assert load(**environment)["ALLOW_PRIVATE_ADDRESSES"] is allowed


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (False, False, None)),
        ({"CSRF_TRUSTED_ORIGINS": "https://chat.example.org"}, (True, True, None)),
        ({"BEHIND_TLS": "1"}, (True, True, ("HTTP_X_FORWARDED_PROTO", "https"))),
    ],
)
def test_cookies_are_secure_where_pages_come_over_tls(
    load: Load, environment: dict[str, str], expected: tuple[object, ...]
) -> None:
    """And only a server behind a proxy believes what a header says of that."""
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_PROXY_SSL_HEADER")
    loaded = load(**environment)
    assert tuple(loaded[name] for name in names) == expected


def test_the_secret_key_survives_a_restart(load: Load, tmp_path: Path) -> None:
    """Sessions and stored keys stay readable after the second start."""
    assert load()["SECRET_KEY"] == load()["SECRET_KEY"]
    assert stat.S_IMODE((tmp_path / "secret-key").stat().st_mode) == 0o600


def test_nothing_is_loaded_from_elsewhere() -> None:
    """The policy lets scripts, styles and sockets come from this server only."""
    policy = {name: [str(one) for one in sources] for name, sources in settings.SECURE_CSP.items()}
    for name in ("default-src", "script-src", "style-src", "connect-src", "form-action"):
        assert policy[name] == ["'self'"]
    for name in ("frame-ancestors", "base-uri", "object-src"):
        assert policy[name] == ["'none'"]
    assert policy["img-src"] == ["'self'", "data:"]
