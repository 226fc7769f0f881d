from pathlib import Path

import pytest
from django.template import Context, Engine

LAID_OUT = {
    "<p>\n  {% if x %}\n    <b>a</b>\n  {% endif %}\n  b\n</p>": "<p><b>a</b> b</p>",
    "<b>a</b>\n{% for n in 'de' %}\n  <i>{{ n }}</i>\n{% endfor %}": "<b>a</b> <i>d</i> <i>e</i> ",
    "a{% if x %} b{% endif %}\nc": "a b c",
    '<label>\n  <input name="n"\n         required>\n  words\n</label>': (
        '<label><input name="n" required> words</label>'
    ),
    "<i{% if x > 0 %} a{% endif %}\n   b='{c: {{ x }}}'>\n  d\n</i>": "<i a b='{c: 1}'>d</i>",
    "{% if x %}b{% endif %}\n{% if x %}c{% endif %}\nd": "b c d",
    "<textarea>&#10;\n  {{ x }}</textarea>": "<textarea>&#10;1</textarea>",
    "{% load i18n %}\n{% with y=x %}\n  {{ y }}\n{% endwith %}\n<p></p>": "1 <p></p>",
}


@pytest.mark.parametrize(("layout", "sent"), LAID_OUT.items())
def test_words_stay_apart_and_indentation_stays_here(
    tmp_path: Path, layout: str, sent: str
) -> None:
    """In pages; mails keep their lines."""
    engine = Engine(
        [tmp_path],
        loaders=["chatapp.project.template_files.Loader"],
        libraries={"i18n": "django.templatetags.i18n"},
    )
    for name, wanted in {"page.html": sent, "mail.txt": "a\n  b"}.items():
        (tmp_path / name).write_text(layout if name == "page.html" else wanted)
        assert engine.get_template(name).render(Context({"x": 1})) == wanted
