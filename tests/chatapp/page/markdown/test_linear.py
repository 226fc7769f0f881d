"""No text, however hostile, is rendered in more time than in proportion to its length."""

from collections.abc import Callable

import pytest

from chatapp.page.markdown import MarkdownStream, render_markdown
from tests.growth import LINEAR, assert_cheap, assert_linear
from tests.hostile import Hostile, hostile_texts

MARKUP = [
    "![", "[a][", "*a_ ", ">\n", "a@", "[a]: b\n", "[](http://a.b) ", "|\n--\n", "\\(a ",
    "\\[\n$$ a\nx\n", "</details> ", "`",
    "[^1]", "[^a]: ", "[^a]:\n", "[^a]: b\n    c\n\n",
]  # fmt: skip
STREAMED = [
    Hostile("x ", " " * 5_000), Hostile("- "), Hostile("a\n", "```c\n"), Hostile("[a]: b\n"),
    Hostile("| a | b |\n", "| a | b |\n|---|---|\n"), Hostile("$$\na\n"), Hostile("[[a]"),
]  # fmt: skip
SELDOM = [
    Hostile(" ", after="x and more"), Hostile("> "), Hostile("`"), Hostile("#"), Hostile("$x "),
    Hostile("a", "```c\n"), Hostile(" ", "```c\n"), Hostile("`", "```c\n"), Hostile("```\n"),
    Hostile("x"), Hostile("[a]"), Hostile("\n"), Hostile("a\n\n"), Hostile("漢"), Hostile("["),
    Hostile("- a **b**\n"), Hostile("- ```c\n"),
]  # fmt: skip


def stream(text: str) -> None:
    """Render the text as it would arrive, in pieces that the page would be sent."""
    markdown = MarkdownStream()
    for start in range(0, len(text), 100):
        markdown.feed(text[start : start + 100])
        if markdown.code is None:
            markdown.open_html()
    markdown.finish()


def assert_growth(read: Callable[[str], object], hostile: Hostile, size: int) -> None:
    """Fail unless eight times a text of a size costs at most ten times as much."""
    small, large = hostile.text(size), hostile.text(8 * size)
    assert_cheap(lambda: read(large), lambda: read(small), LINEAR, repr(hostile))


@pytest.mark.soak
@hostile_texts
def test_any_text_is_rendered_in_linear_time(hostile: Hostile) -> None:
    """Nobody can stop the server with a message."""
    assert_linear(render_markdown, hostile.text, "render_markdown")


@pytest.mark.parametrize("piece", MARKUP)
def test_any_markup_is_rendered_in_linear_time(piece: str) -> None:
    """Nor with what markdown gives a meaning."""
    assert_growth(render_markdown, Hostile(piece), 4_000)


@pytest.mark.parametrize("hostile", STREAMED, ids=lambda one: ascii(one.before[:6] + one.piece))
def test_any_text_is_streamed_in_linear_time(hostile: Hostile) -> None:
    """Nor with an answer."""
    assert_growth(stream, hostile, 2_000)


@pytest.mark.soak
@pytest.mark.parametrize(
    "hostile", [*STREAMED, *SELDOM], ids=lambda one: ascii(one.before[:6] + one.piece)
)
def test_a_very_long_text_is_streamed_in_linear_time(hostile: Hostile) -> None:
    """Up to the length that a model writes at most."""
    assert_linear(stream, hostile.text, "MarkdownStream")


def test_a_table_fills_in_no_more_cells_than_it_has_characters() -> None:
    """A kilobyte could become sixty thousand empty cells, and seconds."""
    for columns in (22, 256):
        text = "|" + "a|" * columns + "\n|" + "-|" * columns + "\n" + "|\n" * columns
        assert render_markdown(text).count("<td") < 2 * len(text)
