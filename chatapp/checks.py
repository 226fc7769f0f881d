"""System checks: combinations of settings that cannot work, each with a way out."""

import inspect
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004 - Django's name
from django.utils.module_loading import import_string

import condense
from chatapp.environment import LOCAL_HOSTS, WILDCARD_HOSTS, folder_problem, read_text
from chatapp.providers import provider_specs
from chatapp.sentences import translate as _


@register("palimpsest")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Return what cannot work, before a message or a page needs it."""
    return [*_check_server(), *_check_providers(), *_check_condensing(), *check_cluster()]


def _check_server() -> Iterator[CheckMessage]:
    if problem := folder_problem("DATA_DIR", settings.DATA_DIR):
        hint = _("Name a folder that you own with DATA_DIR.")
        yield Error(problem, hint, id="palimpsest.E001")
    host = settings.HOST
    if settings.DEBUG and host not in LOCAL_HOSTS:
        text = _("DEBUG is on while other machines can reach HOST {host}.", host=host)
        hint = _("Unset DEBUG, or set HOST to 127.0.0.1.")
        yield Error(text, hint, id="palimpsest.E002")
    local = {*LOCAL_HOSTS, *WILDCARD_HOSTS, "[::]"}
    if host in WILDCARD_HOSTS and set(settings.ALLOWED_HOSTS) <= local:
        text = _("HOST {host} listens to the network, but only local names are allowed.", host=host)
        hint = _("Set PUBLIC_URL to the address that people type.")
        yield Warning(text, hint, id="palimpsest.W001")
    is_proxied = settings.BEHIND_TLS or any(
        one.startswith("https") for one in settings.CSRF_TRUSTED_ORIGINS
    )
    if is_proxied and not settings.TRUSTED_PROXIES:
        text = _("A proxy stands before the server, and its clients can't be told from each other.")
        hint = _("Name its address with TRUSTED_PROXIES, and have it set X-Forwarded-For.")
        yield Warning(text, hint, id="palimpsest.W002")
    if not settings.PUBLIC_URL and any(one[:1] in "*." for one in settings.ALLOWED_HOSTS):
        text = _("ALLOWED_HOSTS has a wildcard: links carry whatever name a visitor's request has.")
        hint = _("Set PUBLIC_URL to the address that people type, or list each name.")
        yield Warning(text, hint, id="palimpsest.W003")


@register("palimpsest", deploy=True)
def check_tls(**_options: Any) -> list[CheckMessage]:
    """Return what is missing where other machines reach the server."""
    if settings.PUBLIC_URL.startswith("https"):
        return []
    text = _("PUBLIC_URL is no https address, so passwords and cookies may go unencrypted.")
    hint = _(
        "Put a proxy that ends TLS in front, and set PUBLIC_URL to its address, such as "
        "https://chat.example.org."
    )
    return [Warning(text, hint, id="palimpsest.W004")]


def check_cluster() -> Iterator[CheckMessage]:
    """Yield what several processes would not have in common."""
    if settings.REDIS_URL and not settings.CLUSTER:
        yield Error(
            _("REDIS_URL is set, but the database is a file, which several processes can't share."),
            _("Set DATABASE_URL to a PostgreSQL database, or unset REDIS_URL."),
            id="palimpsest.E007",
        )
    keys = (("SECRET_KEY", "secret-key", "E008"), ("SEAL_KEY", "seal-key", "E009"))
    for name, file, number in keys:
        if settings.CLUSTER and not read_text(name, ""):
            text = _("{name} is not set, and each machine would make one of its own.", name=name)
            hint = _(
                "Set it for all processes to the same long random text, or to what {file} in "
                "DATA_DIR holds.",
                file=file,
            )
            yield Error(text, hint, id=f"palimpsest.{number}")


def _check_providers() -> Iterator[CheckMessage]:
    for spec in provider_specs().values():
        parts = urlsplit(getattr(settings, spec.url_variable) if spec.url_variable else "")
        if any(parts) and not (parts.scheme in {"http", "https"} and parts.hostname):
            text = _("{name} is not an http or https address.", name=spec.url_variable)
            hint = _("Write it like {url}, or unset it.", url=spec.url)
            yield Error(text, hint, id="palimpsest.E003")


def _check_condensing() -> Iterator[CheckMessage]:
    try:
        condense.load_strategy(settings.CONDENSE_STRATEGY)
    except (LookupError, TypeError) as error:
        names = ", ".join(one.name for one in condense.known_strategies())
        text = _("CONDENSE_STRATEGY does not name a strategy: {error}", error=error)
        hint = _("Use {names} or a dotted path.", names=names)
        yield Error(text, hint, id="palimpsest.E004")
    text = ""
    try:
        if settings.CONDENSE_HOOKS:
            hooks = import_string(settings.CONDENSE_HOOKS)
            if not (isinstance(hooks, condense.Hooks) or inspect.isfunction(hooks)):
                text = _(
                    "CONDENSE_HOOKS does not name a condense.Hooks object: that is something else"
                )
    except ImportError as error:
        text = _("CONDENSE_HOOKS does not name a condense.Hooks object: {error}", error=error)
    if text:
        hint = _("Give the dotted path of one, or of a function that makes one, or unset it.")
        yield Error(text, hint, id="palimpsest.E005")
    text = ""
    try:
        if settings.CONDENSE_CONFIGURATION:
            made = import_string(settings.CONDENSE_CONFIGURATION)(condense.Configuration())
            if not isinstance(made, condense.Configuration):
                text = _(
                    "CONDENSE_CONFIGURATION makes no condense.Configuration: it returns {made!r}",
                    made=made,
                )
    except Exception as error:  # noqa: BLE001 - the function is anybody's
        reason = str(error) or type(error).__name__
        text = _("CONDENSE_CONFIGURATION makes no condense.Configuration: {reason}", reason=reason)
    if text:
        hint = _("Give the dotted path of a function that takes one and returns one, or unset it.")
        yield Error(text, hint, id="palimpsest.E006")
