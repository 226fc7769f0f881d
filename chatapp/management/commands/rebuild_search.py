"""``manage.py rebuild_search``: make the index of words anew, and vectors with the next turn."""

from typing import Any, override

from django.core.management.base import BaseCommand

from chatapp.models import message_index
from chatapp.models.meanings import delete_vectors
from chatapp.project.sentences import translate as _


class Command(BaseCommand):
    """Make the index of words anew of the messages that are stored."""

    help = (
        "Makes the index that search uses anew. The server may run; what is sent meanwhile waits."
    )
    requires_system_checks = ()

    @override
    def handle(self, *_args: Any, **_options: Any) -> None:
        message_index.rebuild()
        delete_vectors()
        self.stdout.write(_("Every message can be found again."))
