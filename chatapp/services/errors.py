"""Refusals: why something was not done, in words."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, OperationalError
from django.utils.translation import gettext as _

from chatapp.models.write_errors import explain_write_error

log = logging.getLogger(__name__)


class Refused(Exception):
    """The operation is not possible now; the text says why and what to do."""


class Unclear(Refused):
    """Refused unless the person says that what was taken for a command or a path is text."""


@contextmanager
def saving() -> Iterator[None]:
    """Turn a database that can't be written into a refusal: its transaction changed nothing."""
    try:
        yield
    except DatabaseError as error:
        # A subclass other than this one is a mistake of our own.
        if type(error) not in {DatabaseError, OperationalError}:
            raise
        log.exception("what a user did could not be saved")
        text = _("The server could not save this; nothing changed. %s")
        raise Refused(text % explain_write_error(error)) from error
