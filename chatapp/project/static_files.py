"""Scripts and styles as browsers get them: few files, and names that change with the content.

A collected file's name carries a hash, so that a browser keeps it for good and asks for it once. In
development, and after changes, files are served as they lie.
"""

import fcntl
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, override

from django.conf import STATICFILES_STORAGE_ALIAS, settings
from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import call_command
from rcssmin import cssmin
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Sheets of every page, of pages but the chat, and of records, which a chat loads with the first.
SHEETS = ("css/site.css", "css/beside.css", "css/records.css")
_IMPORT = re.compile(r'^@import url\("(?P<name>[\w.]+)"\)(?P<media> \w+)?;$', re.M)

# Has each module that several pages need; a page's first one, such as ``chat.js``, has its own.
_SITE = "site.js"
SCRIPT = f"js/{_SITE}"
# No module: it runs before anything is shown.
FIRST_PAINT = "js/first_paint.js"

Paths = Mapping[str, tuple[Any, str]]


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # without types
    """Django's and WhiteNoise's storage, with modules that import each other by their new names."""

    support_js_module_import_aggregation = True
    # A chain of imports takes one pass each.
    max_post_process_passes = 30
    keep_intermediate_files = False

    @override
    def load_manifest(self) -> tuple[dict[str, str], str]:
        """Return the new names; none if they belong to other files."""
        return super().load_manifest() if is_collected() else ({}, "")

    @override
    def stored_name(self, name: str) -> str:
        """Return a file's new name, or its own if nothing was collected."""
        return super().stored_name(name) if self.hashed_files else name

    @override
    def post_process(self, paths: Paths, dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Join sheets and modules into few files, and give all files their new names."""
        if dry_run:
            return
        made = {sheet: _join_sheets(paths, sheet) for sheet in SHEETS} | _join_modules(paths)
        for name, text in made.items():
            self.delete(name)
            self.save(name, ContentFile(text.encode()))
        kept = {name: path for name, path in paths.items() if not _is_module(name)}
        own = {name: (self, name) for name in made}
        yield from super().post_process({**kept, **own}, **options)
        _stamp().write_text(_state(), encoding="ascii")


def _read(paths: Paths, path: str) -> str:
    storage, name = paths[path]
    with storage.open(name) as file:
        return str(file.read().decode())


def _join_sheets(paths: Paths, name: str) -> str:
    """Return a stylesheet with each sheet that it imports in that one's place, minified."""

    def put_in(found: re.Match[str]) -> str:
        sheet = _read(paths, f"css/{found['name']}")
        return f"@media{found['media']} {{\n{sheet}}}\n" if found["media"] else sheet

    return str(cssmin(_IMPORT.sub(put_in, _read(paths, name))))


def _is_module(name: str) -> bool:
    return name.startswith("js/") and name.endswith(".js") and name != FIRST_PAINT


def _join_modules(paths: Paths) -> dict[str, str]:
    """Return the modules that several pages need as one script, and one script for each page."""
    # Each module becomes a function that runs once, when it is first needed; imports call it.
    modules = {name[3:]: _parse(_read(paths, name)) for name in paths if _is_module(name)}
    begins = [name for name, one in modules.items() if not one.given and name != _SITE]
    needed = {name: _needed_by(name, modules) for name in [_SITE, *begins]}
    own = {
        name: {one for one in needed[name] if sum(one in them for them in needed.values()) == 1}
        for name in begins
    }
    shared = modules.keys() - set().union(*own.values())
    whole = (
        f"const modules = {_as_functions(shared, modules)};\nconst known = {{}};\n"
        "export const add = (more) => Object.assign(modules, more);\n"
        "export const need = (name) => (known[name] ??= modules[name]());\n"
        f'need("{_SITE}");\n'
    )
    return {SCRIPT: whole} | {
        f"js/{name}": f'import {{ add, need }} from "./{_SITE}";\n'
        f'add({_as_functions(own[name], modules)});\nawait need("{name}");\n'
        for name in begins
    }


class _Module(NamedTuple):
    """A module's code without imports and exports, the modules it needs, and the names it gives."""

    code: str
    needed: list[str]
    given: list[str]


def _parse(text: str) -> _Module:
    # Loaded only where files are collected.
    from tree_sitter_language_pack import get_parser  # noqa: PLC0415

    source, code, done, needed, given = text.encode(), b"", 0, list[str](), list[str]()
    root: Any = get_parser("javascript").parse(source).root_node
    for node in root.named_children:
        if node.type not in {"import_statement", "export_statement"}:
            continue
        code += source[done : node.start_byte]
        done = node.end_byte
        if node.type == "import_statement":
            names, module = node.named_children
            needed.append(module.text.decode()[3:-1])
            pattern = names.text.decode().replace(" as ", ": ")
            code += f'const {pattern} = need("{needed[-1]}");'.encode()
        else:
            (made,) = node.named_children
            named = [made] if made.child_by_field_name("name") else made.named_children
            given += [one.child_by_field_name("name").text.decode() for one in named]
            code += made.text
    return _Module((code + source[done:]).decode(), needed, given)


def _needed_by(name: str, modules: Mapping[str, _Module]) -> set[str]:
    """Return a module with its imports, direct and indirect."""
    found, waiting = set[str](), [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += modules[one].needed
    return found


def _as_functions(names: Iterable[str], modules: Mapping[str, _Module]) -> str:
    functions = ""
    for name, one in [(name, modules[name]) for name in sorted(names)]:
        # A page's first module may wait for something.
        kind, given = "" if one.given else "async ", ",".join(one.given)
        functions += f'"{name}": {kind}()=>{{{jsmin(one.code)}\nreturn{{{given}}}}},\n'
    return f"{{\n{functions}}}"


def collect() -> None:
    """Collect the files, unless none has changed.

    Several processes do so one after the other, and leave those files that older ones serve.
    """
    with (Path(settings.DATA_DIR) / "static.lock").open("a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_collected():
            clear = not settings.CLUSTER
            call_command("collectstatic", interactive=False, clear=clear, verbosity=0)


def is_collected() -> bool:
    """Return True if the collected files are those of the folders now."""
    stamp = _stamp()
    return stamp.is_file() and stamp.read_text(encoding="ascii") == _state()


def version() -> str:
    """Return a hash of all collected files, "" if nothing was collected."""
    return getattr(storages[STATICFILES_STORAGE_ALIAS], "manifest_hash", "")


def _stamp() -> Path:
    return Path(settings.STATIC_ROOT) / "collected"


def _state() -> str:
    """Return a hash of the names, sizes and times of all files."""
    state = hashlib.sha256(Path(__file__).read_bytes())
    for finder in finders.get_finders():
        for name, storage in sorted(finder.list([]), key=lambda found: found[0]):
            info = Path(storage.path(name)).stat()
            state.update(f"{name} {info.st_size} {info.st_mtime_ns}\n".encode())
    return state.hexdigest()
