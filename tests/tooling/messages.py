"""The catalogues of chatapp/locale: what is to be translated, what is missing, and what is wrong.

``make messages`` collects all that is marked in templates, Python and the engine, and puts it into
every language's catalogue. With ``--check``, nothing is written and what is wrong is an error: a
catalogue that is out of date, a sentence that is not marked, a placeholder that was lost, a plural
without all of its forms, a translation that nobody made.

Babel merges and writes. It does not collect: of 1,486 calls it takes two for plurals, for a string
within a value, and Django's makemessages needs the programs of GNU gettext, as only xgettext reads
what Django makes of a template.
"""

import ast
import gc
import gettext
import itertools
import json
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import override

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.template import engines
from django.template.base import Lexer, NodeList, TokenType
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.translation import to_locale

from tests.processes import ROOT

# As they are called in Python. What is stored is English, and is said in the reader's language by
# what it was made of; a plural is a second sentence.
KEYWORDS = {
    *("_", "_lazy", "gettext", "gettext_lazy", "gettext_noop", "translate"),
    *("ngettext", "ngettext_lazy", "plural"),
}
STORED = {"say", "noop"}
# With what tells two uses of the same words apart as their first argument.
IN_CONTEXT = {"pgettext", "pgettext_lazy"}
MARKED = re.compile(rf"\b(?:{'|'.join(KEYWORDS | STORED | IN_CONTEXT)})\(|\bhelp = ")
CONSTANT = re.compile(r'_\("((?:[^"\\]|\\.)*)"\)')
LOCALES = ROOT / "chatapp" / "locale"

DATE = datetime(2026, 11, 28, tzinfo=UTC)

Id = str | tuple[str, str]


def collect(root: Path = ROOT) -> Catalog:
    """Return all that is marked, and what is borrowed of packages."""
    catalog = Catalog(fuzzy=False)
    marked = (_in_templates(root), _in_python(root), _in_scripts(root), _borrowed(root))
    for context, id_, place in itertools.chain(*marked):
        catalog.add(id_, locations=[(place, 0)], context=context)
    return catalog


def _in_templates(root: Path) -> Iterator[tuple[str | None, Id, str]]:
    engine = engines["django"].engine  # type: ignore[attr-defined] # of Django's own
    for path in sorted((root / "templates").rglob("*.*")):
        place, text = path.relative_to(root).as_posix(), path.read_text()
        nodes = engine.from_string(text).nodelist if "translate" in text else NodeList()
        for node in nodes.get_nodes_by_type((TranslateNode, BlockTranslateNode)):
            context = node.message_context and node.message_context.var
            if isinstance(node, TranslateNode):
                said = node.filter_expression.var
                # As Django looks it up.
                id_ = said if isinstance(said, str) else str(said.literal).replace("%", "%%")
                yield context, id_, place
            else:
                one = node.render_token_list(node.singular)[0]
                many = node.plural and node.render_token_list(node.plural)[0]
                yield context, (one, many) if many else one, place
        for found in CONSTANT.findall(text):
            yield None, found, place


def _sources(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each source of Python."""
    for package in ("chatapp", "condense"):
        for path in sorted((root / package).rglob("*.py")):
            yield path.relative_to(root).as_posix(), path.read_text()


def _in_python(root: Path) -> Iterator[tuple[str | None, Id, str]]:
    for place, text in _sources(root):
        # To look at every node of all others takes long.
        for node in ast.walk(ast.parse(text)) if MARKED.search(text) else ():
            match node:
                case ast.Call(
                    func=ast.Name(id=name) | ast.Attribute(attr=name),
                    args=[ast.Constant(str(context)), ast.Constant(str(one))],
                ) if name in IN_CONTEXT:
                    yield context, one, place
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
                    name in KEYWORDS | STORED
                ):
                    context = "stored" if name in STORED else None
                    match node.args:
                        case [ast.Constant(str(one)), ast.Constant(str(many)), *_]:
                            yield context, (one, many), place
                        case [ast.Constant(str(one)), *_]:
                            yield context, one, place
                case ast.Assign([ast.Name("help")], ast.Constant(str(one))):
                    # Of a command: it is translated when somebody asks for it.
                    yield None, one, place


def _in_scripts(root: Path) -> Iterator[tuple[str | None, Id, str]]:
    for path in (root / "chatapp" / "templatetags").glob("*.toml"):
        for said in tomllib.loads(path.read_text()).values():
            id_ = said if isinstance(said, str) else tuple(said)
            yield None, id_, path.relative_to(root).as_posix()


def _borrowed(root: Path) -> Iterator[tuple[str | None, Id, str]]:
    place = "chatapp/locale/borrowed.pot"
    with (root / place).open("rb") as file:
        for message in read_po(file):
            if message.id:
                yield message.context, message.id, place


def path_of(language: str) -> Path:
    """Return where a language's catalogue is."""
    return LOCALES / to_locale(language) / "LC_MESSAGES" / "django.po"


def read(language: str) -> Catalog:
    """Return a language's catalogue, an empty one where there is none yet."""
    path = path_of(language)
    if not path.exists():
        return _new(language)
    with path.open("rb") as file:
        return read_po(file, locale=to_locale(language))


def _new(language: str) -> Catalog:
    # With the time of its writing it would never be the same twice.
    return Catalog(
        locale=to_locale(language),
        project="Palimpsest",
        version="1",
        header_comment=f"# Palimpsest in {dict(settings.LANGUAGES)[language]}.",
        creation_date=DATE,
        revision_date=DATE,
        fuzzy=False,
    )


def languages() -> list[str]:
    """Return the languages that have a catalogue: all but English."""
    return [code for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE]


def missing(catalog: Catalog, wanted: Catalog) -> list[Message]:
    """Return what a catalogue lacks of all that is to be translated."""
    return [one for one in wanted if one.id and not _translation(catalog, one)]


def _translation(catalog: Catalog, message: Message) -> list[str]:
    """Return a message's forms, none where not all are there."""
    found = catalog.get(message.id, message.context)
    forms = (
        found.string
        if found and isinstance(found.string, tuple | list)
        else [found.string if found else ""]
    )
    return [*forms] if all(forms) else []


# What a translation must have as its original has it.
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|%%|\{\w+[^}]*\}")


@cache
def _placeholders(text: str) -> Counter[str]:
    return Counter(PLACEHOLDER.findall(text))


def wrong(catalog: Catalog) -> Iterator[str]:
    """Yield what is wrong with translations: placeholders, and forms of plurals."""
    form_of = gettext.c2py(catalog.plural_expr)
    numbers = Counter(form_of(number) for number in range(201))
    for message in catalog:
        if not message.id or not any(message.string or ()):
            continue
        is_plural = isinstance(message.id, tuple)
        ids: tuple[str, ...] = message.id if is_plural else (message.id,)
        forms = message.string if is_plural else (message.string,)
        if is_plural and len(forms) != catalog.num_plurals:
            yield f"{message.id}: {len(forms)} forms of {catalog.num_plurals}"
        asked = _placeholders(ids[-1])
        for index, form in enumerate(forms):
            has = _placeholders(form)
            # Only a form that stands for one number may say it in words.
            may_lack = int(is_plural and numbers[index] == 1)
            if has - asked or (asked - has).total() > may_lack:
                yield f"{ids[-1]!r}: {form!r} has {[*has]}, not {[*asked]}"


def stale(catalog: Catalog, wanted: Catalog) -> Iterator[str]:
    """Yield what is said nowhere any more, what is a guess, and what is still English."""
    yield from (f"{one!r} is obsolete" for one in catalog.obsolete)
    for message in catalog:
        if not message.id:
            continue
        known = wanted.get(message.id, message.context)
        if not known or known.id != message.id:
            yield f"{message.id!r} is said nowhere"
        if message.fuzzy:
            yield f"{message.id!r} is fuzzy"
        ids, forms = (
            {*texts} if isinstance(texts, tuple) else {texts}
            for texts in (message.id, message.string)
        )
        for same in ids & forms:
            if len(WORD.findall(NO_WORD.sub("", NAMES.sub("", same)))) >= 3:
                yield f"{same!r} is English"


# How English names a concept, for which each language has one word.
CONCEPTS = {
    "condensation": re.compile(r"\bcondens"),
    "rewind": re.compile(r"\brewind"),
    "pin": re.compile(r"\b(?:un)?pin(?:s|ned|ning)?\b"),
    "summary": re.compile(r"\bsummar(?:y|ies)\b"),
    "profile": re.compile(r"\bprofiles?\b"),
    "recall": re.compile(r"\brecall"),
    "ledger": re.compile(r"\bkey facts\b"),
    "operator": re.compile(r"\boperators?\b"),
    "context window": re.compile(r"\bcontext window"),
    "threshold": re.compile(r"\bthreshold"),
    "conversation": re.compile(r"\bconversations?\b"),
    "member": re.compile(r"\bmembers?\b"),
}


# Placeholders, tags, the number of a card, and names of code.
NO_WORD = re.compile(rf"{PLACEHOLDER.pattern}|<[^>]+>|PIN\b|\w+[_.]\w+(?:\.\w+)*|[a-z]+[A-Z]\w*")


def off_terms(language: str, catalog: Catalog) -> Iterator[str]:
    """Yield translations that lack the word which the glossary has for what English names."""
    glossary = json.loads((path_of(language).parents[1] / "glossary.json").read_text())
    for message in catalog:
        if message.id and any(message.string or ()):
            said = "".join(message.string).lower()
            for concept in _named("".join(message.id)):
                stems = glossary[concept]["stems"]
                if not any(stem.lower() in said for stem in stems):
                    yield f"{message.id!r}: {said!r} is without {stems}"


@cache
def _named(english: str) -> list[str]:
    """Return the concepts that a sentence names; it is the same one for each language."""
    words = NO_WORD.sub("", english).lower()
    return [concept for concept, pattern in CONCEPTS.items() if pattern.search(words)]


class _Texts(HTMLParser):
    """Collects what people read of a page: texts, and attributes that are shown or spoken."""

    SHOWN = frozenset(
        {
            *("title", "placeholder", "alt", "label", "data-tip"),
            *("aria-label", "aria-description", "aria-valuetext", "aria-roledescription"),
        }
    )
    BUTTONS = frozenset({"submit", "button", "reset"})  # inputs that show their value
    CODE = frozenset({"script", "style", "code", "kbd", "pre", "samp"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._code = 0

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect attributes that are shown."""
        self._code += tag in self.CODE
        is_button = tag == "input" and dict(attrs).get("type") in self.BUTTONS
        shown = self.SHOWN | {"value"} if is_button else self.SHOWN
        self.found += [value for name, value in attrs if value and name in shown]

    @override
    def handle_endtag(self, tag: str) -> None:
        """Note where code ends."""
        self._code -= tag in self.CODE

    @override
    def handle_data(self, data: str) -> None:
        """Collect a text."""
        if not self._code:
            self.found.append(data)


# Names that are the same in every language.
NAMES = re.compile(r"\b(?:Palimpsest|JSON|Markdown|HTML|UTC|Shift|Enter|Esc|https?://\S+)")
WORD = re.compile(r"[A-Za-z]{2,}")
WORDS = re.compile(rf".*{WORD.pattern}.*")
# What holds no words for readers.
NO_PAGES = {
    "manifest.webmanifest": "JSON, whose only sentence is marked",
    "copy.css": "styles",
    "copy.js": "a script",
    "_hidden_by.html": "attributes of an element",
    "_examples.html": "what is told to models",
    "_client_lines.html": "names of programs, and lines to copy",
}
NO_WORDS = {"body_class", "body_attributes"}  # blocks in the middle of a tag
# What a filter says instead of a value, where it has a capital or several words.
FILTERED = re.compile(
    r"""\|(?:default|default_if_none|yesno|pluralize|add|join):"""
    r"""(["'])([^"']*?(?:[A-Z]|\w \w)[^"']*)\1"""
)


def unmarked_in_templates(root: Path = ROOT) -> Iterator[str]:
    """Yield words of templates that stand outside of marks."""
    for path in sorted((root / "templates").rglob("*.*")):
        if path.name not in NO_PAGES:
            texts = _Texts()
            texts.feed("".join(_outside_marks(path.read_text())))
            said = [words for _, words in FILTERED.findall(path.read_text())]
            for text in (*texts.found, *said):
                if WORD.search(NAMES.sub("", text)):
                    yield f"{path.relative_to(root)}: {' '.join(text.split())[:80]!r}"


def _outside_marks(template: str) -> Iterator[str]:
    ends = ""
    for token in Lexer(template).tokenize():
        words = token.contents.split()
        if token.token_type == TokenType.TEXT and not ends:
            yield token.contents
        elif token.token_type == TokenType.BLOCK and words[0] in {"blocktranslate", "comment"}:
            ends = f"end{words[0]}"
        elif token.token_type == TokenType.BLOCK and words[0] == "block" and words[1] in NO_WORDS:
            ends = "endblock"
        elif token.token_type == TokenType.BLOCK and words[0] == ends:
            ends = ""


# A script's comments and texts, and the values in a template literal.
LITERAL = re.compile(
    r"""//.*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'"""
    r"""|`((?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}]|\{[^{}]*\})*\})*)`"""
)
VALUE = re.compile(r"\$\{((?:[^{}]|\{[^{}]*\})*)\}")
# A sentence, or some words of one, with 0 for each value; whatever is said or shown.
SCRIPTED = re.compile(r"(?:[A-Z][a-z]*|0)(?:[,:]? [a-z’']+)+.*")
SPOKEN = re.compile(r".*[a-z’']{2,}[,:;.]? [A-Za-z’']{2}.*|" + SCRIPTED.pattern)
SHOWING = re.compile(
    r"\b(?:textContent|innerText|title|alt|placeholder|label|aria(?:Label|Description|ValueText"
    r"|RoleDescription))\s*(?::|\+?=(?!=))([^,;]*)"
)
BLOCK = re.compile(r"\{.*\}", re.DOTALL)
INNERMOST = re.compile(r"(\w*)\(([^()]*)(?:\)|$)")
# Calls whose texts are selectors or classes, and errors that are thrown, which are for the console.
CODE_CALLS = {
    *("", "querySelector", "querySelectorAll", "matches", "closest", "matchMedia", "makeButton")
}
UNSHOWN_CALLS = {"text", "Error", "TypeError"}


def unmarked_in_scripts(root: Path = ROOT) -> Iterator[str]:
    """Yield sentences of scripts, whose words come from the page."""
    for folder in ("static", "templates"):
        for path in sorted((root / folder).rglob("*.js")):
            for words in dict.fromkeys(_words_of_script(path.read_text())):
                yield f"{path.relative_to(root)}: {words!r}"


def _words_of_script(code: str) -> Iterator[str]:
    """Yield what a script says, or an expression of it."""
    texts: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        if found.lastindex is None:
            return ""
        texts.append(found[found.lastindex])
        return f'"{len(texts) - 1}"'

    def of(part: str, pattern: re.Pattern[str]) -> Iterator[str]:
        for number in re.findall(r'"(\d+)"', part):
            if pattern.fullmatch(" ".join(VALUE.sub("0", texts[int(number)]).split())):
                yield texts[int(number)]

    code = LITERAL.sub(numbered, code).replace("?.(", "(")
    for value in VALUE.findall(" ".join(texts)):
        yield from _words_of_script(value)
    for name, given in _calls(code):
        if name not in UNSHOWN_CALLS:
            yield from of(" ".join(SHOWING.findall(given)), WORDS)
            yield from of(SHOWING.sub("", given), SCRIPTED)
        if name not in CODE_CALLS | UNSHOWN_CALLS:
            yield from of(BLOCK.sub("", given), SPOKEN)


def _calls(code: str) -> Iterator[tuple[str, str]]:
    """Yield what is called with what, calls within it apart; in the end what is in no call."""
    while call := INNERMOST.search(code):
        yield call[1], call[2]
        code = code[: call.start()] + code[call.end() :]
    yield "", code


# A whole sentence, and where anything of several words is one.
SENTENCE = re.compile(r"[A-Z“][^\n]*\s[^\n]*\w[.?!…]”?")
SAID = re.compile(r"[A-Z“][^\n]*\w \w[^\n]*")
ANSWERED = re.compile(r"[A-Za-z“][^\n]*\w \w[^\n]*")
SAYING = {"refuse", "Refused", "HttpError", "CommandError", "ValidationError", "write"}
SAYING_TO = {"messages"}  # modules whose functions do
RESPONSE = re.compile(r"HttpResponse\w*|\w+Response")
SHOWN_AS = {"label", "help_text", "verbose_name", "title"}
# Calls whose sentences nobody reads in a page: logs, and what programmers are told.
UNSAID = {
    *("log", "logger", "async_unsafe", "AppendOnly", "TypeError", "ValueError", "AssertionError")
}
# Why, and where: files, and folders with all that is in them.
NOT_FOR_READERS = {
    "told to models": (
        "chatapp/agent/loop.py", "chatapp/agent/ports.py", "chatapp/agent/prompts",
        "chatapp/agent/tool_arguments.py",
        "chatapp/storage/approvals.py", "chatapp/conversations/composer/mentions.py",
        "chatapp/conversations/context/turn_context.py",
        "chatapp/providers/anthropic/request.py", "chatapp/providers/model_servers.py",
        "chatapp/providers/offline/summary.py", "condense/facts", "condense/prompts",
        "condense/recall", "condense/reduction/carryover.py", "condense/replay.py",
        "condense/requests", "chatapp/web/api/mcp_server.py", "chatapp/web/api/mcp_tools.py",
    ),
    "the API's description": (
        "chatapp/web/api/schemas.py", "chatapp/web/api/urls.py", "chatapp/web/api/conversations.py",
        "chatapp/web/api/history.py", "chatapp/web/api/auth.py",
    ),
    "said before anything can be translated": (
        "chatapp/project/environment.py", "chatapp/project/fixed_settings.py",
        "chatapp/settings.py",
    ),
    "said once": (
        "chatapp/migrations",
    ),
    "errors of programmers": (
        "chatapp/models/audit.py", "condense/messages.py", "condense/registry.py",
        "condense/strategies/__init__.py", "condense/testing.py",
    ),
    "told to models, who pass it on": (
        "chatapp/tools",
    ),
    "for machines": (
        "chatapp/project/telemetry.py", "chatapp/turns/monitoring.py",
    ),
}  # fmt: skip


def unmarked_in_python(root: Path = ROOT) -> Iterator[str]:
    """Yield sentences of Python that nothing marks."""
    unread = tuple(itertools.chain(*NOT_FOR_READERS.values()))
    for place, text in _sources(root):
        if not place.startswith(unread):
            for line, said in _Sentences().of(ast.parse(text)):
                yield f"{place}:{line}: {said!r}"


def _is_made(said: ast.expr) -> bool:
    """Whether a text is put together from words and values before it is looked up."""
    match said:
        case ast.JoinedStr():
            return True
        case ast.BinOp(left=ast.Constant(str()) | ast.JoinedStr()):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Constant(str()), attr="format")):
            return True
    return False


class _Sentences(ast.NodeVisitor):
    """Collects the sentences that stand outside of marks."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []
        self._pattern = SENTENCE

    def of(self, tree: ast.AST) -> list[tuple[int, str]]:
        """Return them, with their lines."""
        self.visit(tree)
        return self._found

    def visit_Expr(self, node: ast.Expr) -> None:
        """Pass over docstrings."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Pass over what only a shell shows."""
        if node.name != "__str__":
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Pass over the help of commands, which is collected."""
        if getattr(node.targets[0], "id", "") != "help":
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Look closer where whatever is given is said."""
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        names = {getattr(one, "id", getattr(one, "attr", "")) for one in (node.func, owner)}
        if names & (KEYWORDS | STORED | IN_CONTEXT):
            # It is marked, but what is made while it runs cannot be collected.
            self._found += [(one.lineno, ast.unparse(one)) for one in node.args if _is_made(one)]
        elif not names & UNSAID:
            before = self._pattern
            says = names & SAYING or (owner is not None and names & SAYING_TO)
            answers = any(RESPONSE.fullmatch(name) for name in names)
            self._pattern = ANSWERED if answers else SAID if says else SENTENCE
            self.generic_visit(node)
            self._pattern = before

    def visit_keyword(self, node: ast.keyword) -> None:
        """Look closer at labels."""
        before = self._pattern
        self._pattern = SAID if node.arg in SHOWN_AS else before
        self.generic_visit(node)
        self._pattern = before

    def visit_Tuple(self, node: ast.Tuple) -> None:
        """Look closer at a choice: what is stored, and what it is called."""
        before = self._pattern
        match node.elts:
            case [ast.Constant(str()) as stored, ast.Constant() | ast.JoinedStr() as called]:
                self.visit(stored)
                self._pattern = ANSWERED
                self.visit(called)
            case _:
                self.generic_visit(node)
        self._pattern = before

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Look at the whole of it."""
        parts = [str(one.value) if isinstance(one, ast.Constant) else "x" for one in node.values]
        self._look(node.lineno, "".join(parts))

    def visit_Constant(self, node: ast.Constant) -> None:
        """Look at it."""
        if isinstance(node.value, str):
            self._look(node.lineno, node.value)

    def _look(self, line: int, text: str) -> None:
        if self._pattern.fullmatch(text):
            self._found.append((line, text))


def update() -> None:
    """Write every catalogue anew, and print what each lacks."""
    wanted = collect()
    for language in languages():
        catalog = _updated(language, wanted)
        path = path_of(language)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalog, width=100, sort_output=True, include_lineno=False)
        print(f"{language}: {len(missing(catalog, wanted))} of {len(wanted)} missing")


def _updated(language: str, wanted: Catalog) -> Catalog:
    """Return a language's catalogue with all that is wanted, and nothing else."""
    catalog = read(language)
    catalog.update(wanted, no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    for message in catalog:
        # Percent signs and braces are none of their business: ``wrong`` looks at placeholders.
        message.flags -= {"python-format", "python-brace-format"}
    return catalog


def complaints() -> Iterator[str]:
    """Yield what is wrong: with what is marked, and with every catalogue."""
    yield from unmarked_in_templates()
    yield from unmarked_in_python()
    yield from unmarked_in_scripts()
    wanted = collect()
    for language in languages():
        catalog = read(language)
        yield from (f"{language}: no {one.id!r}" for one in missing(catalog, wanted))
        yield from (f"{language}: {said}" for said in wrong(catalog))
        yield from (f"{language}: {said}" for said in stale(catalog, wanted))
        yield from (f"{language}: {said}" for said in off_terms(language, catalog))


def main() -> int:
    """Do what was asked for; return the exit code."""
    if "--check" not in sys.argv:
        update()
        return 0
    found = [*complaints()]
    print(*found, sep="\n") if found else print("Every sentence is marked and translated.")
    return bool(found)


if __name__ == "__main__":
    # It ends soon, and to look for garbage would take a seventh of its time.
    gc.disable()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
    django.setup()
    sys.exit(main())
