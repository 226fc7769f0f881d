"""Formulas: what is one, how it is drawn, and that nothing else comes of it."""

import re

import pytest

from chatapp.page.markdown import render_markdown
from chatapp.page.markdown.mathml import to_mathml
from tests.growth import assert_cheap

TAGS = {
    "math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow",
    "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr",
    "munder", "munderover", "br", "div", "p", "span",
}  # fmt: skip
ATTRIBUTES = {
    "accent", "accentunder", "class", "columnalign", "display", "displaystyle", "fence", "form",
    "largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits",
    "notation", "rspace", "scriptlevel", "stretchy", "width",
}  # fmt: skip


def text_of(html: str) -> str:
    """Return what is read on the page."""
    plain = re.sub(r"<[^>]*>", "", html).strip()
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def test_a_formula_in_a_line_is_drawn_there() -> None:
    """It keeps what the backslashes of markdown would take from it."""
    for text in (r"\(a^2\)", "$a^2$"):
        html = render_markdown(f"So {text}, then.")
        assert (
            '<math display="inline"><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow></math>,' in html
        )
        assert text_of(html) == "So a2, then."


def test_a_formula_on_lines_of_its_own_is_displayed() -> None:
    """It stands in a box of its own, which scrolls where it is too wide."""
    for text in (r"\[a^2\]", "$$a^2$$", "\\[\na^2\n\\]", "$$\na^2\n$$"):
        html = render_markdown(f"So\n{text}\nthen.")
        assert html.startswith('<p>So</p>\n<div class="formula"><math display="block">')
        assert html.endswith("<p>then.</p>\n")


def test_a_display_inside_a_line_gets_its_own() -> None:
    """The sentence goes on below."""
    for text in (r"\[a^2\]", "$$a^2$$"):
        assert '<p>So <span class="formula"><math display="block">' in render_markdown(
            f"So {text} is."
        )


def test_money_and_shell_stay_text() -> None:
    """A dollar means a formula only where it can mean nothing else."""
    for text in (
        "From $5/mo to $10/mo, or $5, $6 and 7$.",
        "Either $5 (about US$) or nothing, in US$ too.",
        "Take ${HOME}/bin:${PATH} and $(pwd)/$(ls).",
        "A$AP and B$, $ a$ and $a $.",
        "Cheap is $$ and dear is $$$, or $$ or $$.",
        "Just a $ and a $$ and $",
    ):
        assert text_of(render_markdown(text)) == text


def test_escaped_brackets_stay_brackets() -> None:
    """That is what markdown says a backslash before one means."""
    for text, shown in (
        (r"A note \[citation needed\] here.", "A note [citation needed] here."),
        (r"See \[1\] and \(see below\).", "See [1] and (see below)."),
        (r"\[not a link\](https://a.example)", "[not a link](https://a.example)"),
        ("\\[Verse 1\\]\nLa la", "[Verse 1]\nLa la"),
        (r"\$x^2\$ and \\(a\\)", "$x^2$ and \\(a\\)"),
        (r"Never closed: \(a^2 and \[b", "Never closed: (a^2 and [b"),
    ):
        assert text_of(render_markdown(text)) == shown


def test_code_holds_no_formulas() -> None:
    """Code is shown as it is."""
    for code in (r"`\(a\) $b$`", "```\n\\[\na\n\\]\n$$b$$\n```", "    $$a$$"):
        assert "<math" not in render_markdown(code)


def test_what_is_not_understood_is_left_as_it_was_written() -> None:
    """Half a formula could say something else."""
    for formula in (
        r"\ce{A\bond{~}B}", r"\frac{a", r"a_b_c", r"\begin{foo} a & b \end{foo}", "{" * 200,
        r"\not\perp",
    ):  # fmt: skip
        for written in (
            rf"\({formula}\)",
            rf"\[{formula}\]",
            f"$${formula}$$",
            f"$$\n{formula}\n$$",
        ):
            html = render_markdown(written)
            assert "<math" not in html
            assert text_of(html) == written


def test_what_models_write_is_understood() -> None:
    """All of it, with no command left over."""
    for formula in (
        r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
        r"\begin{aligned} a &= b + c \\ &= d \end{aligned}",
        r"\begin{align} f(x) &= x^2 \label{eq:1} \\ g(x) &= 2x \nonumber \end{align}",
        r"a = b \\ c = d",
        r"f(x) = \begin{cases} x & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}",
        r"\operatorname*{arg\,max}_{x} f(x) + \arg\min_\theta L(\theta)",
        r"\left. \frac{df}{dx} \right|_{x=0} \qquad \mathbb{E}[X] \tag{1}",
        r"\begin{eqnarray} a &=& b \\ c &=& d \end{eqnarray}",
        r"\color{red}{x} % a comment",
        "a\n+ b\n- c",
    ):
        html = render_markdown(f"$$\n{formula}\n$$")
        assert html.startswith('<div class="formula"><math display="block">')
        assert not re.search(r"\\|&amp;", html)


def test_formulas_are_drawn_as_browsers_draw_them_today() -> None:
    """Limits move, names stand apart, letters have their style, signs are operators."""
    limit = to_mathml(r"\lim_{x \to 0} \sin x", display=True) or ""
    assert "<munder>" in limit
    assert 'movablelimits="true">lim</mo>' in limit
    assert '<mo lspace="0.167em" rspace="0.167em">sin</mo><mi>x</mi>' in limit
    assert "<mi>\N{MATHEMATICAL SCRIPT CAPITAL A}</mi><mi>\N{SCRIPT CAPITAL B}</mi>" in (
        to_mathml(r"\mathcal{AB}", display=False) or ""
    )
    assert '<mi mathvariant="normal">d</mi>' in (to_mathml(r"\mathrm{d}x", display=False) or "")
    assert "<mo>±</mo>" in (to_mathml(r"a \pm b", display=False) or "")
    assert 'class="ruled"' in (
        to_mathml(r"\begin{array}{c|c} a & b \end{array}", display=False) or ""
    )


def test_a_formula_brings_nothing_dangerous() -> None:
    """No link, style, script, colour or foreign element, and nothing is moved far."""
    for formula in (
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(https://evil.example)}{x}",
        r"\class{button}{x}",
        r"\text{<script>alert(1)</script>}",
        r"\text{&lt;script&gt;alert(1)&lt;/script&gt;}",
        r"\unicode{3c;script>alert(1)</script}",
        r"\colorbox{url(x)}{x} \fcolorbox{red}{blue}{x}",
        r"\rule{9999em}{9999em}",
        r"\raise{99em}{x} \lower{99em}{y} \moveleft{99em}{z}",
        r"\genfrac{(}{)}{9999em}{0}{a}{b}",
        r"\mathop{</mo><style>*{display:none}</style>}",
    ):
        html = render_markdown(f"$$ {formula} + 1 $$")
        tags = re.findall(r"<(/?)([a-z]+)((?:\s[^<>]*)?)>", html)
        assert html.count("<") == len(tags)
        assert {name for _, name, _ in tags} <= TAGS
        for _, _, attributes in tags:
            for name, value in re.findall(r'([\w-]+)="([^"]*)"', attributes):
                assert name in ATTRIBUTES
                assert re.fullmatch(r"[a-z ]*|-?\d{0,2}(\.\d+)?(em|px)?", value)


def test_a_character_that_deceives_is_shown_as_such() -> None:
    """An entity in a formula is no way around it."""
    assert "\u202e" not in render_markdown(r"$$ \text{a&#x202e;b} \unicode{202e} $$")


def test_a_formula_ends_with_the_block_it_stands_in() -> None:
    """It takes no lines of what comes after a list item or a quote."""
    html = render_markdown(
        "- \\[\n  a^2\n- b\n\\]\n\n> $$\n> b^2\n> $$\n\n1. $$\n   c^2\n   - d\n   $$\n"
    )
    assert html.count("<math") == 2
    assert "<li>[\na^2</li>" in html
    assert (
        '<div class="formula">' in html.partition("<blockquote>")[2].partition("</blockquote>")[0]
    )
    assert '<div class="formula">' in html.partition("<li>")[2].partition("<ol>")[2]


def hostile(pattern: str, size: int) -> str:
    """Return formulas made of the pattern, each as long as one may be."""
    formula = "$$" + (pattern * (3_900 // len(pattern) + 1))[:3_900]
    return "".join(f"{formula} {i}$$\n\n" for i in range(size // len(formula)))


PARTS = ["{", "x^", r"\text{a ", r"\operatorname{" + " *" * 1_900, r"\newcommand{\x}{\x\x}\x"]
TEXTS = ["$a " * 4_000, "\\[\n$$ a\nx\n" * 1_200]
SELDOM = [
    "{x}", r"\sqrt", r"\left(", r"\begin{a}", r"&\\", "'", "\\ ", r"\not", r"\operatorname{a*",
    r"\color{a}", r"\verb|", r"\def\a{\b\b}\def\b{\c\c}\def\c{\d\d}\a",
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *(hostile(pattern, 12_000) for pattern in PARTS),
        *TEXTS,
        *(pytest.param(hostile(pattern, 12_000), marks=pytest.mark.soak) for pattern in SELDOM),
    ],
    ids=lambda text: repr(text[:16]),
)
def test_hostile_formulas_take_bounded_time(text: str) -> None:
    """However many there are, however deep, and wherever they do not end."""
    ordinary = "A \\(x_1^2 + 3\\) and so on.\n\n" * 480
    assert_cheap(lambda: render_markdown(text), lambda: render_markdown(ordinary), 40, "a text")


def test_a_text_draws_formulas_up_to_a_size() -> None:
    """What comes after is left as it was written."""
    html = render_markdown("".join(f"\\(x_{{{i}}}\\)\n\n" for i in range(2_000)))
    assert 500 < html.count("<math") < 1_000
    assert r"\(x_{1999}\)" in html
