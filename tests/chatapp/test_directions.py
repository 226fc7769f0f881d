"""What people write is shown in the direction of its first letter."""

import re
from pathlib import Path

from django.conf import settings
from django.forms import CharField, Form, Textarea

_FIELD = re.compile(r"<(?:input|textarea)\b(?:\{%.*?%\}|\{\{.*?\}\}|[^>])*>", re.DOTALL)
_TYPE = re.compile(r'\btype="([^"{]+)"')


class Both(Form):
    """A field of each kind that people write words in."""

    line = CharField()
    lines = CharField(widget=Textarea)


def test_every_field_that_takes_words_follows_their_direction() -> None:
    """In all templates, and in the forms that Django draws; an address or a number has none."""
    templates = {
        path: path.read_text("utf-8")
        for path in Path(settings.BASE_DIR, "templates").rglob("*.html")
    }
    fields = [("a form", field) for field in _FIELD.findall(str(Both()))]
    fields += [
        (path.name, field) for path, text in templates.items() for field in _FIELD.findall(text)
    ]
    words = [
        (name, field)
        for name, field in fields
        if (kind := _TYPE.search(field)) is None or kind[1] in {"text", "search"}
    ]
    assert len(words) > 25
    assert [
        pair for pair in words if 'dir="auto"' not in pair[1] and "{{ attrs.type" not in pair[1]
    ] == []
