"""GitHub-flavoured markdown without raw HTML and without images."""

import functools
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from chatapp.rendering.highlighting import highlight_code
from chatapp.rendering.sanitizing import is_safe_address, replace_unsafe_characters, sanitize

Environment = dict[str, Any]

# Key in the environment: code blocks that reach this line are still being written.
OPEN_AT_LINE = "open_at_line"

# Levels: the parser drops what lies deeper, so a text that deep is shown as it was written.
_MAX_NESTING = 60

# Characters: links and emphasis take quadratic time in brackets that never close.
_MAX_PARAGRAPH = 20_000

_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


def render_markdown(text: str) -> str:
    """Return safe HTML for a whole markdown text."""
    return render_piece(replace_unsafe_characters(text), {})


def render_piece(text: str, env: Environment) -> str:
    """Return safe HTML for whole blocks; ``env`` holds the link definitions met so far."""
    tokens = parser().parse(text, env)
    if any(token.nesting == 1 and token.level >= _MAX_NESTING - 1 for token in tokens):
        return open_code_block("") + escape(text) + CLOSE_CODE_BLOCK
    return render_tokens(tokens, env)


def render_tokens(tokens: Sequence[Token], env: Environment) -> str:
    """Return safe HTML for what the parser returned."""
    return sanitize(parser().renderer.render(tokens, parser().options, env))


def open_code_block(language: str) -> str:
    """Return the HTML that stands before a code block's text."""
    return f'<div class="code-block" data-language="{escape(language)}"><pre><code>'


CLOSE_CODE_BLOCK = "</code></pre></div>\n"


def read_language(info: str) -> str:
    """Return the language a fence names, in lower case, or an empty string."""
    match = _LANGUAGE.match(info.strip())
    return match.group().lower() if match else ""


@functools.cache
def parser() -> MarkdownIt:
    """The one parser; it keeps no state between texts."""
    options = {"html": False, "alerts": False, "strikethrough_single_tilde": False}
    parser = _Parser("gfm-like2", {**options, "maxNesting": _MAX_NESTING}, renderer_cls=_Renderer)
    if parser.linkify is not None:
        # Fuzzy links would turn names of files, such as main.py, into addresses in Paraguay.
        parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    parser.core.ruler.before("inline", "oversized", _keep_plain)
    return parser


def _keep_plain(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and len(token.content) > _MAX_PARAGRAPH:
            token.type = "text"


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        """Leave any other link as the text it was written as."""
        return is_safe_address(url)


class _Renderer(RendererHTML):
    """What differs from plain CommonMark output; methods are named after tokens."""

    def fence(self, tokens: Sequence[Token], idx: int, _: OptionsDict, env: Any) -> str:
        """A fenced code block, plain while it is being written."""
        token = tokens[idx]
        language = read_language(token.info)
        unfinished = token.map is not None and token.map[1] >= env.get(
            OPEN_AT_LINE, token.map[1] + 1
        )
        code = escape(token.content) if unfinished else highlight_code(token.content, language)
        return open_code_block(language) + code + CLOSE_CODE_BLOCK

    def code_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """An indented code block."""
        return open_code_block("") + escape(tokens[idx].content) + CLOSE_CODE_BLOCK

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        """A link to the image, or its description alone inside another link."""
        token = tokens[idx]
        label = "Image: " + (self.renderInlineAsText(token.children, options, env) or "untitled")
        depth = sum(one.nesting for one in tokens[:idx] if one.tag == "a")
        if depth:
            return escape(label)
        return f'<a href="{escape(str(token.attrs["src"]))}">{escape(label)}</a>'

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any
    ) -> str:
        """A list item; a task's box is a character, as there is nothing to click."""
        token = tokens[idx]
        if "checked" not in token.meta:
            return self.renderToken(tokens, idx, options, env)
        return f'<li class="task">{"☑" if token.meta["checked"] else "☐"} '

    def th_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """A head cell, its alignment a class."""
        return _render_cell(tokens[idx])

    def td_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """A cell, its alignment a class."""
        return _render_cell(tokens[idx])


def _render_cell(token: Token) -> str:
    _, _, side = str(token.attrs.get("style", "")).partition("text-align:")
    return f'<{token.tag} class="align-{side}">' if side else f"<{token.tag}>"
