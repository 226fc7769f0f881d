"""Scripts and styles: few files, and names that change with the content."""

import re
import shutil
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.templatetags.static import static
from django.test import Client, override_settings
from pytest_django import Settings
from rcssmin import cssmin

from chatapp import static_files
from chatapp.static_files import HashedStorage

STATIC = Path(__file__).parents[2] / "static"
SHEETS, MODULES = STATIC / "css", STATIC / "js"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a server collects, which takes it two seconds."""
    folder = tmp_path_factory.mktemp("collected") / "static"
    with override_settings(STATIC_ROOT=folder):
        static_files.collect()
    return folder


@pytest.fixture
def collected(files: Path, settings: Settings) -> Settings:
    """A server that has collected its files."""
    shutil.copytree(files, settings.STATIC_ROOT)
    settings.WHITENOISE_AUTOREFRESH = False
    return settings


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


def test_collected_files_are_kept_by_browsers_for_good(collected: LazySettings) -> None:
    """Their names carry a hash of what is in them."""
    files = ("css/site.css", "js/site.js", "js/chat.js", "icons.svg", "django_htmx/htmx-2.min.js")
    for name in files:
        address = static(name)
        assert re.search(r"\.[0-9a-f]{12}\.", address), address
        answer = Client().get(address)
        assert b"".join(answer)
        assert "immutable" in answer["Cache-Control"]


def test_the_collected_stylesheet_has_all_others_in_it(db: None, collected: LazySettings) -> None:
    """In their order; what is for paper stays so. Beside the chat a page asks for one more."""
    page = Client().get("/sign-in/").text
    assert page.count(static("css/site.css")) == page.count(static("css/beside.css")) == 1
    assert page.count('rel="stylesheet"') == 2
    sheet, beside = (b"".join(Client().get(static(name))).decode() for name in static_files.SHEETS)
    assert "@import" not in sheet + beside
    parts = {path.name: cssmin(path.read_text()) for path in SHEETS.glob("*.css")}
    assert sheet.index(parts["variables.css"]) < sheet.index(parts["code.css"])
    assert parts["settings.css"] in beside
    assert f"@media print{{{parts['print.css']}}}" in sheet
    assert b"/*" not in sheet.encode() + b"".join(Client().get(static("css/beside.css")))


BEGINS = (
    *("chat.js", "files.js", "home.js", "notify_switch.js", "palette.js"),
    *("profile.js", "prompt.js", "settings.js"),
)


def read(name: str) -> str:
    """Return a script as browsers get it."""
    return b"".join(Client().get(static(f"js/{name}"))).decode()


def modules_in(script: str) -> set[str]:
    """Return the modules that a script holds."""
    return set(re.findall(r'^"(\w+\.js)": ', script, re.MULTILINE))


def test_the_collected_scripts_have_all_modules_in_them(collected: LazySettings) -> None:
    """Each once, without what imports and exports it; what is early runs by itself."""
    there = {path.name for path in MODULES.glob("*.js")} - {"first_paint.js"}
    held = [name for script in ("site.js", *BEGINS) for name in modules_in(read(script))]
    assert (set(held), len(held)) == (there, len(there))
    script = read("site.js")
    assert re.findall(r"^(?:import|export)\b.*", script, re.MULTILINE) == [
        "export const add = (more) => Object.assign(modules, more);",
        "export const need = (name) => (known[name] ??= modules[name]());",
    ]
    assert set(re.findall(r'need\("(.+?)"\)', script)) <= modules_in(script)


def test_a_page_loads_what_it_needs_beside_what_all_do(collected: LazySettings) -> None:
    """From the one script by its new name: two names would be two modules, each with a state."""
    whole = Path(static("js/site.js")).name
    for name in BEGINS:
        page = read(name)
        assert page.startswith(f'import {{ add, need }} from "./{whole}";\nadd({{\n"')
        assert page.endswith(f'await need("{name}");\n')
        needed = set(re.findall(r'need\("(.+?)"\)', page))
        assert needed <= modules_in(page) | modules_in(read("site.js"))
    assert "composer.js" in modules_in(read("chat.js"))
    assert {"suggestions.js", "toast.js"} <= modules_in(read("site.js"))


def test_a_conversations_page_loads_little(collected: LazySettings) -> None:
    """In bytes, compressed, besides the conversation itself."""
    names = ("first_paint.js", "site.js", "chat.js")
    files = (*(f"js/{name}" for name in names), "django_htmx/htmx-2.min.js", "css/site.css")
    paths = [static(name).removeprefix("/static/") for name in (*files, "icons.svg")]
    sizes = [Path(collected.STATIC_ROOT, f"{path}.br").stat().st_size for path in paths]
    assert sum(sizes) <= 60_000, dict(zip(files, sizes, strict=False))


def test_nothing_is_collected_twice(collected: LazySettings) -> None:
    """A start with nothing new writes nothing."""
    manifest = Path(collected.STATIC_ROOT) / "staticfiles.json"
    manifest.unlink()
    static_files.collect()
    assert not manifest.exists()


def test_what_was_collected_of_other_files_is_not_used(collected: LazySettings) -> None:
    """A server that was updated and started in another way serves what it has now."""
    assert HashedStorage().hashed_files
    (Path(collected.STATIC_ROOT) / "collected").write_text("of another version")
    assert HashedStorage().url("js/chat.js") == "/static/js/chat.js"
