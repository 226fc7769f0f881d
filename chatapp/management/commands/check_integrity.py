"""``manage.py check_integrity``: look for damage in everything that is stored."""

from typing import Any, override

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chatapp.project.environment import database_problem
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import integrity


class Command(BaseCommand):
    """Read everything, and print all damage; safe while the server runs."""

    help = "Looks through the whole database, changes nothing, and fails if something is wrong."
    requires_system_checks = ()

    @override
    def handle(self, *_args: Any, **_options: Any) -> None:
        if problem := database_problem(str(settings.DATABASES["default"]["NAME"])):
            raise CommandError(problem)
        sound = True
        for problem in integrity.find_problems():
            sound = False
            self.stderr.write(problem)
        if not sound:
            said = _(
                "Something is wrong. Where no line says what to do, keep this database and "
                "restore a backup."
            )
            raise CommandError(said)
        said = _(
            "Looked through {conversations:,} conversations, {messages:,} messages, "
            "{condensations:,} condensations: all sound.",
            **integrity.count_stored(),
        )
        self.stdout.write(said)
