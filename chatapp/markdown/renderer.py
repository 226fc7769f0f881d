"""What differs from plain CommonMark output."""

from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from chatapp.markdown.code_colors import highlight_code, read_language
from chatapp.markdown.formulas import OPEN_AT_LINE, is_display, source
from chatapp.markdown.links import describe_link
from chatapp.markdown.mathml import to_mathml

# Key in the environment: what may still be spent on formulas, of this for a text.
_FORMULAS_LEFT = "formulas_left"
_MAX_FORMULAS = 50_000

# What a formula costs beside its characters.
_FORMULA = 50

# Characters: a cell with more is prose, whose lines may break; so may those of a longer heading.
_SHORT_CELL, _SHORT_HEADING = 32, 16

CLOSE_CODE_BLOCK = "</code></pre></div>\n"


def open_code_block(language: str) -> str:
    """Return the HTML that stands before a code block's text."""
    return f'<div class="code-block" data-language="{escape(language)}"><pre><code>'


class Renderer(RendererHTML):
    """Writes HTML; methods are named after tokens."""

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

    def formula(self, tokens: Sequence[Token], idx: int, _: OptionsDict, env: Any) -> str:
        """A formula in a line; one that should have its own gets it."""
        token = tokens[idx]
        mathml = _typeset(token, env)
        if mathml is None:
            return escape(source(token))
        return f'<span class="formula">{mathml}</span>' if is_display(token) else mathml

    def formula_block(self, tokens: Sequence[Token], idx: int, _: OptionsDict, env: Any) -> str:
        """A formula that stands for itself."""
        mathml = _typeset(tokens[idx], env)
        if mathml is None:
            return f"<p>{escape(source(tokens[idx])).replace('\n', '<br>\n')}</p>\n"
        return f'<div class="formula">{mathml}</div>\n'

    def table_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """A table, in the box that it scrolls in."""
        return '<div class="table-box">' + self.renderToken(tokens, idx, *rest)

    def table_close(self, *_: Any) -> str:
        """The end of the table and of its box."""
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """A head cell."""
        _class_cell(tokens, idx)
        return self.renderToken(tokens, idx, *rest)

    def td_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """A cell."""
        _class_cell(tokens, idx)
        return self.renderToken(tokens, idx, *rest)

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
        """A link, with its place where its text does not name it."""
        end = next(i for i in range(idx, len(tokens)) if tokens[i].type == "link_close")
        text = self.renderInlineAsText(tokens[idx + 1 : end], options, env)
        tokens[idx].attrs |= describe_link(str(tokens[idx].attrs["href"]), text)
        return self.renderToken(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        """A link to the image, or its description alone inside another link."""
        token = tokens[idx]
        label = "Image: " + (self.renderInlineAsText(token.children, options, env) or "untitled")
        depth = sum(one.nesting for one in tokens[:idx] if one.tag == "a")
        if depth:
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


def _typeset(token: Token, env: Any) -> str | None:
    """Return the formula as MathML, None where it is not understood or too much by now."""
    left = env.get(_FORMULAS_LEFT, _MAX_FORMULAS) - len(token.content) - _FORMULA
    if left < 0:
        return None
    env[_FORMULAS_LEFT] = left
    return to_mathml(token.content, display=is_display(token))


def _class_cell(tokens: Sequence[Token], idx: int) -> None:
    """Make a cell's alignment a class, and that it holds prose another."""
    attributes = tokens[idx].attrs
    _, _, side = str(attributes.pop("style", "")).partition("text-align:")
    classes = [f"align-{side}"] if side else []
    short = _SHORT_HEADING if tokens[idx].tag == "th" else _SHORT_CELL
    if len(tokens[idx + 1].content) > short:
        classes.append("long")
    if classes:
        attributes["class"] = " ".join(classes)
