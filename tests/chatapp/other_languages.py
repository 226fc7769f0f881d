"""The languages that readers may have, except for English."""

from chatapp import languages

OTHERS = sorted(set(languages.NAMES) - {"en"})
