"""Access tokens: sign-in links, invitations, API tokens, links to read; their hashes are stored."""

import hashlib
import secrets
from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatapp.models import fields
from chatapp.models.conversations import Conversation
from chatapp.models.database import now
from chatapp.models.profiles import Profile


class AccessToken(models.Model):
    """A row that a secret token opens, which is known by its hash alone."""

    # A token that was left somewhere by mistake is recognised by this.
    PREFIX: ClassVar[str] = ""

    digest = models.CharField(max_length=64, unique=True)

    class Meta:
        abstract = True

    @classmethod
    def generate(cls) -> str:
        """Return a fresh token, which can be part of an address."""
        return cls.PREFIX + secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(token: str) -> str:
        """Return the hash under which ``token`` is stored."""
        return hashlib.sha256(token.encode(errors="replace")).hexdigest()


class SignInTokenQuerySet(models.QuerySet["SignInToken"]):
    """Sign-in tokens that can be used."""

    def usable(self) -> Self:
        """Return unused tokens that have not expired, of users with active accounts."""
        return self.filter(used_at=None, expires_at__gt=timezone.now(), user__is_active=True)


class SignInToken(AccessToken):
    """A link that signs its user in once; only the token's hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = SignInTokenQuerySet.as_manager()


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """Invitations that can be used."""

    def usable(self) -> Self:
        """Return unused invitations that have not expired, of operators with active accounts."""
        inviting = {"invited_by__is_superuser": True, "invited_by__is_active": True}
        return self.filter(used_at=None, expires_at__gt=now(), **inviting)


class Invitation(AccessToken):
    """An invitation to make an account, once; only its token's hash is stored."""

    class Role(models.TextChoices):
        """The role of an account."""

        MEMBER = "member", _("member")
        OPERATOR = "operator", _("operator")

    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    role = models.CharField(_("role"), max_length=8, choices=Role, default=Role.MEMBER)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    objects = InvitationQuerySet.as_manager()


class ApiToken(AccessToken):
    """A program's credential; only its hash is stored.

    Each ``scope`` holds those before it, but for that of the gateway, which reads nothing. Its
    requests go to a ``profile``, or to the one of their model; ``program`` sent the last one.
    """

    PREFIX = "palimpsest_"
    has_budgets = False

    class Scope(models.TextChoices):
        """The rights of a token."""

        READ = "read", _("read")
        WRITE = "write", _("read and write")
        ALL = "all", _("read, write and change settings")
        # A scope that only the gateway's form offers.
        GATEWAY = "gateway", _("gateway")

    class Mode(models.TextChoices):
        """The changes that the gateway may make to requests."""

        RECORD = "", _("Record only")
        RECALL = "recall", _("Record and recall")
        CONDENSE = "condense", _("Record, recall and condense")

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = fields.CharField(_("name"), max_length=60)
    scope = models.CharField(
        _("scope"), max_length=8, choices=Scope.choices[:-1], default=Scope.READ
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)
    profile = models.ForeignKey(
        Profile, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("profile")
    )
    program = fields.CharField(max_length=100, blank=True, db_default="", editable=False)
    mode = models.CharField(_("mode"), max_length=8, choices=Mode, blank=True, db_default="")

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return str(self.name)

    @property
    def idle(self) -> int | None:
        """The seconds since its last use, None if it was never used."""
        return int((now() - self.used_at).total_seconds()) if self.used_at else None


class Share(AccessToken):
    """A link to read a conversation up to message ``until``; only its token's hash is stored."""

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="share"
    )
    until = models.PositiveIntegerField()
    tools = models.BooleanField(default=False)  # shows their input and output
    created_at = models.DateTimeField(default=timezone.now)
