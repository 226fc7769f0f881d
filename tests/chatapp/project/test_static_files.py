"""Scripts and styles: few files, and names that change with the content."""

import re
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.test import Client
from pytest_django import Settings
from rcssmin import cssmin

from chatapp.project import static_files
from chatapp.project.static_files import HashedStorage
from tests.first_start import FirstStart
from tests.processes import ROOT

STATIC = ROOT / "static"
SHEETS, MODULES = STATIC / "css", STATIC / "js"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Path:
    """What a server collects at its first start."""
    return first_start.copy(tmp_path_factory.mktemp("data")) / "static"


@pytest.fixture
def collected(files: Path, settings: Settings) -> Path:
    """The files of a server that has collected them, which are only read."""
    settings.STATIC_ROOT = files
    settings.WHITENOISE_AUTOREFRESH = False
    return files


@pytest.fixture
def own(collected: Path, settings: Settings, tmp_path: Path) -> Path:
    """The same, in a folder that may be changed."""
    settings.STATIC_ROOT = Path(shutil.copytree(collected, tmp_path / "static"))
    return settings.STATIC_ROOT


def read(name: str) -> str:
    """Return a collected file as browsers get it, by its new name."""
    return Path(settings.STATIC_ROOT, static(name).removeprefix("/static/")).read_text()


def test_every_sheet_is_part_of_one_that_pages_ask_for() -> None:
    """Of one only: in none it would be shown nowhere, in both loaded twice."""
    whole = [SHEETS / Path(name).name for name in static_files.SHEETS]
    texts = "\n".join(path.read_text() for path in whole)
    named = re.findall(r'^@import url\("(.+)"\)', texts, re.MULTILINE)
    there = {path.name for path in {*SHEETS.glob("*.css")} - {*whole}}
    assert (set(named), len(named)) == (there, len(there))


def test_uncollected_files_are_served_under_their_own_names() -> None:
    """As in development; the browser asks each time."""
    assert static("css/site.css") == "/static/css/site.css"
    answer = Client().get("/static/css/site.css")
    assert b"@import" in b"".join(answer)
    assert answer["Cache-Control"] == "max-age=0, public"


def test_collected_files_are_kept_by_browsers_for_good(collected: Path) -> None:
    """Their names carry a hash of what is in them."""
    browser = Client()
    for name in ("css/site.css", "js/chat.js", "icons.svg", "django_htmx/htmx-2.min.js"):
        address = static(name)
        assert re.search(r"\.[0-9a-f]{12}\.", address), address
        answer = browser.get(address)
        assert b"".join(answer).decode() == read(name) != ""
        assert "immutable" in answer["Cache-Control"]


def test_the_collected_stylesheet_has_all_others_in_it(db: None, collected: Path) -> None:
    """In their order; what is for paper stays so. Beside the chat pages ask for more."""
    page = (answer := Client().get("/sign-in/")).text
    assert page.count(static("css/site.css")) == page.count(static("css/beside.css")) == 1
    assert page.count('rel="stylesheet"') == 2
    # By this a page knows that it is older than an answer.
    assert static_files.version()
    assert f'data-version="{static_files.version()}"' in page
    assert answer["Content-Version"] == static_files.version()
    sheet, beside, records = map(read, static_files.SHEETS)
    assert "@import" not in sheet + beside + records
    names = ("variables", "code", "settings", "print")
    variables, code, form, paper = (cssmin((SHEETS / f"{one}.css").read_text()) for one in names)
    assert sheet.index(variables) < sheet.index(code)
    assert form in beside
    assert f"@media print{{{paper}}}" in sheet
    assert "/*" not in sheet + beside + records


BEGINS = (
    *("chat.js", "files.js", "home.js", "notify_switch.js", "palette.js"),
    *("preview.js", "profile.js", "prompt.js", "proof.js", "range.js", "settings.js"),
)


def modules_in(script: str) -> set[str]:
    """Return the modules that a script holds."""
    return set(re.findall(r'^"(\w+\.js)": ', script, re.MULTILINE))


def test_the_collected_scripts_have_all_modules_in_them(collected: Path) -> None:
    """Each once, without what imports and exports it; what is early runs by itself."""
    there = {path.name for path in MODULES.glob("*.js")} - {"first_paint.js"}
    scripts = [read(f"js/{name}") for name in ("site.js", *BEGINS)]
    held = [name for script in scripts for name in modules_in(script)]
    assert (set(held), len(held)) == (there, len(there))
    script = scripts[0]
    assert re.findall(r"^(?:import|export)\b.*", script, re.MULTILINE) == [
        "export const add = (more) => Object.assign(modules, more);",
        "export const need = (name) => (known[name] ??= modules[name]());",
    ]
    assert set(re.findall(r'need\("(.+?)"\)', script)) <= modules_in(script)


ODD = """// é
/* export const no = 1;
import { no } from "./no.js"; */
import {
  one,
  two as other,
}
  from './a.js'
export const made = `
import { no } from "./no.js";
`, more = 2;
export async function* go() {}
"""


def test_a_module_is_read_by_its_syntax() -> None:
    """Not by how it is laid out, and not in comments and texts."""
    found = static_files._parse(ODD)
    assert (found.needed, found.given) == (["a.js"], ["made", "more", "go"])
    assert 'const {\n  one,\n  two: other,\n} = need("a.js");\nconst made = `' in found.code
    assert found.code.endswith("\nasync function* go() {}\n")
    assert 'import { no } from "./no.js";\n`, more = 2;' in found.code


def test_a_page_loads_what_it_needs_beside_what_all_do(collected: Path) -> None:
    """From the one script by its new name: two names would be two modules, each with a state."""
    whole, shared = Path(static("js/site.js")).name, modules_in(read("js/site.js"))
    for name in BEGINS:
        page = read(f"js/{name}")
        assert page.startswith(f'import {{ add, need }} from "./{whole}";\nadd({{\n"')
        assert page.endswith(f'await need("{name}");\n')
        # Only a page may wait: what others import is there at once.
        assert re.findall(r'^"(\w+\.js)": async', page, re.MULTILINE) == [name]
        assert set(re.findall(r'need\("(.+?)"\)', page)) <= modules_in(page) | shared
    assert "composer.js" in modules_in(read("js/chat.js"))
    assert {"suggestions.js", "toast.js"} <= shared


def test_a_conversations_page_loads_little(collected: Path) -> None:
    """In bytes, compressed, besides the conversation itself."""
    names = ("first_paint.js", "site.js", "chat.js")
    files = (*(f"js/{name}" for name in names), "django_htmx/htmx-2.min.js", "css/site.css")
    paths = [static(name).removeprefix("/static/") for name in (*files, "icons.svg")]
    sizes = {path: (collected / f"{path}.br").stat().st_size for path in paths}
    assert sum(sizes.values()) <= 60_000, sizes


def test_no_rule_asks_what_a_whole_page_has(collected: Path) -> None:
    """Such a rule has all styles found anew with each piece of a text that grows."""
    around = re.compile(
        r"(?:(?<![\w.-])body|\.(?:page|main|stage|scroller|transcript))(?![\w-])[^\s{},]*:has\("
    )
    sheets = map(read, ("css/site.css", "css/records.css"))
    assert [found[0] for one in sheets for found in around.finditer(one)] == []


def test_nothing_is_collected_twice(own: Path) -> None:
    """A start with nothing new writes nothing."""
    manifest = own / "staticfiles.json"
    manifest.unlink()
    static_files.collect()
    assert not manifest.exists()


def test_what_was_collected_of_other_files_is_not_used(own: Path) -> None:
    """A server that was updated and started in another way serves what it has now."""
    assert HashedStorage().hashed_files
    (own / "collected").write_text("of another version")
    assert HashedStorage().url("js/chat.js") == "/static/js/chat.js"
