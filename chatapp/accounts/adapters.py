"""Adapters of django-allauth: rules of joining, limits on guesses, encryption of secrets."""

import logging
import re
import unicodedata
from collections.abc import Sequence
from threading import Thread
from typing import Any, override

import httpx2
import requests
from allauth.account.adapter import DefaultAccountAdapter, get_adapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.contrib.sites.shortcuts import get_current_site
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, mailers
from django.core.mail.backends.base import BaseEmailBackend
from django.core.validators import MaxLengthValidator
from django.http import HttpRequest
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.accounts import invitations
from chatapp.accounts.rate_limits import GuessLimit, count_up
from chatapp.models.errors import DecryptionFailed
from chatapp.models.fields import decrypt, encrypt
from chatapp.project.languages import reader_of

log = logging.getLogger(__name__)

# Seconds within which an OpenID provider has to answer.
OPENID_TIMEOUT = 10

# The provider's id of a person, as far as the column has room, and its claims about them.
SUBJECT = re.compile(r"[!-~]{1,191}")
TEXT_CLAIMS = ("email", "preferred_username", "name", "given_name", "family_name")
LONGEST_ADDRESS = 254
# Scripts whose signs belong together, by the beginnings of Unicode's names.
EAST_ASIAN = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"}
# Mails of each kind to one user: all of them hold the same link.
MAILS_AN_HOUR, HOUR = 5, 3600
# A user's number for an address that belongs to no account.
NOBODY = 0


class AccountAdapter(DefaultAccountAdapter):
    """Accounts: joined by invitation, unless everybody may; guesses are limited by network."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "too_many_login_attempts": _("Too many passwords were wrong. Try again in 15 minutes.")
    }

    @override
    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the client's address; an IPv4 address mapped into IPv6 is returned as IPv4."""
        return str(request.META["REMOTE_ADDR"]).removeprefix("::ffff:")

    @override
    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail in the user's language, or else the browser's, from a thread.

        A user gets ``MAILS_AN_HOUR`` of each kind. An unreachable mail server is reported by an
        error page, except after a sign-up. ``NOBODY`` gets no mail, but takes as much time.
        """
        user, site = context["user"], get_current_site(self.request)
        known = {"request": self.request, "email": email, "current_site": site}
        with reader_of(self.request, user).reading():
            mail = self.render_mail(template_prefix, email, known | context)
        server = mailers.default
        try:
            server.open()
        except OSError as error:
            log.warning("mail can't be sent: %s", type(error).__name__)
            if template_prefix.endswith("signup"):
                return
            page = render(self.request, "sign_in/mail_away.html", status=503)
            raise ImmediateHttpResponse(page) from error
        few = count_up(f"{template_prefix}-{user.pk}", HOUR) <= MAILS_AN_HOUR
        sent = [mail] if few and user.pk != NOBODY else []
        Thread(target=deliver, args=(server, sent), name="mail").start()

    @override
    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse to check a password after too many wrong ones."""
        account = credentials.get("username") or credentials.get("email") or ""
        if GuessLimit(request, realm="sign-in", account=account).is_reached:
            raise self.validation_error("too_many_login_attempts")

    @override
    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Return the name; raise ValidationError for mixed scripts or a form other than NFKC."""
        foreign = (one for one in username if not one.isascii() or one.isalpha())
        scripts = {re.split("[ -]", unicodedata.name(one, ""))[0] for one in foreign}
        if len(scripts - EAST_ASIAN) > 1 or not unicodedata.is_normalized("NFKC", username):
            raise ValidationError(_("Use letters of one script, as a keyboard writes them."))
        return str(super().clean_username(username, shallow))

    @override
    def clean_email(self, email: str) -> str:
        """Return the address; raise ValidationError if it is too long for its column."""
        MaxLengthValidator(LONGEST_ADDRESS)(email)
        return str(super().clean_email(email))

    @override
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return True if everybody may join, or this browser holds an invitation."""
        return settings.ALLOW_REGISTRATION or invitations.held_by(request) is not None

    @override
    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Store a new account, with the role of the invitation that is used up by it."""
        save = super().save_user
        needed = not settings.ALLOW_REGISTRATION
        return invitations.accept(request, lambda: save(request, user, form, commit), needed=needed)


def deliver(server: BaseEmailBackend, mails: Sequence[EmailMessage]) -> None:
    """Send mails through an open connection; log a failure."""
    try:
        with server:
            server.send_messages(mails)
    except OSError as error:
        log.warning("a mail was not taken: %s", type(error).__name__)


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """Accounts at an OpenID provider: which of them may come in, and join without invitation."""

    @override
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse, at each sign-in, users without an admitted domain or group."""
        limited = settings.OIDC_DOMAINS or settings.OIDC_GROUPS
        if limited and not _is_admitted(sociallogin):
            raise ImmediateHttpResponse(render(request, "sign_in/not_admitted.html", status=403))

    @override
    def get_provider(
        self, request: HttpRequest, provider: str, client_id: Any = None
    ) -> "_Provider":
        """Return the provider that checks its answers."""
        return _Provider(request, app=super().get_provider(request, provider, client_id).app)

    @override
    def get_requests_session(self) -> requests.Session:
        """Return the session for calls to the provider, which reports a failure to the user."""
        return _Asking(self.request)

    @override
    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return True if a domain, group, open registration or invitation admits the account."""
        return _is_admitted(sociallogin) or get_adapter().is_open_for_signup(request)

    @override
    def save_user(
        self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None
    ) -> AbstractBaseUser:
        """Store a new account as ``AccountAdapter`` does."""
        save = super().save_user
        needed = not (settings.ALLOW_REGISTRATION or _is_admitted(sociallogin))
        return invitations.accept(request, lambda: save(request, sociallogin, form), needed=needed)


class _Provider(OpenIDConnectProvider):
    """The OpenID provider; its answers are checked before allauth reads them."""

    @override
    def sociallogin_from_response(self, request: HttpRequest, response: Any) -> SocialLogin:
        """Return the login; raise ImmediateHttpResponse without one certain ``sub``."""
        response = condense.well_formed_json(response)
        said = [*response.values()]
        subjects: list[Any] = [isinstance(one, dict) and one.get("sub") for one in said]
        is_one = isinstance(subjects[0], str) and subjects == subjects[:1] * len(said)
        if not (is_one and SUBJECT.fullmatch(subjects[0])):
            raise ImmediateHttpResponse(render(request, "sign_in/provider_away.html", status=503))
        for one in said:
            one |= {name: "" for name in TEXT_CLAIMS if not isinstance(one.get(name), str)}
            one["email_verified"] = one.get("email_verified") is True
        return super().sociallogin_from_response(request, response)


class _Asking(requests.Session):
    """Asks a provider within ``OPENID_TIMEOUT``; without a usable answer the page says so."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__()
        self._request = request
        self.mount("https://", _Trusting())

    @override
    def request(self, *args: Any, **options: Any) -> requests.Response:
        try:
            answer = super().request(*args, **options | {"timeout": OPENID_TIMEOUT})
            answer.raise_for_status()
        except requests.RequestException as error:
            log.warning("the OpenID provider can't be used: %s", type(error).__name__)
            page = render(self._request, "sign_in/provider_away.html", status=503)
            raise ImmediateHttpResponse(page) from error
        return answer


class _Trusting(requests.adapters.HTTPAdapter):
    """Trusts the certificates that all other calls do, and not a list of the package's."""

    @override
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options | {"ssl_context": httpx2.create_ssl_context()})

    @override
    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        trusted = {"ssl_context": httpx2.create_ssl_context()}
        return super().proxy_manager_for(proxy, **options | trusted)

    @override
    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        if verify is not True:
            super().cert_verify(conn, url, verify, cert)


def _is_admitted(sociallogin: SocialLogin) -> bool:
    """Return True if the provider confirms a domain of OIDC_DOMAINS or a group of OIDC_GROUPS."""
    said = sociallogin.account.extra_data
    claims = said.get("id_token", {}) | said.get("userinfo", {})
    domain = str(claims.get("email", "")).rpartition("@")[2].lower()
    if claims.get("email_verified") is True and domain in map(str.lower, settings.OIDC_DOMAINS):
        return True
    groups = claims.get("groups", [])
    return isinstance(groups, list) and not {*map(str, groups)}.isdisjoint(settings.OIDC_GROUPS)


class SecondFactorAdapter(DefaultMFAAdapter):
    """Second factors: their secrets are encrypted as all others are."""

    encrypt = staticmethod(encrypt)

    @override
    def decrypt(self, encrypted_text: str) -> str:
        """Return a secret; raise ValidationError, for the form, if it can't be read."""
        try:
            return decrypt(encrypted_text)
        except DecryptionFailed as error:
            said = _(
                "The server can't read your second factor any more, as its secret key is another "
                "one. An operator can remove it; then you set up a new one."
            )
            raise ValidationError(said) from error
