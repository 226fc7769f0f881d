"""``manage.py rebuild_search``: make the index of words anew, and vectors with the next turn."""

from typing import Any, override

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from chatapp.models import message_index
from chatapp.models.errors import explain_write_error
from chatapp.models.meanings import delete_vectors
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _


class Command(BaseCommand):
    """Make the index of words anew of the messages that are stored."""

    help = (
        "Makes the index that search uses anew. The server may run; what is sent meanwhile waits."
    )
    requires_system_checks = ()

    @override
    def handle(self, *_args: Any, **_options: Any) -> None:
        try:
            message_index.rebuild()
            delete_vectors()
        except DatabaseError as error:
            why = in_words(explain_write_error(error))
            raise CommandError(_("The server can't make the index anew. {why}", why=why)) from error
        self.stdout.write(_("Every message can be found again."))
