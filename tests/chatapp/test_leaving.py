"""A visitor who leaves before the answer is there."""

import asyncio

import pytest
from asgiref.testing import ApplicationCommunicator

from chatapp.asgi import application

VISIT = {
    "type": "http",
    "http_version": "1.1",
    "method": "GET",
    "path": "/accounts/login/",
    "query_string": b"",
    "headers": [(b"host", b"localhost")],
}
# More than the answer needs; every seventh is looked at.
STEPS = 400


@pytest.mark.django_db(transaction=True)
async def test_a_visitor_may_leave_at_any_moment() -> None:
    """Whatever step of the answer the event loop is at, the request ends without an error."""
    for steps in range(0, STEPS, 7):
        visit = ApplicationCommunicator(application, VISIT)
        await visit.send_input({"type": "http.request", "body": b""})
        for _ in range(steps):
            await asyncio.sleep(0)
        await visit.send_input({"type": "http.disconnect"})
        await visit.wait(timeout=60)
