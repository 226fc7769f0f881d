"""Encrypts secrets at rest with keys derived from the server's secret key."""

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes

_PURPOSE = b"palimpsest stored keys"


class DecryptionFailed(Exception):
    """What is stored was encrypted with another secret key, or is damaged."""

    def __init__(self) -> None:
        """Say what to do about it."""
        super().__init__("The stored key can't be read with this secret key. Enter it again.")


def encrypt(text: str) -> str:
    """Return ``text`` encrypted, as ASCII."""
    return _box().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Return what ``encrypt`` was given; raise DecryptionFailed when that can't be read."""
    try:
        return _box().decrypt(token.encode()).decode()
    except InvalidToken as error:
        raise DecryptionFailed from error


def _box() -> MultiFernet:
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derive(secret)) for secret in secrets])


def _derive(secret: str | bytes) -> bytes:
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    return base64.urlsafe_b64encode(kdf.derive(force_bytes(secret)))
