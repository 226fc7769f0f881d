"""Tokens for the API: made, used, revoked."""

from contextlib import suppress
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.errors import Refused
from chatapp.models import ApiToken

MOST_TOKENS = 50
# How exactly it is noted when a token was last used: no read has to wait for a write.
FRESH = timedelta(minutes=1)


@transaction.atomic
def create_api_token(*, owner: User, name: str, scope: str) -> str:
    """Return a new token in clear, which nobody can show again."""
    if ApiToken.objects.filter(owner=owner).count() >= MOST_TOKENS:
        raise Refused(_("There are %d tokens already. Revoke one first.") % MOST_TOKENS)
    token = ApiToken.generate()
    digest = ApiToken.digest_of(token)
    ApiToken.objects.create(owner=owner, name=name, scope=scope, digest=digest)
    return token


def holder_of_api_token(*, token: str) -> ApiToken | None:
    """Return the row of a token with its owner, None where it opens nothing; note its use."""
    found = ApiToken.objects.opened_by(token).select_related("owner").first()
    now = timezone.now()
    if found and (found.used_at is None or now - found.used_at > FRESH):
        # On a full disk it can be read still.
        with suppress(OperationalError):
            ApiToken.objects.filter(pk=found.pk).update(used_at=now)
    return found
