import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.fixture
def operator(alice: User) -> Client:
    """The browser of Alice, who runs the server."""
    alice.is_superuser = True
    alice.save()
    client = Client()
    client.force_login(alice)
    return client
