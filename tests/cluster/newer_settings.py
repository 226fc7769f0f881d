"""The project's own settings, of a process that speaks as the next version does."""

from chatapp.settings import *  # noqa: F403 - all of them

INSTALLED_APPS = [*INSTALLED_APPS, "tests.cluster.newer.Newer"]  # noqa: F405 - from there
