"""Why something was not done, in words."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError
from django.utils.translation import gettext as _

log = logging.getLogger(__name__)


class Refused(Exception):
    """The operation is not possible now; the text says why and what to do."""


class Unclear(Refused):
    """Refused unless the person says that what was taken for a command or a path is text."""


def not_saved(error: OperationalError) -> Refused:
    """Return the refusal that stands for a database that can't be written, and log why."""
    log.error("what a user did could not be saved", exc_info=error)
    return Refused(_("The server could not save this; nothing changed. Is its disk full?"))


@contextmanager
def saving() -> Iterator[None]:
    """Turn a database that can't be written into a refusal: its transaction changed nothing."""
    try:
        yield
    except OperationalError as error:
        raise not_saved(error) from error
