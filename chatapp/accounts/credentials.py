"""Credentials: passwords, sign-in links and API tokens."""

from contextlib import suppress
from datetime import timedelta
from typing import Any, cast, override

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from chatapp.accounts.rate_limits import GuessLimit
from chatapp.models import ApiToken, Preferences, Profile, SignInToken
from chatapp.models.database import lock, select
from chatapp.models.errors import Refused
from chatapp.project.sentences import translate as _

SIGN_IN_LIFETIME = timedelta(hours=24)
MOST_API_TOKENS = 50
# Characters. No name or address is longer, and no database compares texts of any length.
LONGEST_CREDENTIAL = 300
# The last use of a token is noted once in this time, so that few reads need a write.
USE_PRECISION = timedelta(minutes=1)


class LimitedBackend(AuthenticationBackend):
    """Accounts by name or mail address; every form that asks for a password goes through here."""

    @override
    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        """Return the user of this password; None for a wrong one, or after too many wrong ones."""
        account = credentials.get("username") or credentials.get("email") or ""
        limit = GuessLimit(request, realm="sign-in", account=account)
        if not limit.take():
            return None
        user: User | None = super().authenticate(request, **credentials)
        if user:
            limit.release()
        return user

    @override
    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        """Check one password; an unknown name or address costs the same single hash."""
        login = (credentials.get("username") or credentials.get("email") or "")[:LONGEST_CREDENTIAL]
        owner = owner_of(login)
        check = self._check_password if owner else self._authenticate_by_username
        return cast("User | None", check(owner or login, credentials["password"]))

    @override
    def get_user(self, user_id: Any) -> User | None:
        """Return the session's user, with the parts of their account that each page shows."""
        user = User.objects.select_related("deletion", "preferences").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


def owner_of(address: str) -> User | None:
    """Return the user with this verified mail address."""
    proved = {"emailaddress__email": address.lower(), "emailaddress__verified": True}
    return User.objects.filter(**proved).first()


@transaction.atomic
def create_sign_in_token(*, user: User) -> str:
    """Return a token that signs ``user`` in once, within a day; older ones end."""
    lock(User, user.pk)
    SignInToken.objects.filter(user=user).usable().delete()
    token = SignInToken.generate()
    SignInToken.objects.create(
        user=user, digest=SignInToken.digest_of(token), expires_at=timezone.now() + SIGN_IN_LIFETIME
    )
    return token


def holder_of_sign_in_token(*, token: str) -> User | None:
    """Return the user of a sign-in token; None if it is unknown, used or expired."""
    usable = _usable(token).select_related("user").first()
    return usable.user if usable else None


@transaction.atomic
def redeem_sign_in_token(*, token: str) -> User | None:
    """Return the user of a sign-in token, and use it up; None if it is not valid."""
    holder = holder_of_sign_in_token(token=token)
    if holder is None:
        return None
    # Two people may hold it, and one may use it.
    lock(User, holder.pk)
    return holder if _usable(token).update(used_at=timezone.now()) else None


def _usable(token: str) -> QuerySet[SignInToken]:
    return SignInToken.objects.filter(digest=SignInToken.digest_of(token)).usable()


@transaction.atomic
def create_api_token(*, owner: User, name: str, scope: str, **gateways: Any) -> str:
    """Return a new token in clear, with a gateway's profile and mode; it can't be shown again."""
    lock(User, owner.pk)
    if ApiToken.objects.filter(owner=owner).count() >= MOST_API_TOKENS:
        raise Refused(
            _("You have {count} tokens already. Revoke one first.", count=MOST_API_TOKENS)
        )
    token = ApiToken.generate()
    digest = ApiToken.digest_of(token)
    ApiToken.objects.create(owner=owner, name=name, scope=scope, digest=digest, **gateways)
    return token


def open_tokens() -> QuerySet[ApiToken]:
    """Return the API tokens of active users without a pending deletion."""
    return ApiToken.objects.filter(owner__is_active=True, owner__deletion=None)


def holder_of_api_token(*, token: str) -> ApiToken | None:
    """Return the row of a token with its owner, None if it is not valid; note its use."""
    named = open_tokens().filter(digest=ApiToken.digest_of(token))
    found = named.select_related("owner").first()
    now = timezone.now()
    if found and (found.used_at is None or now - found.used_at > USE_PRECISION):
        # On a full disk the token still works.
        with suppress(OperationalError):
            ApiToken.objects.filter(pk=found.pk).update(used_at=now)
    return found


_HELD = (
    "SELECT t.*, u.*, p.*, f.*, EXISTS (SELECT 1 FROM chatapp_conversation WHERE owner_id = u.id "
    "AND budget IS NOT NULL) AS has_budgets "
    "FROM chatapp_apitoken t JOIN auth_user u ON u.id = t.owner_id "
    "LEFT JOIN chatapp_profile p ON p.id = t.profile_id "
    "LEFT JOIN chatapp_preferences f ON f.owner_id = u.id "
    "LEFT JOIN chatapp_deletion d ON d.user_id = u.id "
    "WHERE t.digest = %s AND u.is_active AND d.user_id IS NULL"
)


def find_gateway_token(token: str) -> ApiToken | None:
    """Return the row of a token with its owner and profile in one query; its use is not noted.

    It ``has_budgets`` if any conversation of its owner has one.
    """
    related = {"owner": User, "profile": Profile, "preferences": Preferences}
    found = select(ApiToken, _HELD, ApiToken.digest_of(token), **related)
    for one in found:
        if hasattr(one, "preferences"):
            one.owner.preferences = one.preferences
        if one.profile:
            one.profile.owner = one.owner
    return found[0] if found else None
