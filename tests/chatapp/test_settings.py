"""Settings: what a fresh checkout gets, and what the environment changes."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings

ROOT = Path(__file__).parents[2]
SHOW = """
import json
from chatapp import settings
print(json.dumps({name: getattr(settings, name) for name in dir(settings) if name.isupper()},
                 default=str))
"""


def load(**environment: str) -> dict[str, Any]:
    """Return the settings that a fresh process sees in this environment."""
    inherited = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=ROOT,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def test_defaults_are_safe(tmp_path: Path) -> None:
    """Without any variable the server is local, without debug pages, in its own folder."""
    loaded = load(DATA_DIR=str(tmp_path))
    assert loaded["DEBUG"] is False
    assert (loaded["HOST"], loaded["PORT"]) == ("127.0.0.1", 8000)
    assert set(loaded["ALLOWED_HOSTS"]) == {"localhost", "127.0.0.1", "[::1]"}
    assert loaded["WORKSPACES_ROOT"] == str(tmp_path / "workspaces")
    assert loaded["DATABASES"]["default"]["NAME"] == str(tmp_path / "palimpsest.sqlite3")
    assert loaded["ANTHROPIC_API_KEY"] == ""


def test_variables_change_settings(tmp_path: Path) -> None:
    """Each variable that the README lists arrives."""
    loaded = load(
        ANTHROPIC_API_KEY="key",
        ANTHROPIC_BASE_URL="http://localhost:9000",
        CSRF_TRUSTED_ORIGINS="https://chat.example.org",
        DATA_DIR=str(tmp_path),
        DEBUG="1",
        HOST="::1",
        PORT="9001",
        SECRET_KEY="given",
        SHARED_WORKSPACES="handbook, projects",
        WORKSPACES_ROOT=str(tmp_path / "work"),
    )
    assert loaded["ANTHROPIC_API_KEY"] == "key"
    assert loaded["ANTHROPIC_BASE_URL"] == "http://localhost:9000"
    assert loaded["CSRF_TRUSTED_ORIGINS"] == ["https://chat.example.org"]
    assert loaded["DEBUG"] is True
    assert (loaded["HOST"], loaded["PORT"]) == ("::1", 9001)
    assert "[::1]" in loaded["ALLOWED_HOSTS"]
    assert loaded["SECRET_KEY"] == "given"
    assert loaded["SHARED_WORKSPACES"] == ["handbook", "projects"]
    assert loaded["WORKSPACES_ROOT"] == str(tmp_path / "work")
    assert not (tmp_path / "secret-key").exists()


def test_private_addresses_are_for_a_server_that_nobody_else_can_reach(tmp_path: Path) -> None:
    """Unless the operator says otherwise, either way."""

    def allowed(**environment: str) -> bool:
        loaded = load(DATA_DIR=str(tmp_path), **environment)
        return bool(loaded["ALLOW_PRIVATE_ADDRESSES"])

    assert allowed()
    assert allowed(HOST="::1")
    assert not allowed(HOST="192.0.2.1")
    assert not allowed(ALLOWED_HOSTS="localhost,chat.example.org")
    assert allowed(HOST="192.0.2.1", ALLOW_PRIVATE_ADDRESSES="yes")
    assert not allowed(ALLOW_PRIVATE_ADDRESSES="no")


def test_cookies_are_secure_where_pages_come_over_tls(tmp_path: Path) -> None:
    """And only a server behind a proxy believes what a header says of that."""
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_PROXY_SSL_HEADER")
    plain = load(DATA_DIR=str(tmp_path))
    trusting = load(DATA_DIR=str(tmp_path), CSRF_TRUSTED_ORIGINS="https://chat.example.org")
    behind = load(DATA_DIR=str(tmp_path), BEHIND_TLS="1")
    assert [plain[name] for name in names] == [False, False, None]
    assert [trusting[name] for name in names] == [True, True, None]
    assert [behind[name] for name in names] == [True, True, ["HTTP_X_FORWARDED_PROTO", "https"]]


def test_the_secret_key_survives_a_restart(tmp_path: Path) -> None:
    """Sessions and stored keys stay readable after the second start."""
    first = load(DATA_DIR=str(tmp_path))["SECRET_KEY"]
    assert load(DATA_DIR=str(tmp_path))["SECRET_KEY"] == first
    assert stat.S_IMODE((tmp_path / "secret-key").stat().st_mode) == 0o600


def test_loading_settings_imports_no_sdk(tmp_path: Path) -> None:
    """A vendor's SDK costs a second, which a start without a message should not pay."""
    code = (
        "import sys, django; django.setup();"
        "print(sorted({'anthropic', 'openai', 'tiktoken'} & set(sys.modules)))"
    )
    environment = {"DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "chatapp.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_nothing_is_loaded_from_elsewhere() -> None:
    """The policy lets scripts, styles and sockets come from this server only."""
    policy = {name: [str(source) for source in sources] for name, sources in csp().items()}
    for name in ("default-src", "script-src", "style-src", "connect-src", "form-action"):
        assert policy[name] == ["'self'"]
    for name in ("frame-ancestors", "base-uri", "object-src"):
        assert policy[name] == ["'none'"]
    assert policy["img-src"] == ["'self'", "data:"]


def csp() -> dict[str, list[str]]:
    """Return the content security policy as it is configured."""
    policy: dict[str, list[str]] = settings.SECURE_CSP
    return policy
