"""A language that nobody speaks: English with accents, a third longer, to see what is not ready."""

import re
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

# One that Django knows, and this project does not have.
CODE = "eo"
LETTERS = str.maketrans("aeiouycnszAEIOUYCNSZ", "áéíóúýčñšžÁÉÍÓÚÝČÑŠŽ")
# What is no word: placeholders and tags.
KEPT = re.compile(r"(%\(\w+\)[sd]|%[sd%]|\{\w*[^}]*\}|<[^>]+>)")


def stretched(text: str) -> str:
    """Return a text with accents, in which every third letter stands twice."""
    parts = KEPT.split(text)
    parts[::2] = [re.sub(r"(\w\w)(\w)", r"\1\2\2", one).translate(LETTERS) for one in parts[::2]]
    return "".join(parts)


def write(folder: Path, wanted: Catalog) -> None:
    """Write the language's catalogue into a folder of such."""
    catalog = Catalog(locale=CODE, fuzzy=False)
    for message in wanted:
        if message.id:
            ids = message.id if isinstance(message.id, tuple) else (message.id,)
            said = tuple(map(stretched, ids))
            catalog.add(message.id, said if len(said) > 1 else said[0], context=message.context)
    path = folder / CODE / "LC_MESSAGES" / "django.mo"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        write_mo(file, catalog)
