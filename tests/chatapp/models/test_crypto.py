"""Secrets at rest: readable with the server's key and with nothing else."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import Settings

from chatapp.models.errors import DecryptionFailed
from chatapp.models.fields import decrypt, encrypt


@given(st.text(st.characters(exclude_categories=["Cs"])))
@hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_encrypted_can_be_read_again(text: str) -> None:
    """Any text, of any length and script."""
    assert decrypt(encrypt(text)) == text


def test_the_text_does_not_show() -> None:
    """Nor that two stored keys are equal; a token that was changed is refused."""
    token = encrypt("sk-secret")
    assert "secret" not in token
    assert token != encrypt("sk-secret")
    assert token.isascii()
    for place in (0, 10, 30, len(token) - 5):
        letter = "A" if token[place] != "A" else "B"
        with pytest.raises(DecryptionFailed):
            decrypt(token[:place] + letter + token[place + 1 :])
    # A damaged row is an error for people, not a crash.
    for never in ("", "x", "gAAAAA", "sk-plain", "é", "\x00", "=" * 100):
        with pytest.raises(DecryptionFailed):
            decrypt(never)


def test_a_secret_key_is_changed_without_entering_every_stored_key_again(
    settings: Settings,
) -> None:
    """A former one still reads, and writes nothing new; without it the person is told."""
    token, former = encrypt("sk-secret"), settings.SECRET_KEY
    settings.SECRET_KEY = "another"
    with pytest.raises(DecryptionFailed, match="with this secret key"):
        decrypt(token)
    settings.SECRET_KEY_FALLBACKS = [former]
    assert decrypt(token) == "sk-secret"
    newer = encrypt("sk-newer")
    settings.SECRET_KEY_FALLBACKS = []
    assert decrypt(newer) == "sk-newer"
