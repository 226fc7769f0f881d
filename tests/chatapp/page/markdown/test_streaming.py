"""Markdown while it is written: the same HTML in the end, in linear time, in whole words."""

import random
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatapp.page.markdown import NAME, MarkdownStream, render_markdown
from tests.chatapp.page.markdown.cuts import pieces

WORDS = st.sampled_from(
    [
        "the quick brown fox", "`code`", "**bold words**", "_em_", "https://a.example/x", "漢字",
        "a * b", "x_y_z", "1. no list", "# no heading", "<b>", "[x](https://a.example)", "~~s~~",
        "![i](https://a.example/i.png)", "&amp;", "\\*", "line\nbreak", "hard  \nbreak",
        r"\(a_1\)", "$x^2$", "$5", "$$y$$", r"\[z\]", r"\[", r"\]", "$$", r"\(", "\n$$\n", "\u05d0",
        "<u>", "</u>", "x<br>y", "<p align='center'>", "</p>", "<sub>2</sub>", "**「重」**で",
    ]
)  # fmt: skip
PARAGRAPH = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)


def indent(text: str, by: str) -> str:
    """Return the text with each line indented."""
    return "\n".join(by + line if line else line for line in text.split("\n"))


def list_of(items: list[str], marker: str, gap: str) -> str:
    """Return a list with the items, which may hold blocks themselves."""
    pad = " " * (len(marker) + 1)
    return gap.join(f"{marker} {indent(item, pad).lstrip()}" for item in items)


def fence(code: str, mark: str, language: str) -> str:
    """Return a fenced code block."""
    return f"{mark}{language}\n{code}\n{mark}"


CODE = st.lists(
    st.sampled_from(["def f(x):", "    return '<b>'", "", "# note", "- x", "``", "> q", "| a |"]),
    max_size=12,
).map("\n".join)
FENCE = st.builds(
    fence, CODE, st.sampled_from(["```", "~~~", "`````"]), st.sampled_from(["", "python", "nope"])
)
LEAF = st.one_of(
    PARAGRAPH,
    FENCE,
    st.builds("{} {}".format, st.sampled_from(["#", "###"]), PARAGRAPH),
    st.builds("{}\n{}".format, PARAGRAPH, st.sampled_from(["===", "---", "-"])),
    st.sampled_from(
        [
            "---", "***", "    indented\n\n    code", "| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 |",
            "| $a$ | b |\n|---|--:|\n| \\(x\\) | 2 | 3 |", "\\[\nx\n- y\n\\]", "$$\na\n- b",
            "$$\na\n===\n# b\n$$", "\\[\n```\nc\n```\n\\]", "\\[ a\n> b \\] c",
            "$$ \\frac{1}{2} $$", "$$\nx = 1\n\ny = 2\n$$", "$$\n\nno\n\n$$", "<details>",
            "\\begin{align}\na &= b\n\n- c\n\\end{align}", "```markdown\n```py\na\n```\nb\n```",
            "<p align='center'>\n<b>x</b>\n</p>", "<!-- x -->",
        ]
    ),
)  # fmt: skip
BLOCK = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.builds(
            list_of,
            st.lists(inner, min_size=1, max_size=4),
            st.sampled_from(["-", "*", "1.", "7)", "- [x]"]),
            st.sampled_from(["\n", "\n\n"]),
        ),
        inner.map(lambda text: indent(text, "> ")),
    ),
    max_leaves=6,
)
DOCUMENT = st.builds(
    lambda blocks, gaps: "".join(a + b for a, b in zip(blocks, gaps, strict=False)),
    st.lists(BLOCK, max_size=6),
    st.lists(st.sampled_from(["\n", "\n\n", "\n\n\n", "\r\n\r\n"]), min_size=6, max_size=6),
)


def stream(parts: list[str]) -> str:
    """Return everything that was closed."""
    markdown = MarkdownStream()
    for part in parts:
        markdown.feed(part)
    markdown.finish()
    return "".join(markdown.closed)


def fed(*texts: str) -> MarkdownStream:
    """Return a stream that got these texts, one by one, and was shown after each."""
    markdown = MarkdownStream()
    for text in texts:
        markdown.feed(text)
        markdown.open_html()
    return markdown


@given(DOCUMENT, st.lists(st.integers(0, 600), max_size=30))
@example("a\n***b\n\n***\n", [2, 3, 5, 6])
@example("- a\n- b\n\n  c\n- d\n\npara\n", [4, 9, 12])
@example("```py\nx\n```\nafter", [1, 2, 3, 8, 11, 12])
@example("a\r\nb\r\n\r\nc", [2, 5])
@example("para\n| a | b |\n|---|---|\n| 1 | 2 |\n", [5, 15])
@example("- a\n - b\n  - c\n   - d\n    - e\n", [4, 9, 15, 22])
@example("1. a\n2. b\n3) c\n4) d\n\n- x\n* y\n", list(range(32)))
@example("p\n\\[\nx\n- y\n\\]\nq", list(range(20)))
@example("- a\n\\[\nx\n- b\n\\]\n- c", list(range(24)))
def test_the_pieces_come_to_the_whole(text: str, cuts: list[int]) -> None:
    """However the text is cut, what was closed is the rendering of all of it."""
    assert stream(pieces(text, cuts)) == render_markdown(text)


@given(st.text(alphabet="ab \n\r\t`~#*_->|:[]()!1.=\\<&$\u202e", max_size=120), st.data())
def test_any_text_keeps_its_words(text: str, data: st.DataObject) -> None:
    """Even text that no writer would write loses nothing."""
    text = text.replace("]:", "] ")
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=20))
    assert stream(pieces(text, cuts)) == render_markdown(text)


def test_a_link_finds_a_definition_that_came_before() -> None:
    """Definitions are remembered when their block is closed."""
    text = "[a]: https://a.example\n\nOne.\n\nSee [a].\n\n- [a]\n- [a]\n- x\n"
    assert stream([text[i : i + 3] for i in range(0, len(text), 3)]) == render_markdown(text)


def test_a_footnote_is_one_before_its_note_has_come() -> None:
    """So nothing moves when it does."""
    text = "See[^1], [^2] or [^x].\n\n[^1]: A *note*\n\n    in parts.\n\nEnd.\n"
    known = text.replace("[^x]", "(x)")
    whole = render_markdown(known + "\n[^2]: x\n", {NAME: "streamed"})
    html = stream([known[i : i + 3] for i in range(0, len(known), 3)])
    assert whole.startswith(html)
    assert "[^x]" in stream([text])


def test_an_incomplete_definition_is_not_remembered() -> None:
    """The address may still grow."""
    text = "[a]: https://a.example/one two\n\n[a]: https://b.example\n\nSee [a].\n"
    assert "https://b.example" in stream(list(text))


def test_a_block_is_closed_once_the_next_begins() -> None:
    """What is closed never changes."""
    one, two = "<p>One.</p>\n", "<p>Two.\nstill two</p>\n"
    markdown = fed("One.\n\n")
    assert markdown.closed == []
    markdown.feed("Two.\n")
    assert markdown.closed == [one]
    markdown.feed("still two ")
    assert markdown.open_html() == two
    markdown.finish()
    assert markdown.closed == [one, two]


def test_a_code_block_is_closed_at_its_fence() -> None:
    """It is plain while it is written, word by word, and in colour at its end."""
    assert "<code>if x: </code>" in fed("```python\nif x: pas").open_html()
    markdown = fed("```python\nif x:\n    pas")
    assert markdown.open_html() == (
        '<div class="code-block" data-language="python"><pre><code>if x:\n</code></pre></div>\n'
    )
    markdown.feed("s\n```\n")
    assert '<span class="k">pass</span>' in markdown.closed[0]
    assert markdown.open_html() == ""


def test_the_open_part_shows_whole_words() -> None:
    """Chinese has no spaces to wait for, and nobody waits for the end of a base64 text."""
    markdown = MarkdownStream()
    shown = []
    for character in "Hello wor1d, you all. ":
        markdown.feed(character)
        shown.append(re.sub("<.*?>", "", markdown.open_html()).strip())
    assert set(shown) == {"", "Hello", "Hello wor1d,", "Hello wor1d, you", "Hello wor1d, you all."}
    assert fed("漢字 漢").open_html() == "<p>漢字 漢</p>\n"
    assert len(fed("x" * 5000).open_html()) > 4000


def test_a_line_that_may_become_anything_is_not_shown_yet() -> None:
    """Otherwise a paragraph would flash as a heading while a list begins below it."""
    for start in ("- ", "-- ", "# ", "1. ", "| ", "|--- ", "> - ", "** "):
        assert fed(f"Text.\n{start}").open_html() == "<p>Text.</p>\n"


def test_a_formula_is_shown_when_it_is_complete() -> None:
    """Until then, nothing of it: neither its marks nor what they would be without their end."""
    for formula in (
        r"\(a^2 + b\)", "$a^2 + b$", "\n\\[\na^2\n- b\n# c\n\\]\n", "\n$$\na^2\n> b\n$$\n",
        r"\[ a^2 + b \]", "$$ a^2 + b $$", "\n\n- $$\n  a^2\n  - b\n  $$\n",
    ):  # fmt: skip
        markdown = MarkdownStream()
        shown = ""
        for character in f"So it is {formula} as ":
            markdown.feed(character)
            shown = "".join(markdown.closed) + markdown.open_html()
            assert "<math" in shown or not re.search(r"[\\$\[(^]|<h1|<li>[^\n<]|<blockquote", shown)
        assert "<math" in shown


def test_a_formula_that_never_ends_is_text_again() -> None:
    """It may have been money after all, or a bracket; it hides until that is known."""
    for start in ("$$ is ", "\\[ is ", "\\( is ", "$x is "):
        assert "dear" in fed(f"Text.\n{start}", "too dear for ").open_html()
    assert fed("$$\na^2 + ").open_html() == ""
    assert "a^2" in fed("$$\na^2 + ", "b\n\nA new line ").open_html()
    assert "b" in fed("- \\(a_1\n\n  b ").open_html()


def test_a_list_grows_item_by_item() -> None:
    """What is shown of an open list is one list, with all its items."""
    shown = fed("3. one\n4. two\n   - inner\n", "5. three and ").open_html()
    assert shown.startswith('<ol start="3">\n<li>one</li>\n<li>two')
    assert shown.endswith("<li>three and</li>\n</ol>\n")
    assert shown.count("<ol") == 1


@settings(max_examples=8)
@given(DOCUMENT)
def test_what_is_shown_is_safe_at_every_moment(text: str) -> None:
    """The open part passes the same walls as the closed ones."""
    markdown = MarkdownStream()
    for piece in re.findall(r"(?s).{1,7}", text + "\n<script>x</script> [a](javascript:x) "):
        markdown.feed(piece)
        assert not re.search(r"<script|href=\"j|<img|<b>", markdown.open_html())


def test_a_long_paragraph_is_shown_less_often_than_it_grows() -> None:
    """A short one is shown after each piece; none is rendered anew with every word for ever."""
    for size, times in ((1_900, 95), (20_000, 150)):
        markdown, text, shown = MarkdownStream(), ("The quick brown fox. " * 1_000)[:size], set()
        for start in range(0, size, 20):
            markdown.feed(text[start : start + 20])
            shown.add(markdown.open_html())
        markdown.finish()
        assert markdown.closed == [render_markdown(text)]
        assert 0.8 * times <= len(shown) <= times


def test_random_splits_of_a_long_document_agree() -> None:
    """A document with hundreds of lines takes the paths that short ones do not."""
    sentence = " ".join(["the quick brown fox and `code` with **bold** text"] * 3)
    text = (
        f"- {sentence}\n" * 25
        + "\n```python\n" + "    return x + 1\n" * 250 + "```\n\n"
        + "| a | b |\n|---|---|\n" + "| x y | z and more |\n" * 200
        + f"\n## A\n\n{sentence}\n\n- {sentence}\n- b\n\n```py\nx = 1\n```\n\n> quote\n\n" * 9
    )  # fmt: skip
    rng = random.Random(1)  # noqa: S311 - a test's splits guard nothing
    cuts = [rng.randrange(len(text)) for _ in range(100)]
    assert stream(pieces(text, cuts)) == render_markdown(text)
