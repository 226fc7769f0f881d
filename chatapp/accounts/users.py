"""Users as their operator sees them: figures, never conversations; changes to accounts."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.core.mail import EmailMessage, mailers
from django.db import transaction
from django.db.models import Max
from django.urls import reverse

from chatapp.accounts.adapters import deliver
from chatapp.models import Invitation, Preferences
from chatapp.models.account_deletions import Deletion, people
from chatapp.models.accounts import preferences_of, stop_sharing
from chatapp.models.database import lock, now
from chatapp.models.errors import Refused
from chatapp.models.spending import Spent, spent_this_month
from chatapp.project.languages import Reader, choice_of
from chatapp.project.sentences import translate as _

log = logging.getLogger(__name__)

USERS_PER_PAGE = 20
# The time in which a user may take the deletion of their account back.
GRACE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class UserFigures:
    """A user with last visit, spending this month and budget in USD, and second factor or not."""

    user: User
    last_visit: datetime | None
    spent: Spent
    budget: Decimal | None
    has_factor: bool

    @property
    def role(self) -> Invitation.Role:
        """Their role on this server."""
        return Invitation.Role.OPERATOR if self.user.is_superuser else Invitation.Role.MEMBER

    @property
    def actions(self) -> list[tuple[str, str]]:
        """The operator's actions on the account, as names for addresses and in words."""
        user = self.user
        role = (
            ("member", _("Make member")) if user.is_superuser else ("operator", _("Make operator"))
        )
        active = ("deactivate", _("Deactivate")) if user.is_active else ("activate", _("Activate"))
        password, sessions = ("password", _("Reset password")), ("end-sessions", _("End sessions"))
        factor = ("factor", _("Remove second factor"))
        return [role, password, *[factor] * self.has_factor, sessions, active]


def list_users(*, after: str = "") -> list[UserFigures]:
    """Return the users with names ``after`` this one, ``USERS_PER_PAGE`` and one more at most."""
    found = people().filter(username__gt=after).select_related("deletion")
    users = [*found.order_by("username")[: USERS_PER_PAGE + 1]]
    visits = UserSession.objects.filter(user__in=users).values_list("user").order_by()
    last = dict(visits.annotate(last=Max("last_seen_at")))
    budgets = dict(Preferences.objects.filter(owner__in=users).values_list("owner", "allowance"))
    spent = spent_this_month([user.pk for user in users])
    factors = {*Authenticator.objects.filter(user__in=users).values_list("user", flat=True)}
    return [
        UserFigures(
            user,
            last.get(user.pk, user.last_login),
            spent.get(user.pk, Spent()),
            budgets.get(user.pk),
            user.pk in factors,
        )
        for user in users
    ]


@transaction.atomic
def give_role(user: User, role: str) -> None:
    """Make a user an operator or a member; refused if no operator would remain."""
    is_operator = role == Invitation.Role.OPERATOR
    if not is_operator:
        step_down(user)
    user.is_superuser = is_operator
    user.save(update_fields=["is_superuser"])


@transaction.atomic
def set_active(user: User, *, active: bool) -> None:
    """Let a user sign in, or not any more: then their sessions and sockets end at once."""
    if not active:
        step_down(user)
    user.is_active = active
    user.save(update_fields=["is_active"])
    if not active:
        end_sessions(user)


def end_sessions(user: User, *, but: str | None = None, tokens: bool = False) -> None:
    """End every session of a user but the one with this key; revoke their ``tokens`` too."""
    if tokens:
        user.api_tokens.all().delete()
    for session in UserSession.objects.filter(user=user).exclude(session_key=but):
        session.end()


def remove_factors(user: User) -> None:
    """Remove a user's second factors, log it, and mail the user."""
    Authenticator.objects.filter(user=user).delete()
    log.warning("second factor and passkeys of user %s were removed", user.pk)
    if address := EmailAddress.objects.get_verified(user):
        with Reader.of(choice_of(user, {}), "").reading():
            said = _(
                "The second factor and the passkeys of your account {user} were removed: your "
                "password alone signs in. If you did not ask for that, tell an operator.",
                user=user,
            )
            mail = EmailMessage(_("Second factor and passkeys"), said, to=[address.email])
        deliver(mailers.default, [mail])


def give_budget(user: User, budget: Decimal | None) -> None:
    """Set the operator's limit of a user's monthly spending in USD; None is no limit."""
    preferences = preferences_of(user)
    preferences.allowance = budget
    preferences.save(update_fields=["allowance"])


def password_link(user: User) -> str:
    """Return the path of a page to choose the user's password, valid once."""
    known = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    return reverse("account_reset_password_from_key", kwargs=known)


def is_last_operator(user: User) -> bool:
    """Return True if the user is the only operator who is active and not about to be deleted."""
    others = User.objects.filter(is_superuser=True, is_active=True, deletion=None)
    return user.is_superuser and not others.exclude(pk=user.pk).exists()


def step_down(user: User) -> None:
    """Raise Refused if a user is the only operator; lock the operators for the transaction.

    Their shared profiles are theirs alone from now on: no other operator could manage the key.
    """
    if user.is_superuser:
        lock(User, *User.objects.filter(is_superuser=True).values_list("pk", flat=True))
    if is_last_operator(user):
        raise Refused(_("Somebody has to be operator. Make another user one first."))
    for profile in user.profiles.filter(is_shared=True):
        stop_sharing(profile)


@transaction.atomic
def ask_to_delete(user: User, *, session_key: str | None) -> None:
    """Have an account deleted after ``GRACE``; all its sessions but this one end.

    Until then its tokens and links open nothing. Refused if no operator would remain.
    """
    step_down(user)
    Deletion.objects.get_or_create(user=user, defaults={"due_at": now() + GRACE})
    end_sessions(user, but=session_key)


def keep_account(user: User) -> bool:
    """Cancel the deletion of an account; False if there is none, or it is too late."""
    deleted, _rows = Deletion.objects.filter(user=user, due_at__gt=now()).delete()
    return bool(deleted)
