"""What is not marked, or not whole in a catalogue, is found."""

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from tests.tooling import messages

PLANTED = [
    ("templates/one.html", "<p>{% translate 'Known' %} Not marked</p>", "Not marked"),
    ("templates/one.html", '<a title="Not marked">{{ name }}</a>', "Not marked"),
    ("templates/one.html", '<input placeholder="Not marked" name="Some name">', "Not marked"),
    ("templates/one.html", "<p><code>some code</code>, <kbd>Any key</kbd></p>", ""),
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
    ("chatapp/one.py", 'def __str__(self):\n    return "It is for the shell."', ""),
    ("condense/one.py", 'raise Problem("It is not marked.")', "not marked"),
    ("condense/one.py", 'raise Problem(say("It is {name}.", name=name))', ""),
    ("static/js/one.js", 'note("It is not marked");', "not marked"),
    ("static/js/one.js", '// It says "It is not marked".', ""),
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
        ("{name} is gone", "{name} ist weg, {name} {error}", True),
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
    catalog.add("Condense", "Verdichten")
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


MARKED = {
    "templates/one.html": """{% load i18n %}
        {% translate "Half of it: 50 %" %} {{ name|default:_("Nobody") }}
        {% blocktranslate count n=n %}{{ n }} row{% plural %}{{ n }} rows{% endblocktranslate %}""",
    "chatapp/one.py": """_("Done"), ngettext("%s turn", "%s turns", 2), plural("One", "{count}")""",
    "condense/one.py": """say("It is {name}.", name=name), condense.noop("It failed."), x("No")""",
    "chatapp/locale/borrowed.pot": """msgid "Sign In"\nmsgstr ""\n""",
}


def test_all_that_is_marked_is_collected(tmp_path: Path) -> None:
    """With its plural, and apart where it is stored; percent signs as Django looks them up."""
    for place, text in MARKED.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    collected = [one for one in messages.collect(tmp_path) if one.id]
    assert {(one.id, one.context, one.locations[0][0]) for one in collected} == {
        ("Half of it: 50 %%", None, "templates/one.html"),
        ("Nobody", None, "templates/one.html"),
        (("%(n)s row", "%(n)s rows"), None, "templates/one.html"),
        ("Done", None, "chatapp/one.py"),
        (("%s turn", "%s turns"), None, "chatapp/one.py"),
        (("One", "{count}"), None, "chatapp/one.py"),
        ("It is {name}.", "stored", "condense/one.py"),
        ("It failed.", "stored", "condense/one.py"),
        ("Sign In", None, "chatapp/locale/borrowed.pot"),
    }


def test_what_a_catalogue_lacks_is_found() -> None:
    """A sentence, one of the forms of a plural, and what is only translated where it is stored."""
    wanted, catalog = Catalog(), Catalog(locale="de")
    wanted.add("Known")
    wanted.add(("%s row", "%s rows"))
    wanted.add("Gone")
    wanted.add("Empty")
    wanted.add("Failed", context="stored")
    catalog.add("Known", "Bekannt")
    catalog.add(("%s row", "%s rows"), ("%s Zeile", ""))
    catalog.add("Empty", "")
    catalog.add("Failed", "Gescheitert")
    lacking = [one.id for one in messages.missing(catalog, wanted)]
    assert lacking == [("%s row", "%s rows"), "Gone", "Empty", "Failed"]
