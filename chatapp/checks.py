"""System checks: combinations of settings that cannot work, each with a way out."""

import inspect
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.utils.module_loading import import_string

import condense
from chatapp.environment import LOCAL_HOSTS, WILDCARD_HOSTS, folder_problem
from chatapp.providers import provider_specs


@checks.register("palimpsest")
def check_folders(**_: Any) -> list[checks.CheckMessage]:
    """Everything Palimpsest keeps lies in DATA_DIR, so it must be writable."""
    problem = folder_problem("DATA_DIR", settings.DATA_DIR)
    if problem is None:
        return []
    hint = "Name a folder that you own with DATA_DIR."
    return [checks.Error(problem, hint=hint, id="palimpsest.E001")]


@checks.register("palimpsest")
def check_debug(**_: Any) -> list[checks.CheckMessage]:
    """DEBUG shows settings and source to anyone who can reach the server."""
    if not settings.DEBUG or settings.HOST in LOCAL_HOSTS:
        return []
    return [
        checks.Error(
            f"DEBUG is on while other machines can reach HOST {settings.HOST}.",
            hint="Unset DEBUG, or set HOST to 127.0.0.1.",
            id="palimpsest.E002",
        )
    ]


@checks.register("palimpsest")
def check_base_urls(**_: Any) -> list[checks.CheckMessage]:
    """A provider's address must be one that an HTTP client can call."""
    return [
        checks.Error(
            f"{spec.url_variable} is not an http or https address.",
            hint=f"Write it like {spec.url}, or unset it.",
            id="palimpsest.E003",
        )
        for spec in provider_specs().values()
        if spec.url_variable
        and (url := getattr(settings, spec.url_variable))
        and not (urlsplit(url).scheme in {"http", "https"} and urlsplit(url).hostname)
    ]


@checks.register("palimpsest")
def check_strategy(**_: Any) -> list[checks.CheckMessage]:
    """The strategy must exist before a conversation needs it."""
    try:
        condense.load_strategy(settings.CONDENSE_STRATEGY)
    except (LookupError, TypeError) as error:
        names = ", ".join(one.name for one in condense.known_strategies())
        hint = f"Use {names} or a dotted path."
        text = f"CONDENSE_STRATEGY does not name a strategy: {error}"
        return [checks.Error(text, hint=hint, id="palimpsest.E004")]
    return []


@checks.register("palimpsest")
def check_hooks(**_: Any) -> list[checks.CheckMessage]:
    """So must the hooks, which would else fail at the first message."""
    try:
        if not settings.CONDENSE_HOOKS:
            return []
        named = import_string(settings.CONDENSE_HOOKS)
        if isinstance(named, condense.Hooks) or inspect.isfunction(named):
            return []
        problem = "that is something else"
    except ImportError as error:
        problem = str(error)
    hint = "Give the dotted path of one, or of a function that makes one, or unset it."
    text = f"CONDENSE_HOOKS does not name a condense.Hooks object: {problem}"
    return [checks.Error(text, hint=hint, id="palimpsest.E005")]


@checks.register("palimpsest")
def check_configuration(**_: Any) -> list[checks.CheckMessage]:
    """And the function that changes the configuration, which every page asks."""
    try:
        if not settings.CONDENSE_CONFIGURATION:
            return []
        made = import_string(settings.CONDENSE_CONFIGURATION)(condense.Configuration())
        if isinstance(made, condense.Configuration):
            return []
        problem = f"it returns {made!r}"
    except Exception as error:  # noqa: BLE001 - the function is anybody's
        problem = str(error)
    hint = "Give the dotted path of a function that takes one and returns one, or unset it."
    text = f"CONDENSE_CONFIGURATION makes no condense.Configuration: {problem}"
    return [checks.Error(text, hint=hint, id="palimpsest.E006")]


@checks.register("palimpsest")
def check_hosts(**_: Any) -> list[checks.CheckMessage]:
    """A server on every interface answers only to the names in ALLOWED_HOSTS."""
    known = {*LOCAL_HOSTS, *WILDCARD_HOSTS, "[::]"}
    if settings.HOST not in WILDCARD_HOSTS or set(settings.ALLOWED_HOSTS) - known:
        return []
    return [
        checks.Warning(
            f"HOST {settings.HOST} listens to the network, but only local names are allowed.",
            hint="Add the name that people type to ALLOWED_HOSTS.",
            id="palimpsest.W001",
        )
    ]


@checks.register("palimpsest")
def check_proxies(**_: Any) -> list[checks.CheckMessage]:
    """Behind a proxy that is not named, everybody who signs in comes from the proxy's address."""
    if settings.TRUSTED_PROXIES or not (settings.BEHIND_TLS or settings.CSRF_TRUSTED_ORIGINS):
        return []
    return [
        checks.Warning(
            "A proxy stands before the server, and its clients can't be told from each other.",
            hint="Name its address with TRUSTED_PROXIES, and have it set X-Forwarded-For.",
            id="palimpsest.W002",
        )
    ]
