"""What is not marked, or not whole in a catalogue, is found."""

import io
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from tests.tooling import messages

PAGE, SCRIPT = "templates/one.html", "static/js/one.js"
CODE, ENGINE = "chatapp/one.py", "condense/one.py"
PLANTED = [
    (PAGE, "<p>{% translate 'Known' %} Not marked</p>", "Not marked"),
    (PAGE, '<a title="Not marked">{{ name }}</a>', "Not marked"),
    (PAGE, '<input placeholder="Not marked" name="Some name">', "Not marked"),
    (PAGE, '<input type="submit" name="Some name" value="Unmarked">', "Unmarked"),
    (PAGE, '<input type="hidden" value="Some value">', ""),
    (PAGE, '<p data-tip="Not marked" data-of="Some name"></p>', "Not marked"),
    (PAGE, '<p aria-valuetext="Not marked"></p>', "Not marked"),
    (PAGE, '<p aria-roledescription="Unmarked"></p>', "Unmarked"),
    (PAGE, '{{ x|default:"Not marked" }}', "Not marked"),
    (PAGE, "<a title=\"{{ x|yesno:'not marked,nor this' }}\"></a>", "not marked"),
    (PAGE, '{% include "two.html" with of=x|default:"Unmarked" %}', "Unmarked"),
    (PAGE, '{{ x|default:_("Is marked") }} {{ y|yesno:"on,off" }}', ""),
    (PAGE, "<p><code>some code</code>, <kbd>Any key</kbd></p>", ""),
    (PAGE, "<p>{% blocktranslate %}Known{% endblocktranslate %}</p>", ""),
    (CODE, '"""Docs are read by nobody else."""\nsaid = "It is not marked."', "not marked"),
    (CODE, 'said = f"It is {name}, not marked."', "not marked"),
    (CODE, 'messages.success(request, "Not marked")', "Not marked"),
    (CODE, 'field(label="Not marked")', "Not marked"),
    (CODE, 'said = _("It is marked.")\nlog.info("It is for the log.")', ""),
    (CODE, 'said = pgettext("event", "It is marked.")', ""),
    (CODE, 'def __str__(self):\n    return "It is for the shell."', ""),
    (ENGINE, 'raise Problem("It is not marked.")', "not marked"),
    (ENGINE, 'raise Problem(say("It is {name}.", name=name))', ""),
    (CODE, 'JsonResponse({"error": "Not marked"})', "Not marked"),
    (CODE, 'HttpResponse("it is not marked")', "not marked"),
    (CODE, 'HttpResponse("", content_type="text/plain; charset=utf-8")', ""),
    (CODE, 'CHOICES = [("a", "Not marked"), ("b", _("Is marked"))]', "Not marked"),
    (CODE, 'names = [("not_marked", "-pk")]', ""),
    (CODE, 'said = _(f"{m} is not marked")', "not marked"),
    (CODE, 'said = gettext_lazy("%s is not marked" % m)', "not marked"),
    (CODE, 'said = _("{m} is not marked".format(m=m))', "not marked"),
    (SCRIPT, 'note("It is not marked");', "not marked"),
    (SCRIPT, 'line.textContent = "Unmarked";', "Unmarked"),
    (SCRIPT, 'line.textContent = isOpen(a) ? text("open") : "unmarked";', "unmarked"),
    (SCRIPT, 'button.title = "Not marked!"', "Not marked!"),
    (SCRIPT, 'make("p", { className: "a row", ariaLabel: "Unmarked" });', "Unmarked"),
    (SCRIPT, "line.append(`${n} not marked`);", "not marked"),
    (SCRIPT, 'line.append(`${a} ${isOpen ? "Not marked" : text("open")}`);', "Not marked"),
    (SCRIPT, 'const said = "It isn\'t marked";', "marked"),
    (SCRIPT, 'toast("error", "not marked, not even here");', "not marked"),
    (SCRIPT, "button.addEventListener('click', () => say('not marked'));", "not marked"),
    (SCRIPT, 'find(one.querySelector("label input"), `#${id} pre`, "row");', ""),
    (SCRIPT, 'makeButton("button quiet", text("showFewer"), () => {', ""),
    (SCRIPT, 'toast(\n  "not marked at all",\n);', "not marked"),
    (SCRIPT, 'when(() => {\n  const done = "a button";\n  if (x) act();\n});', ""),
    ("static/worker.js", 'show("It is not marked");', "not marked"),
    (SCRIPT, '// It says "It is not marked".', ""),
    (SCRIPT, '/*\n * It says "It is not marked".\n */', ""),
    (SCRIPT, 'throw new Error("It is for the console");', ""),
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
    """A form for one may say the number in words; one for many has it."""
    catalog = Catalog(locale="de")
    catalog.add(id_, string)
    assert bool([*messages.wrong(catalog)]) is is_wrong


@pytest.mark.parametrize(
    ("language", "lacking", "is_wrong"),
    [
        ("de", 0, False),
        ("ar", 2, False),
        ("ar", 3, True),
        ("ru", 0, True),
        ("ru", 2, True),
        ("fr", 0, True),
        ("fr", 1, True),
        ("ja", 0, True),
    ],
)
def test_only_a_form_for_one_number_may_lack_it(
    language: str, lacking: int, is_wrong: bool
) -> None:
    """French has one for 0 and 1, Russian for 1 and 21."""
    catalog = Catalog(locale=language)
    forms = ["%s x"] * catalog.num_plurals
    forms[lacking] = "x"
    catalog.add(("%s row", "%s rows"), tuple(forms))
    assert bool([*messages.wrong(catalog)]) is is_wrong


STALE = [
    ('msgid "Known"\nmsgstr "Bekannt"', ""),
    ('msgid "Save it"\nmsgstr "Save it"', ""),
    ('msgid "Save {name} as JSON"\nmsgstr "Save {name} as JSON"', ""),
    ('msgid "Save all of it"\nmsgstr "Save all of it"', "is English"),
    ('msgid "One of them"\nmsgid_plural "{n} of them"\nmsgstr[0] "Eins"\nmsgstr[1] "{n}"', ""),
    ('msgid "Unknown"\nmsgstr "Unbekannt"', "is said nowhere"),
    ('msgctxt "stored"\nmsgid "Known"\nmsgstr "Bekannt"', "is said nowhere"),
    ('#~ msgid "Unknown"\n#~ msgstr "Unbekannt"', "is obsolete"),
    ('#, fuzzy\nmsgid "Known"\nmsgstr "Bekannt"', "is fuzzy"),
]


@pytest.mark.parametrize(("entry", "told"), STALE)
def test_what_nobody_translated_is_found(entry: str, told: str) -> None:
    """What is said nowhere any more, a guess, and English."""
    wanted = Catalog()
    for id_ in ("Known", "Save it", "Save {name} as JSON", "Save all of it"):
        wanted.add(id_)
    wanted.add(("One of them", "{n} of them"))
    found = [*messages.stale(read_po(io.StringIO(entry), locale="de"), wanted)]
    assert len(found) == bool(told)
    assert all(told in one for one in found)


def test_another_word_than_the_glossarys_is_found() -> None:
    """Names of code are none of its words."""
    catalog = Catalog(locale="de")
    catalog.add("Condense now", "Jetzt komprimieren")
    catalog.add("Condense", "Verdichten")
    catalog.add("Condense later", "Später verdichten")
    catalog.add("CONDENSE_HOOKS is wrong", "CONDENSE_HOOKS ist falsch")
    (told,) = messages.off_terms("de", catalog)
    assert "komprimieren" in told


MARKED = {
    "templates/one.html": """{% load i18n page %}
        {% translate "Half of it: 50 %" %} {{ name|default:_("Nobody") }}
        {% translate "Active" %} {% translate "Active" context "turns" %}
        {% kept of=name %}{% translate "Kept" %}{% endkept %}
        {% blocktranslate count n=n %}{{ n }} row{% plural %}{{ n }} rows{% endblocktranslate %}""",
    "chatapp/one.py": """_("Done"), ngettext("%s turn", "%s turns", 2), plural("One", "{count}")
pgettext("event", "Done")""",
    "condense/one.py": """say("It is {name}.", name=name), condense.noop("It failed."), x("No")""",
    "chatapp/locale/borrowed.pot": """msgid "Sign In"\nmsgstr ""\n""",
}


def test_all_that_is_marked_is_collected(tmp_path: Path) -> None:
    """With its plural; apart where it is stored, or the same words have two uses.

    It is collected within any tag that has an end, too. Percent signs are written as Django looks
    them up.
    """
    for place, text in MARKED.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    collected = [one for one in messages.collect(tmp_path) if one.id]
    assert {(one.id, one.context, one.locations[0][0]) for one in collected} == {
        ("Half of it: 50 %%", None, "templates/one.html"),
        ("Nobody", None, "templates/one.html"),
        ("Kept", None, "templates/one.html"),
        ("Active", None, "templates/one.html"),
        ("Active", "turns", "templates/one.html"),
        (("%(n)s row", "%(n)s rows"), None, "templates/one.html"),
        ("Done", None, "chatapp/one.py"),
        ("Done", "event", "chatapp/one.py"),
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
