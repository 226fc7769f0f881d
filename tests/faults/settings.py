"""The project's own settings, with something that can stand still at a chosen moment."""

from chatapp.settings import *  # noqa: F403 - all of them

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.app.Faults"]  # noqa: F405 - from there
