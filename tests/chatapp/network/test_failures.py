"""What people are told of an address that could not be reached."""

import socket
import ssl

import httpx2
import pytest

from chatapp.network.address_guard import (
    BROKE_OFF,
    NO_NAME,
    NOBODY,
    NOT_PROVEN,
    SILENT,
    why_unreached,
)


@pytest.mark.parametrize(
    ("error", "cause", "expected"),
    [
        (httpx2.ConnectError("no"), OSError(111, "refused"), NOBODY),
        (httpx2.ConnectError("no"), socket.gaierror(-2, "unknown"), NO_NAME),
        (httpx2.ConnectError("no"), ssl.SSLCertVerificationError("expired"), NOT_PROVEN),
        (httpx2.ConnectTimeout("no"), None, SILENT),
        (httpx2.ReadTimeout("no"), None, SILENT),
        (httpx2.ReadError("no"), None, BROKE_OFF),
        (httpx2.RemoteProtocolError("no"), None, BROKE_OFF),
    ],
)
def test_each_failure_is_a_sentence(
    error: httpx2.HTTPError, cause: Exception | None, expected: str
) -> None:
    """One that says where to look; the name of no class."""
    error.__cause__ = cause
    assert why_unreached(error) == expected
