"""The languages that readers may have, except for English."""

from chatapp.project import languages

OTHERS = sorted(set(languages.NAMES) - {"en"})
