import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.chatapp.browsers import browser_of


@pytest.fixture
def operator(alice: User) -> Client:
    """The browser of Alice, who runs the server."""
    alice.is_superuser = True
    alice.save()
    return browser_of(alice)
