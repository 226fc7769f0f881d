"""``manage.py remove_second_factor``: remove a lost second factor."""

from argparse import ArgumentParser
from typing import Any, override

from django.core.management.base import BaseCommand

from chatapp.accounts import users
from chatapp.management import find_user
from chatapp.project.sentences import translate as _


class Command(BaseCommand):
    """Remove a user's second factor and passkeys, as an operator does."""

    help = "Removes a user's second factor and passkeys, and tells them by mail."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the user's name")

    @override
    def handle(self, *_args: Any, name: str, **_options: Any) -> None:
        user = find_user(name)
        users.remove_factors(user)
        self.stdout.write(_("{user} was changed.", user=user))
