"""Why an address could not be reached, in words that tell people what to look at."""

import socket
import ssl
from collections.abc import Iterator

import httpx2

NOBODY = "Nothing answers at this address. Check the address, and that the server runs."
NO_NAME = "There is no server of this name. Check the address."
NOT_PROVEN = "Its certificate is not valid for this address, so it may be another server."
SILENT = "It does not answer in time."
BROKE_OFF = "The connection broke off before there was an answer."


def why_unreached(error: httpx2.HTTPError) -> str:
    """Return a sentence for people."""
    causes = [*_causes(error)]
    if any(isinstance(one, ssl.SSLError) for one in causes):
        return NOT_PROVEN
    if any(isinstance(one, socket.gaierror) for one in causes):
        return NO_NAME
    if isinstance(error, httpx2.ConnectError):
        return NOBODY
    return SILENT if isinstance(error, httpx2.TimeoutException) else BROKE_OFF


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
