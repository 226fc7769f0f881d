"""Models at providers, as their users have set them up: limits, prices, keys."""

import copy
import enum
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

from django.apps import apps
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import DatabaseError, models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import fields
from chatapp.models.database import SqlStatement, StatementFunction, select
from chatapp.models.mcp_servers import McpServer
from chatapp.models.server_settings import ServerSettings
from chatapp.project.languages import in_words
from chatapp.providers import provider_spec, provider_specs
from chatapp.providers.refusals import habits
from chatapp.providers.specs import EFFORTS, PRICED, SAFE_OUTPUT, SAFE_WINDOW, ProviderSpec
from chatapp.tools.mcp.servers import Way


def _price(label: Any) -> "models.DecimalField[Any, Any]":
    """Return a column for USD per million tokens."""
    least = [MinValueValidator(Decimal(0))]
    return models.DecimalField(
        label, max_digits=12, decimal_places=6, default=Decimal(0), validators=least
    )


def provider_choices() -> list[tuple[str, Any]]:
    """Return the names of the providers, and their labels in the reader's language."""
    return [(spec.name, in_words(spec.label)) for spec in provider_specs().values()]


def effort_choices() -> list[tuple[str, Any]]:
    """Return the levels of thinking, and words for them."""
    words = (_("off"), _("minimal"), _("low"), _("medium"), _("high"), _("very high"), _("maximum"))
    return [*zip(EFFORTS, words, strict=True)]


def server_key(spec: ProviderSpec) -> str:
    """Return the key for a provider from the server's environment, "" without one."""
    return getattr(settings, spec.key_variable) if spec.key_variable else ""


# The time for which a refusal is remembered; a server may take more by then.
KNOWN_FOR = timedelta(days=7)

# Columns that a copy of a server profile has; its key and its address stay with the original.
_COPIED = (
    *("provider", "model", "context_window", "max_output", "text_only"),
    *("system_prompt", "effort", "temperature", *[f"price_{name}" for name in PRICED]),
)


class KeySource(enum.StrEnum):
    """The source of the key for a profile's calls."""

    NOT_NEEDED = "not needed"
    OWN = "own"
    SERVER = "server"
    MISSING = "missing"


class ProfileQuerySet(models.QuerySet["Profile"]):
    """Profiles, the last used first."""

    def last_used_first(self, user: Any) -> Self:
        """Return a user's profiles by their last answer (``used_at``), the newest first."""
        turns = apps.get_model("chatapp", "Turn").objects.filter(profile=models.OuterRef("pk"))
        newest = turns.order_by("-started_at").values("started_at")[:1]
        found = self.filter(owner=user).select_related("owner", "origin__owner")
        used = models.F("used_at").desc(nulls_last=True)
        return found.annotate(used_at=models.Subquery(newest)).order_by(used, "name")


class Profile(models.Model):
    """A model at a provider: its address, its limits in tokens, its prices in USD.

    One that ``is_shared`` by an operator is the ``origin`` of a copy of each user's, who can change
    nothing in it but its threshold. ``learnt`` has the parts of requests that its server
    ``refused``, and ``until`` when that is known.
    """

    pace: float | None = None  # its model's, in a turn, see ``calls.pace_of``

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="profiles")
    name = fields.CharField(_("name"), max_length=80)
    provider = models.CharField(_("provider"), max_length=20, choices=provider_choices)
    model = models.CharField(_("model"), max_length=100)
    base_url = fields.CharField(_("base URL"), blank=True, max_length=300)
    encrypted_key = fields.EncryptedField()
    context_window = models.PositiveIntegerField(
        _("context window"), validators=[MinValueValidator(1_000)]
    )
    max_output = models.PositiveIntegerField(
        _("max output tokens"), validators=[MinValueValidator(1)]
    )
    text_only = models.BooleanField(_("sees no images"), default=False)
    price_input = _price(_("input"))
    price_output = _price(_("output"))
    price_cache_read = _price(_("cache read"))
    price_cache_write = _price(_("cache write"))
    threshold = models.SmallIntegerField(_("threshold"), default=condense.INHERIT)
    tokens_kept = fields.tokens_kept(
        _("For “Summary + recent messages”. Leave empty to use Settings.")
    )
    summaries_by = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("summaries by"),
    )
    condensing_prompt = models.ForeignKey(
        "CondensingPrompt",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("condensing prompt"),
    )
    # None stands for the value in the settings.
    find_contradictions = models.BooleanField(_("look for contradictions"), null=True, blank=True)
    tool_policies = models.JSONField(default=dict, editable=False)  # by name, else the tools' own
    system_prompt = fields.TextField(_("system prompt"), blank=True)  # "" for the default
    effort = models.CharField(_("thinking"), max_length=10, blank=True, choices=effort_choices)
    temperature = models.DecimalField(
        _("temperature"),
        max_digits=3,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(2))],
    )

    learnt = models.JSONField(default=dict, db_default={}, editable=False)
    is_shared = models.BooleanField(default=False, db_default=False, editable=False)
    origin = models.ForeignKey(
        "self", models.CASCADE, null=True, editable=False, related_name="copies"
    )

    objects = ProfileQuerySet.as_manager()

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "origin"), name="profile_copy_per_owner"),
            models.UniqueConstraint(fields=("owner", "name"), name="profile_name_per_owner"),
            models.CheckConstraint(
                condition=models.Q(threshold=condense.INHERIT)
                | models.Q(threshold__range=(condense.MIN_THRESHOLD, condense.MAX_THRESHOLD)),
                name="profile_threshold_range",
            ),
        )

    def __str__(self) -> str:
        return str(self.name)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store it and its copies; refused parts of requests are tried again."""
        self.learnt = {}
        super().save(*args, **kwargs)
        # Its own limits hold again, not those that a provider named.
        talks = apps.get_model("chatapp", "Conversation").objects.exclude(named_window=None)
        talks.filter(models.Q(profile=self) | models.Q(profile__origin=self)).update(
            named_window=None
        )
        if self.is_shared:
            self.copies.update(**self.copied)
            taken = Profile.objects.filter(name=self.name).exclude(pk=self.pk)
            self.copies.exclude(owner__in=taken.values("owner")).update(name=self.name)

    @property
    def copied(self) -> dict[str, Any]:
        """The columns that a copy takes over, by name."""
        return {name: getattr(self, name) for name in _COPIED}

    @property
    def reached(self) -> "Profile":
        """The profile whose address is called, with its key."""
        return self.origin if self.origin_id else self  # type: ignore[return-value] # it has one

    @property
    def refused(self) -> dict[str, Any]:
        """The refusals of its server that are still known."""
        is_known = timezone.now().isoformat() < self.learnt.get("until", "")
        return self.learnt["refused"] if is_known else {}

    def keep_refused(self, refused: Mapping[str, Any]) -> None:
        """Keep the refusals of its server for some days; unstored ones are learnt again."""
        until = self.learnt["until"] if self.refused else (timezone.now() + KNOWN_FOR).isoformat()
        self.learnt = {"until": until, "refused": refused}
        with suppress(DatabaseError), transaction.atomic():
            Profile.objects.filter(pk=self.pk).update(learnt=self.learnt)

    @property
    def spec(self) -> ProviderSpec:
        """The provider's own specification."""
        return provider_spec(self.provider)

    @property
    def sees_images(self) -> bool:
        """True unless the model is set, or known, to take no images."""
        known = self.spec.find_model(self.model)
        return not self.text_only and (known is None or known.images)

    @property
    def has_safe_limits(self) -> bool:
        """True if its limits are the safe guess for an unknown model."""
        limits = (self.context_window, self.max_output)
        return limits == (SAFE_WINDOW, SAFE_OUTPUT) and not self.spec.find_model(self.model)

    @property
    def output_limit(self) -> int:
        """Tokens kept free for the answer, which may take no more."""
        return condense.output_limit(self.context_window, self.max_output)

    @property
    def key_source(self) -> KeySource:
        """The source of the key; the server's is only for the provider's own address."""
        if self.origin_id:
            return KeySource.SERVER
        if self.encrypted_key and self.spec.needs_key:
            return KeySource.OWN
        if not self.spec.asks_key(self.base_url):
            return KeySource.NOT_NEEDED
        usable = server_key(self.spec) and not self.base_url
        return KeySource.SERVER if usable else KeySource.MISSING

    @property
    def is_servers(self) -> bool:
        """True if calls use the server's key, or are a shared operator's."""
        return self.key_source is KeySource.SERVER

    @property
    def is_on_server(self) -> bool:
        """True if calls use the server's key or a shared operator's key."""
        return self.is_servers and self.spec.asks_key(self.reached.base_url)

    @property
    def has_fixed_prices(self) -> bool:
        """True if the owner can't set the prices."""
        return self.is_on_server and not self.reached.owner.is_superuser

    @property
    def prices(self) -> condense.Prices:
        """The prices as the engine calculates with them, and all else that its vendor bills by.

        On the server's key these are the operator's prices, or else the provider's.
        """
        prices, known = self.spec.prices_of(self.model), self.spec.find_model(self.model)
        own = condense.Prices(
            **{name: getattr(self, f"price_{name}") for name in PRICED},
            surcharge=known.prices.surcharge if known else None,
        )
        if not self.has_fixed_prices and (own.are_set or not self.is_on_server):
            prices = own
        habit = habits(self.reached.base_url or self.spec.url, self.model)
        return replace(prices, times=habit.get("times", {}), fees=habit.get("fees", {}))

    def cost_of(self, usage: condense.Usage) -> Decimal | None:
        """Return the cost of a call in USD, None if nobody knows it.

        It is unknown at a server that needs a key and has no prices, unless it reported its
        charge, and for a call that was not billed by its prices.
        """
        # A member's call that the server pays for counts with its prices at least, whatever else
        # the program ordered.
        prices = self.prices
        has_prices = prices.are_set or usage.charged is not None
        is_free = not has_prices and not self.spec.asks_key(self.reached.base_url)
        counts = self.is_servers and not self.owner.is_superuser
        is_known = is_free or (has_prices and (counts or prices.covers(usage)))
        return prices.cost(usage) if is_known else None

    def for_model(self, model: str) -> "Profile":
        """Return a profile, not stored, of another model at the same server.

        Its prices are the provider's own, if it is at the provider's own address, or if an
        operator has set prices for a profile that members have a copy of.
        """
        known = None if self.reached.base_url else self.spec.find_model(model)
        prices, other = known.prices if known else condense.Prices(), copy.copy(self)
        if self.origin_id and self.prices.are_set:
            prices = self.spec.prices_of(model)
        other.model = model
        for name in PRICED:
            setattr(other, f"price_{name}", getattr(prices, name))
        return other

    @cached_property
    def mcp_servers(self) -> list[McpServer]:
        """The servers of its owner that are in use, as they were at the first use.

        Those that the operators do not allow are not.
        """
        servers: list[McpServer] = self.read_servers()
        return servers

    @StatementFunction
    def read_servers(self) -> SqlStatement:
        """Return the servers for ``mcp_servers``."""
        sql = "SELECT * FROM chatapp_mcpserver WHERE owner_id = %s AND is_on ORDER BY name"
        read = select.query(McpServer, sql, self.owner_id)
        return replace(read, take=lambda *found: [*filter(self._may_use, read.take(*found))])

    def _may_use(self, server: McpServer) -> bool:
        bound = self.binding
        return bound.servers_allowed and (bound.commands_allowed or server.way == Way.HTTP)

    @cached_property
    def binding(self) -> ServerSettings:
        """The settings that bind its owner, as they were at the first use."""
        return ServerSettings.binding(self.owner)

    @property
    def has_key(self) -> bool:
        """True if a key is stored; the key itself is never shown."""
        return bool(self.encrypted_key)

    def set_key(self, key: str) -> None:
        """Encrypt and keep ``key``; an empty one removes the stored one."""
        self.encrypted_key = fields.encrypt(key) if key else ""

    def read_key(self) -> str:
        """Return the key in clear, "" without one; raise DecryptionFailed."""
        return fields.decrypt(self.encrypted_key) if self.encrypted_key else ""
