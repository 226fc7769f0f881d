"""GitHub-flavoured markdown to safe HTML, with few tags of its own and without images.

The renderer draws only tags that it knows, and the sanitizer is a second wall. There is no image:
loading a remote one would send its server the address, and any text that the model put into that.
"""

import functools
import re
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

import nh3
from django.utils.translation import gettext_noop as _
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments.token import STANDARD_TYPES

from chatapp.page.markdown.code_colors import highlight_code, read_language
from chatapp.page.markdown.extensions import (
    DRAWN,
    LAYOUT,
    know_scripts,
    place_tags,
    show_unused,
    widen_fences,
)
from chatapp.page.markdown.footnotes import add_footnotes, link_notes
from chatapp.page.markdown.formulas import add_formulas, is_display, source
from chatapp.page.markdown.marked_sentences import SENTENCES, part_sentences
from chatapp.page.markdown.mathml import TAGS as FORMULA_TAGS
from chatapp.page.markdown.mathml import to_mathml
from chatapp.page.markdown.tables import is_padding, keep_beyond
from chatapp.project.sentences import translate

Environment = dict[str, Any]

# Keys in the environment: the line from which on blocks are still being written, and the beginning
# of the ids of this text's footnotes, if they are linked.
OPEN_AT_LINE, NAME = "open_at_line", "name"

# Key in the environment: the characters left for formulas.
_FORMULAS_LEFT = "formulas_left"

# Characters of all formulas of a text, and those that each formula counts besides its own.
_MAX_FORMULAS, _FORMULA = 50_000, 50

# Levels. The parser drops deeper ones, so a text that has them is shown as it was written.
_MAX_NESTING = 60

# Characters of a paragraph, and brackets: without a link they take the parser a hundred times as
# long.
_MAX_PARAGRAPH, _MAX_BRACKETS = 20_000, 500

# Characters: a cell with more is prose, whose lines may break; so may those of a longer heading.
_SHORT_CELL, _SHORT_HEADING = 32, 16

# The titles of notes that begin with a line such as ``[!NOTE]``.
_NAMES = (_("Note"), _("Tip"), _("Important"), _("Warning"), _("Caution"))
_ALERTS = {name.upper(): name for name in _NAMES}

# Lines: the page folds longer code (`static/js/code.js` counts them while it grows).
LONG_CODE = 40

# The beginnings of bare addresses, without the fuzzy ones.
_ADDRESS = re.compile(r"https?:|mailto:|//", re.IGNORECASE)

# An address without a scheme would lead into this application, with the reader's session.
_SAFE_ADDRESS = re.compile(r"(?:https?://[^/\\]|mailto:.)", re.IGNORECASE)

# The host of an address, and words of a text that may be a host.
_AUTHORITY = re.compile(r"(?:https?://)?([^/?#\\\s]*)", re.IGNORECASE)
_HOST = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62}(?![\w-])")
# These end the names of files more often than those of hosts.
_FILES = frozenset({"cc", "md", "mk", "ml", "pl", "ps", "py", "rs", "sh", "so"})

# Controls, single surrogates, and the marks that reverse the order in which text is shown: they are
# made visible as U+FFFD.
UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

# Hebrew, Arabic and their neighbours.
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_EMPTY = re.compile(r"<p[^>]*+>\s*+</p>\n?")
_LETTER = re.compile(r"[^\W\d_]")


# Lines that begin with a letter and have no sign with a meaning, in paragraphs.
_LINE = r"""[^\W\d_](?:[^\W_]++|(?: (?!\n)|[,.:;!?'"()%\u2013-\u201e\u2026«»-])++)*+"""
_PLAIN = re.compile(rf"\n*+{_LINE}(?:\n{{1,2}}+{_LINE})*+\n*+")


def render_markdown(text: str, env: Environment | None = None) -> str:
    """Return safe HTML for whole blocks; ``env`` holds the definitions met so far."""
    text, env = UNSAFE.sub("\ufffd", text), {} if env is None else env
    if SENTENCES not in env and is_plain(text):
        return "".join([f"<p>{one}</p>\n" for one in text.strip().split("\n\n")])
    parser = parser_for(text)
    tokens = parser.parse(widen_fences(text), env)
    if [one for one in tokens if one.nesting == 1 and one.level >= _MAX_NESTING - 1]:
        return code_box("", escape(text))
    if SENTENCES in env:
        part_sentences(tokens, env[SENTENCES])
    for token in tokens if "<" in text else ():
        place_tags(token.children or (), is_open=OPEN_AT_LINE in env)
    html = _EMPTY.sub("", _cleaner().clean(parser.renderer.render(tokens, parser.options, env)))
    # A million objects that are freed in one go hold up all threads.
    while tokens:
        del tokens[-1_000:]
    return link_notes(html, env[NAME]) if NAME in env and "data-note" in html else html


def is_plain(text: str) -> bool:
    """Return True for paragraphs of words alone, which need no parser: a third of all blocks."""
    return _PLAIN.fullmatch(text) is not None and not _RIGHT_TO_LEFT.search(text)


def parser_for(text: str) -> MarkdownIt:
    """Return a parser with the rules that a text may need: some are slow on every text."""
    has_formulas = "$" in text or "\\" in text
    has_addresses = (":" in text or "//" in text) and _ADDRESS.search(text) is not None
    return _parser(has_formulas, has_addresses, "[^" in text)


@functools.cache
def _parser(formulas: bool, addresses: bool, footnotes: bool) -> MarkdownIt:
    options: dict[str, Any] = {"linkify": addresses, "strikethrough_single_tilde": False}
    options |= {"maxNesting": _MAX_NESTING}
    parser = _Parser("gfm-like2", options, renderer_cls=Renderer).disable("html_block")
    know_scripts(parser)
    for rule in (_prepare_blocks, keep_beyond, show_unused):
        parser.core.ruler.after("block", rule.__name__, rule)
    parser.block.ruler.before("table", "table_end", is_padding, {"alt": ["blockquote"]})
    if formulas:
        add_formulas(parser)
    if footnotes:
        add_footnotes(parser)
    return parser


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        """Leave any other link than http, https and mailto as the text it was written as."""
        return _SAFE_ADDRESS.match(url) is not None


def _prepare_blocks(state: StateCore) -> None:
    """Give blocks with right-to-left text their direction, and keep oversized paragraphs plain."""
    for before, token in pairwise(state.tokens):
        content = token.content
        has_tags = token.type == "inline" and "<" in content
        token.content = LAYOUT.sub(_unfold, content) if has_tags else content
        if before.type == "alert_title_open":
            token.content = ""  # it is written in the reader's language
    first = 0
    for end, token in enumerate(state.tokens if _RIGHT_TO_LEFT.search(state.src) else (), 1):
        if token.level == 0 and token.nesting != 1:
            block, first = state.tokens[first:end], end
            texts = [one.content for one in block if one.type == "inline"]
            direction = "ltr" if any(map(_RIGHT_TO_LEFT.search, texts)) else ""
            # Each element has the direction of its first letter.
            for one in reversed(block if direction else ()):
                letter = _LETTER.search(one.content) if one.type == "inline" else None
                if letter:
                    direction = "rtl" if _RIGHT_TO_LEFT.match(letter[0]) else "ltr"
                elif one.nesting == 1:
                    one.attrs["dir"] = direction
    for token in state.tokens:
        long = len(token.content) > _MAX_PARAGRAPH or token.content.count("[") > _MAX_BRACKETS
        if token.type == "inline" and long:
            token.type = "text"


def _unfold(found: re.Match[str]) -> str:
    """Return the name of a fold on a line of its own, without its tags."""
    return (found[1] or "") + "<br>" * bool(found[2])


def code_box(language: str, code: str) -> str:
    """Return the HTML of a code block around its text; a long one shows its number of lines."""
    lines = code.count("\n")
    length = f' data-lines="{lines}"' if lines > LONG_CODE else ""
    opening = f'<div class="code-block" data-language="{escape(language)}"{length}><pre><code>'
    return f"{opening}{code}</code></pre></div>\n"


class Renderer(RendererHTML):
    """Writes HTML for tokens that differ from plain CommonMark; methods are named after tokens."""

    def fence(self, tokens: Sequence[Token], idx: int, _: OptionsDict, env: Any) -> str:
        """A fenced code block, plain while it is being written."""
        token = tokens[idx]
        language = read_language(token.info)
        is_open = OPEN_AT_LINE in env and token.map and token.map[1] >= env[OPEN_AT_LINE]
        code = escape(token.content) if is_open else highlight_code(token.content, language)
        return code_box(language, code)

    def code_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """An indented code block."""
        return code_box("", escape(tokens[idx].content))

    def formula(self, tokens: Sequence[Token], idx: int, _: OptionsDict, env: Any) -> str:
        """A formula in a line; one that should have its own gets it."""
        mathml = _typeset(tokens[idx], env)
        if mathml is None:
            return escape(source(tokens[idx]))
        return f'<span class="formula">{mathml}</span>' if is_display(tokens[idx]) else mathml

    def formula_block(self, tokens: Sequence[Token], idx: int, _: OptionsDict, env: Any) -> str:
        """A formula on lines of its own."""
        mathml = _typeset(tokens[idx], env)
        if mathml is None:
            return f"<p>{escape(source(tokens[idx])).replace('\n', '<br>\n')}</p>\n"
        return f'<div class="formula">{mathml}</div>\n'

    def footnote_reference(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """The label of a note; the link to that is made later."""
        label = tokens[idx].content
        return f'<sup data-note="{label}">{label}</sup>'

    def alert_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """Open a note, its kind as a class."""
        tokens[idx].attrs["class"] = f"alert alert-{tokens[idx].info.lower()}"
        return self.renderToken(tokens, idx, *rest)

    def alert_title_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """Open a note's title: its kind in the reader's language."""
        # The note's text has a direction of its own.
        tokens[idx].attrs |= {"class": "alert-title", "dir": "auto"}
        title = escape(translate(_ALERTS[tokens[idx - 1].info]))
        return self.renderToken(tokens, idx, *rest) + title

    def table_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """A table, in the box that it scrolls in."""
        box = f'<div class="table-box"{self.renderAttrs(tokens[idx])}>'
        return box + self.renderToken(tokens, idx, *rest)

    def table_close(self, *_: Any) -> str:
        """The end of the table and of its box."""
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """A cell, its alignment a class, and that it holds prose another."""
        attributes = tokens[idx].attrs
        _, _, side = str(attributes.pop("style", "")).partition("text-align:")
        classes = [f"align-{side}"] if side else []
        short = _SHORT_HEADING if tokens[idx].tag == "th" else _SHORT_CELL
        if len(tokens[idx + 1].content) > short:
            classes.append("long")
        if classes:
            attributes["class"] = " ".join(classes)
        return self.renderToken(tokens, idx, *rest)

    td_open = th_open

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any
    ) -> str:
        """A list item; a task's box is a character, as there is nothing to click."""
        token = tokens[idx]
        if "checked" not in token.meta:
            return self.renderToken(tokens, idx, options, env)
        token.attrs["class"] = "task"
        return f"<li{self.renderAttrs(token)}>{'☑' if token.meta['checked'] else '☐'} "

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        """A link, with its host if its text does not name that."""
        end = next(i for i in range(idx, len(tokens)) if tokens[i].type == "link_close")
        text = self.renderInlineAsText(tokens[idx + 1 : end], options, env)
        tokens[idx].attrs |= describe_link(str(tokens[idx].attrs["href"]), text)
        return self.renderToken(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        """A link to the image, or its description alone inside another link."""
        token = tokens[idx]
        label = "Image: " + (self.renderInlineAsText(token.children, options, env) or "untitled")
        if sum(one.nesting for one in tokens[:idx] if one.tag == "a"):
            return escape(label)
        address = str(token.attrs["src"])
        link = Token("link_open", "a", 1, attrs={"href": address, **describe_link(address, label)})
        return f"<a{self.renderAttrs(link)}>{escape(label)}</a>"

    def renderInlineAsText(  # noqa: N802 - markdown-it's name
        self, tokens: Sequence[Token] | None, options: OptionsDict, env: Any
    ) -> str:
        """Text without its markup, but formulas, which are nothing without theirs."""
        plain = [
            Token("text", "", 0, content=source(one)) if one.type == "formula" else one
            for one in tokens or ()
        ]
        return super().renderInlineAsText(plain, options, env)


def describe_link(address: str, text: str) -> dict[str, str | int | float]:
    """Return the attributes that show the reader of ``text`` the link's real address."""
    place = _read_authority(address).rpartition("@")[2]
    if address.lower().startswith("mailto:"):
        # The receiver of the mail.
        place = unquote(address[7:].partition("?")[0])
    if place in {text, _read_authority(text)}:
        return {}
    host = _normalize(place.partition(":")[0])
    found = [(name, name.rpartition(".")[2].lower()) for name in _HOST.findall(text)]
    named = {_normalize(name) for name, ending in found if ending not in _FILES}
    misleads = any(not f".{host}".endswith(f".{name}") for name in named)
    return {"data-place": place, "class": "elsewhere"} if misleads else {"data-place": place}


def _read_authority(address: str) -> str:
    match = _AUTHORITY.match(address)
    return match[1].lower() if match else ""


def _normalize(host: str) -> str:
    with suppress(UnicodeError):
        host = host.encode("idna").decode()
    return host.lower().removeprefix("www.")


def _typeset(token: Token, env: Any) -> str | None:
    """Return the formula as MathML, None if it is not understood or there are too many."""
    left = env.get(_FORMULAS_LEFT, _MAX_FORMULAS) - len(token.content) - _FORMULA
    if left < 0:
        return None
    env[_FORMULAS_LEFT] = left
    mathml = to_mathml(token.content, display=is_display(token))
    return mathml and UNSAFE.sub("\ufffd", mathml)


@functools.cache
def _cleaner() -> nh3.Cleaner:
    """Return the allow-list that every piece of HTML passes, independent of the renderer."""
    blocks = {"blockquote", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "p", "pre"}
    tables = {"a", "span", "table", "tbody", "td", "th", "thead", "tr"}
    kinds = {f"alert-{kind.lower()}" for kind in _ALERTS}
    cells = {"long", "align-left", "align-center", "align-right"}
    return nh3.Cleaner(
        tags=blocks | tables | DRAWN | FORMULA_TAGS.keys(),
        attributes={
            "*": {"dir"},
            "a": {"href", "title", "data-place"},
            "div": {"data-language", "data-lines", "data-note"},
            "ol": {"start"},
            "span": {"data-marks", "data-sentence"},
            "sup": {"data-note"},
            **FORMULA_TAGS,
        },
        allowed_classes={
            "a": {"elsewhere"},
            "div": {"alert", "code-block", "footnote", "formula", "table-box"} | kinds,
            "li": {"task"},
            "mtd": {"ruled"},
            "p": {"alert-title"},
            "span": {"formula", "part"} | set(STANDARD_TYPES.values()) - {""},
            "td": cells,
            "th": cells,
        },
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
