"""Tokens open what they are for, while they may."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from chatapp.accounts.credentials import holder_of_api_token
from chatapp.models import ApiToken, SignInToken


def test_a_sign_in_link_can_be_used_once_and_in_time_by_who_may_sign_in(alice: User) -> None:
    """Neither later, nor again, nor where its user was shut out."""
    soon = timezone.now() + timedelta(hours=1)
    made = SignInToken.objects.create(user=alice, digest="d", expires_at=soon)
    one, tokens = SignInToken.objects.filter(pk=made.pk), SignInToken.objects
    assert tokens.usable().get() == made
    one.update(expires_at=timezone.now())
    assert not tokens.usable().exists()
    one.update(expires_at=soon, used_at=timezone.now())
    assert not tokens.usable().exists()
    one.update(used_at=None)
    User.objects.update(is_active=False)
    assert not tokens.usable().exists()


def test_a_token_is_known_by_its_hash_alone(alice: User) -> None:
    """It can be recognised where it was left by mistake."""
    token = ApiToken.generate()
    made = ApiToken.objects.create(owner=alice, name="script", digest=ApiToken.digest_of(token))
    assert token.startswith("palimpsest_")
    assert token not in str(vars(made))
    assert holder_of_api_token(token=token) == made
    assert holder_of_api_token(token=ApiToken.generate()) is None
