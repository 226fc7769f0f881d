"""The project's own settings, with a language whose words are longer than any."""

import os
from pathlib import Path

from chatapp.settings import *  # noqa: F403 - all of them
from tests.e2e.pseudo import CODE

LANGUAGES = [("en", "English"), (CODE, "Stretched")]
LOCALE_PATHS = [Path(os.environ["STRETCHED"])]
