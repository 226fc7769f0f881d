"""What is not marked, or not whole in a catalogue, is found."""

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from tests.tooling import messages

PLANTED = [
    ("templates/one.html", "<p>{% translate 'Known' %} Not marked</p>", "Not marked"),
    ("templates/one.html", '<a title="Not marked">{{ name }}</a>', "Not marked"),
    ("templates/one.html", "<p>{% blocktranslate %}Known{% endblocktranslate %}</p>", ""),
    (
        "chatapp/one.py",
        '"""Docs are read by nobody else."""\nsaid = "It is not marked."',
        "not marked",
    ),
    ("chatapp/one.py", 'said = f"It is {name}, not marked."', "not marked"),
    ("chatapp/one.py", 'messages.success(request, "Not marked")', "Not marked"),
    ("chatapp/one.py", 'field(label="Not marked")', "Not marked"),
    ("chatapp/one.py", 'said = _("It is marked.")\nlog.info("It is for the log.")', ""),
    ("chatapp/one.py", 'said = pgettext("event", "It is marked.")', ""),
    ("condense/one.py", 'raise Problem("It is not marked.")', "not marked"),
    ("condense/one.py", 'raise Problem(say("It is {name}.", name=name))', ""),
    ("static/js/one.js", 'note("It is not marked");', "not marked"),
    ("static/js/one.js", 'throw new Error("It is for the console");', ""),
]


@pytest.mark.parametrize(("place", "text", "found"), PLANTED)
def test_what_is_not_marked_is_found(tmp_path: Path, place: str, text: str, found: str) -> None:
    """In templates, Python and scripts; what is marked, or read by no reader, is not."""
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(text)
    walks = (
        messages.unmarked_in_templates,
        messages.unmarked_in_python,
        messages.unmarked_in_scripts,
    )
    told = [one for walk in walks for one in walk(tmp_path)]
    assert len(told) == bool(found)
    assert all(place in one and found in one for one in told)


@pytest.mark.parametrize(
    ("id_", "string", "is_wrong"),
    [
        ("%(name)s is gone", "%(name)s ist weg", False),
        ("%(name)s is gone", "Es ist weg", True),
        ("{size:,} bytes", "{size} Byte", True),
        (("%(n)s row", "%(n)s rows"), ("Eine Zeile", "%(n)s Zeilen"), False),
        (("%(n)s row", "%(n)s rows"), ("%(n)s Zeile", "Zeilen"), True),
        (("%(n)s row", "%(n)s rows"), ("%(n)s Zeilen",), True),
    ],
)
def test_a_lost_placeholder_and_a_missing_form_are_found(
    id_: messages.Id, string: messages.Id, is_wrong: bool
) -> None:
    """A form for one may say the number in words; the last one has it."""
    catalog = Catalog(locale="de")
    catalog.add(id_, string)
    assert bool([*messages.wrong(catalog)]) is is_wrong


def test_another_word_than_the_glossarys_is_found() -> None:
    """Names of code are none of its words."""
    catalog = Catalog(locale="de")
    catalog.add("Condense now", "Jetzt komprimieren")
    catalog.add("Condense later", "Später verdichten")
    catalog.add("CONDENSE_HOOKS is wrong", "CONDENSE_HOOKS ist falsch")
    (told,) = messages.off_terms("de", catalog)
    assert "komprimieren" in told


def test_two_uses_of_the_same_words_are_two_messages() -> None:
    """In Python and in templates."""
    catalog = messages.collect()
    for id_, context in (("Pin", "event"), ("Active", "turns"), ("Login", "field label")):
        assert catalog.get(id_, context)
        assert catalog.get(id_, context) is not catalog.get(id_)
