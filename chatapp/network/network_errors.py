"""Errors of the network, in words that tell people what to look at."""

import socket
import ssl

import httpx2

NOBODY = "Nothing answers at this address. Check the address, and that the server runs."
NO_NAME = "There is no server of this name. Check the address."
NOT_PROVEN = "Its certificate is not valid for this address, so it may be another server."
SILENT = "It does not answer in time."
BROKE_OFF = "The connection broke off before there was an answer."


class AddressRefused(Exception):
    """An address may not be called; the text is a sentence for people."""


def why_unreached(error: httpx2.HTTPError) -> str:
    """Return a sentence for people."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return NOT_PROVEN
        if isinstance(cause, socket.gaierror):
            return NO_NAME
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.ConnectError):
        return NOBODY
    return SILENT if isinstance(error, httpx2.TimeoutException) else BROKE_OFF
