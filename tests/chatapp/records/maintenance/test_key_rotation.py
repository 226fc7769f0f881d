"""A change of the secret key: all that is encrypted is, in the end, with the new one."""

import re
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from pytest_django import Settings

from chatapp.models import McpServer, Profile
from chatapp.models.databases import tables
from chatapp.models.errors import DecryptionFailed
from chatapp.models.fields import EncryptedField, decrypt, encrypt
from chatapp.operations.key_rotation import ROWS_AT_ONCE, encrypted_columns
from tests.chatapp.queries import statements

pytestmark = pytest.mark.django_db

FORMER, NEW = "f" * 50, "n" * 50
MODEL: Any = {"provider": "offline", "model": "offline", "context_window": 9_000, "max_output": 900}
TOTP_SECRET = "JBSWY3DPEHPK3PXP"
TOKEN = re.compile(r"gAAAAA[\w=-]{50,}")


def use(settings: Settings, key: str, *former: str) -> None:
    """Have the server's key be this one, with others that still read."""
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = key, list(former)


def rotate() -> str:
    """Run the command, and return what it says."""
    said = StringIO()
    call_command("rotate_keys", stdout=said)
    return said.getvalue()


def stored() -> list[str]:
    """Return whatever looks encrypted, in each column of each table."""
    rows: list[Any] = []
    for table in tables():
        rows += table.model._base_manager.values()
    return TOKEN.findall(repr(rows))


def opened() -> int:
    """Return how many of those the keys of now open."""
    count = 0
    for token in stored():
        try:
            decrypt(token)
        except DecryptionFailed:
            continue
        count += 1
    return count


@pytest.fixture
def secrets(settings: Settings, alice: User) -> list[str]:
    """What is encrypted with the former key, in clear."""
    use(settings, FORMER)
    Profile.objects.filter(owner=alice).delete()
    profile = Profile(owner=alice, name="One", **MODEL)
    profile.set_key("sk-one")
    profile.save()
    server = McpServer(owner=alice, name="two", address="https://example.org")
    server.set_secrets("X-Key=two")
    server.save()
    TOTP.activate(alice, TOTP_SECRET)
    codes = RecoveryCodes.activate(alice)
    assert len(stored()) == 4
    return ["sk-one", "two", TOTP_SECRET, *codes.get_unused_codes()]


def readable(alice: User) -> list[str]:
    """What is encrypted, in clear."""
    (_name, value), *_ = McpServer.objects.get().reached().secrets
    totp = Authenticator.objects.get(user=alice, type="totp")
    codes = Authenticator.objects.get(user=alice, type="recovery_codes").wrap()
    secret = decrypt(totp.data["secret"])
    return [Profile.objects.get().read_key(), value, secret, *codes.get_unused_codes()]


def test_after_a_rotation_the_former_key_opens_nothing(
    settings: Settings, alice: User, secrets: list[str]
) -> None:
    """And the new one alone opens all, second factors among them; once more, nothing changes."""
    use(settings, NEW, FORMER)
    assert rotate().startswith("4 secrets were encrypted anew.")
    use(settings, NEW)
    assert readable(alice) == secrets
    assert opened() == 4
    before = stored()
    assert rotate().startswith("0 secrets were encrypted anew.")
    assert stored() == before
    use(settings, FORMER)
    assert opened() == 0


def test_a_secret_that_no_key_opens_is_named(
    settings: Settings, alice: User, secrets: list[str]
) -> None:
    """It stays as it is, and all others are encrypted anew."""
    Profile.objects.update(encrypted_key="no token")
    use(settings, NEW, FORMER)
    (pk,) = Profile.objects.values_list("pk", flat=True)
    with pytest.raises(CommandError, match=f"No key opens these: key of profile {pk}. "):
        rotate()
    use(settings, NEW)
    assert opened() == 3
    assert Profile.objects.get().encrypted_key == "no token"


def test_rows_are_taken_a_piece_at_a_time(settings: Settings, alice: User) -> None:
    """Whoever writes meanwhile waits for a piece, and none is left out."""
    use(settings, FORMER)
    token = encrypt("sk-many")
    many = [
        Profile(owner=alice, name=f"P{number}", **MODEL, encrypted_key=token)
        for number in range(2 * ROWS_AT_ONCE + 1)
    ]
    Profile.objects.bulk_create(many)
    use(settings, NEW, FORMER)
    with statements() as sent:
        assert rotate().startswith(f"{len(many)} secrets")
    read = [one for one in sent if one.startswith("SELECT") and '"chatapp_profile"."id" IN' in one]
    assert len(read) == 3
    use(settings, NEW)
    assert opened() == len(many)


def test_each_column_for_secrets_is_covered() -> None:
    """By its type: a name that says it is encrypted has no other."""
    named = {
        (model, column.name)
        for model in apps.get_models()
        for column in model._meta.concrete_fields
        if "encrypted" in column.name
    }
    covered = [*encrypted_columns()]
    typed = {(model, one.name) for model, one in covered if isinstance(one, EncryptedField)}
    assert named == typed != set()
    assert Authenticator in {model for model, _column in covered}


def test_secrets_in_a_list_are_renewed(settings: Settings, alice: User) -> None:
    """As recovery codes that came from another program are kept."""
    use(settings, FORMER)
    codes = {"migrated_codes": [encrypt("one"), encrypt("two")]}
    Authenticator.objects.create(user=alice, type="recovery_codes", data=codes)
    use(settings, NEW, FORMER)
    assert rotate().startswith("2 secrets were encrypted anew.")
    use(settings, NEW)
    assert opened() == 2
