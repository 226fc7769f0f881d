"""Who signs in, and how they want condensing and the agent to work."""

import hashlib
import secrets
from typing import Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import fields
from chatapp.models.profiles import Profile


class SignInTokenQuerySet(models.QuerySet["SignInToken"]):
    """Tokens by what may be done with them."""

    def usable(self) -> Self:
        """Return tokens that were not used and have not expired, of users who may sign in."""
        return self.filter(used_at=None, expires_at__gt=timezone.now(), user__is_active=True)


class SignInToken(models.Model):
    """A link that signs its user in once; only the token's hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = SignInTokenQuerySet.as_manager()

    def __str__(self) -> str:
        """Name the user; the token itself is not known."""
        return f"Sign-in link for {self.user}"

    @staticmethod
    def generate() -> str:
        """Return a fresh token for a URL."""
        return secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(token: str) -> str:
        """Return the hash under which ``token`` is stored."""
        return hashlib.sha256(token.encode()).hexdigest()


class Preferences(models.Model):
    """How one user wants condensing and the agent to work.

    ``adaptive`` looks for a threshold by how a conversation grows, where a profile has none.
    ``strategy`` is a name or dotted path for ``condense.load_strategy``, empty for the server's;
    ``messages_kept`` and ``keep_first`` are what "keep_recent" leaves verbatim;
    with ``review_automatic`` a person is shown each automatic summary for ``review_seconds``;
    ``month_budget`` is what all their conversations may cost in a month, by UTC;
    ``offered_providers`` names those for which a first profile was made, so that one that was
    removed is not made again. Summaries are drafted in the background from ``draft_share`` percent
    of the threshold on.
    """

    class Drafting(models.TextChoices):
        """Where summaries are drafted before they are needed."""

        FREE = "free", _("Where tokens cost nothing")
        ALWAYS = "always", _("Always")
        NEVER = "never", _("Never")

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="preferences"
    )
    auto_condense = models.BooleanField(_("condense automatically"), default=True)
    threshold = models.PositiveSmallIntegerField(
        _("threshold (%)"),
        default=condense.MAX_THRESHOLD,
        validators=[
            MinValueValidator(condense.MIN_THRESHOLD),
            MaxValueValidator(condense.MAX_THRESHOLD),
        ],
    )
    adaptive = models.BooleanField(_("adapt the threshold"), default=False)
    condensing_prompt = fields.TextField(_("condensing prompt"), blank=True)
    strategy = models.CharField(_("strategy"), max_length=200, blank=True)
    messages_kept = models.PositiveSmallIntegerField(
        _("messages to keep"),
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    keep_first = models.BooleanField(_("keep the first message too"), default=False)
    draft_ahead = models.CharField(
        _("draft summaries in the background"),
        max_length=6,
        choices=Drafting,
        default=Drafting.FREE,
    )
    draft_share = models.PositiveSmallIntegerField(
        _("share of the threshold (%)"),
        default=80,
        validators=[MinValueValidator(30), MaxValueValidator(95)],
    )
    condense_idle = models.BooleanField(_("condense while idle"), default=False)
    clear_tool_output = models.BooleanField(_("clear superseded tool output first"), default=False)
    review_automatic = models.BooleanField(_("review before it applies"), default=False)
    review_seconds = models.PositiveSmallIntegerField(
        _("seconds for a review"),
        default=300,
        validators=[MinValueValidator(10), MaxValueValidator(30_000)],
    )
    step_limit = models.PositiveSmallIntegerField(
        _("step limit"),
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(1_000)],
    )
    month_budget = fields.budget(_("budget per month"))
    name_conversations = models.BooleanField(_("name conversations"), default=True)
    environment_details = models.BooleanField(_("environment details"), default=True)
    shortcuts = models.BooleanField(_("keyboard shortcuts"), default=True)
    default_profile = models.ForeignKey(
        Profile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    offered_providers = models.JSONField(default=list, editable=False)

    class Meta:
        verbose_name_plural = "preferences"

    def __str__(self) -> str:
        """Name the owner."""
        return f"Preferences of {self.owner}"
