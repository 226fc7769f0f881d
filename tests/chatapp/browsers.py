"""Browsers of users, and what a page's script sends with its requests."""

from django.contrib.auth.models import User
from django.test import Client

from chatapp.models.accounts import preferences_of

HTMX = {"HX-Request": "true"}


def browser_of(user: User) -> Client:
    """Return a browser in which a user is signed in."""
    client = Client()
    client.force_login(user)
    return client


def choose(user: User, language: str) -> None:
    """Have a user choose a language in the settings."""
    preferences = preferences_of(user)
    preferences.language = language
    preferences.save()
