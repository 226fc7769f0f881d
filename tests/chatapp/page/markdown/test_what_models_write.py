# ruff: noqa: RUF001 - these are the marks that it is about
"""Shapes that models write and other renderers show as source, live and in the end."""

import re

import pytest

from chatapp.page.markdown import MarkdownStream, render_markdown

EMPHASIS = {
    "**结论：**可以发布。": "<strong>结论：</strong>可以",
    "这是**“重点”**内容": "<strong>“重点”</strong>内容",
    "**加粗（测试）**后续": "<strong>加粗（测试）</strong>后",
    "これは**「重要」**です": "は<strong>「重要」</strong>で",
    "**주의(필수)**를 확인": "<strong>주의(필수)</strong>를",
    "~~旧价格：~~新价格": "<s>旧价格：</s>新",
    "***「太」***です": "<em><strong>「太」</strong></em>で",
    "*（注）*中": "<em>（注）</em>中",
    "2.**《书》**说": "2.<strong>《书》</strong>说",
    "**`code`**吗": "<strong><code>code</code></strong>吗",
    "用**[链接](https://a.example)**吧": "</a></strong>吧",
    "**👍**好": "<strong>👍</strong>好",
    "**✅**ok": "<strong>✅</strong>ok",
    "**완료!**했습니다": "<strong>완료!</strong>했",
    "**คำ (test)**ต่อ": "<strong>คำ (test)</strong>ต่อ",
    "- **步骤一：**打开": "<strong>步骤一：</strong>打",
    "و**«مهم»** جدا": "و<strong>«مهم»</strong> ج",
    "2 * 3 * 4 と a*b": "2 * 3 * 4 と a*b",
    "**Note:**next": "**Note:**next",
    "snake_名_case": "snake_名_case",
}
ADDRESSES = {
    "见https://a.example/b。谢谢": "https://a.example/b",
    "（https://a.example/b）好": "https://a.example/b",
    "https://a.example/b，然后": "https://a.example/b",
    "「https://a.example/x」と": "https://a.example/x",
    "https://a.example/b？q：说": "https://a.example/b",
    "**https://a.example/b**。": "https://a.example/b",
    "访问https://a.example查看": "https://a.example",
    "https://a.example/b“x”": "https://a.example/b",
    "https://a.example/w/北京 x": "https://a.example/w/%E5%8C%97%E4%BA%AC",
    "https://a.example/a(b)、": "https://a.example/a(b)",
    "<https://a.example/b>。": "https://a.example/b",
}
TAGS = {
    "| a |\n|---|\n| x<br>y<BR/>z |": "<td>x<br>y<br>z</td>",
    "H<sub>2</sub>O, x<sup>2</sup>": "H<sub>2</sub>O, x<sup>2</sup>",
    '<kbd class="k">Ctrl</kbd>+<mark>m</mark>': "<kbd>Ctrl</kbd>+<mark>m</mark>",
    "<b>a</b> <i>b</i> <del>c</del> <ins>d</ins>": "<strong>a</strong> <em>b</em> <s>c</s> <u>d",
    "| a |\n|---|\n| <ul><li>x</li><li>y</li></ul> |": "<ul><li>x</li><li>y</li></ul>",
    "<ruby>漢<rt>かん</rt></ruby>": "<ruby>漢<rt>かん</rt></ruby>",
    "<details><summary>More</summary>\n\nhidden\n\n</details>\n": "<p>More</p>\n<p>hidden</p>\n",
    "<details open>\n<summary>**a** <b>b</b></summary>\nc": "a</strong> <strong>b</strong>\nc",
    "| a |\n|---|\n| <details><summary> s </summary>x</details> |": "<td>s<br>x</td>",
    "<details>\n<summary>\nMore\n</summary>\nx</details>\n\ny": "<p>More\nx</p>\n<p>y</p>",
    "<details><summary>a</summary><details><summary>b</summary>x</details></details>": (
        "a<br>b<br>x</p>"
    ),
    "<u>" * 21 + "x" + "</u>" * 21: "<u>&lt;u&gt;x</u>",
    "<p>a</p><p>b</p>": "<p>a<br>b</p>",
    "<dl><dt>a</dt><dd>b</dd></dl>": "<p><strong>a</strong><br>b</p>",
    "<div><div>a</div></div>\nb": "<p>a\nb</p>",
    "<table>\n<tr><td colspan=2>a</td></tr>\n</table>": "<tr><td>a</td></tr>\n</tbody></table>",
    "<a class=x href='https://a.example/?x=1&amp;y'>b</a>c": '="https://a.example/?x=1&amp;y" data',
    '<a href="https://a.example/b">https://b.example</a>': 'class="elsewhere"',
    '<a href="javascript:x()">b</a>': "&lt;a href=",
    "Write it between <summary> and </summary>.": "&lt;summary&gt; and &lt;/summary&gt;.",
    '<div align="center">\n\n# T\n\n</div>\n': "<h1>T</h1>\n",
    '<p align="center">\n<b>x</b>\n</p>': "<p>\n<strong>x</strong>\n</p>",
    '<span style="color:red">x</span> <font size=9>y</font>': "<p>x y</p>",
    '<img alt="x" src="https://a.example/x.png">': 'href="https://a.example/x.png"',
    "<!-- note -->\n\na <!-- b --> c": "<p>a  c</p>",
    "&lt;b&gt; `<b>x</b>`": "&lt;b&gt; <code>&lt;b&gt;x&lt;/b&gt;</code>",
    "Use <u> or <div> here": "Use &lt;u&gt; or &lt;div&gt; here",
    "<u>never\n\nclosed</u>": "<p>&lt;u&gt;never</p>\n<p>closed&lt;/u&gt;</p>",
    "<b><i>x</b></i>": "<strong>&lt;i&gt;x</strong>&lt;/i&gt;",
    "<u>**a</u>** b\n\nc": "<u><strong>a</strong></u> b</p>\n<p>c</p>",
    "1 < 2 <b and <think>": "1 &lt; 2 &lt;b and &lt;think&gt;",
}
FENCES = {
    "```markdown\n# T\n```python\na\n```\nmore\n```\nafter": "<p>after</p>",
    "```md\n```sh\na\n```\n```sh\nb\n```\n```\n\nafter": "<p>after</p>",
    "```md\n~~~py\n```\n~~~\n```\nafter": "<p>after</p>",
    "> ```md\n> ```py\n> a\n> ```\n> ```\n> after": "<p>after</p>",
    "``` Markdown\n```py\na\n```\n```\nafter": "<p>after</p>",
    "````markdown\n```py\na\n```\n````\nafter": "<p>after</p>",
    "```md\n# T\n```\n\n```python\na\n```\nafter": "<p>after</p>",
    "- x\n  ```markdown\n  ```py\n  a\n  ```\n  ```\n- y\n\nafter": "<p>after</p>",
    "use ```m``` x\n\n```py\na\n```\nafter": "<p>after</p>",
}
FORMULAS = [
    "\\begin{equation}\na=b\n\\end{equation}", "$$\nx = 1\n\ny = 2\n$$", "$\\ce{H2O}$",
    "\\begin{align*}\na &= b \\\\\n\nc &= d\n\\end{align*}", "\\[\nx = 1\n\n+ y\n\\]",
    "So\n\\begin{cases} a \\\\ b \\end{cases}\nthen", "\\begin{pmatrix}a & b\\end{pmatrix}.",
    "- \\begin{gather}\n  a\n  \\end{gather}", "$$\\ce{SO4^2- + Ba^2+ -> BaSO4 v}$$",
    "$\\ce{CH4 + 2O2 ->[热] CO2 + 2H2O}$", "$\\ce{[Fe(CN)6]^3-}$", "$\\pu{1.2e3 m s-1}$",
    "\\(\\|x\\|_2\\)", "\\(\\lambda\\|w\\|\\)", "设\\(x^2\\)，则$y_1$。",
    "公式$E=mc^2$成立", "$\\ce{CO2}$在水中；", "则$S_{阴影}=2$。", "値は$x$", "는$x$를",
    "\\begin{alignat}{2} a &= b \\end{alignat}",
]  # fmt: skip
NO_FORMULAS = [
    "sed: \\(foo\\|bar\\)", "\\(a\\|b\\|c\\)", "s/\\(.*\\)/\\1/", "\\([0-9]*\\) and \\([^a]\\)",
    "\\(\\w\\+\\)", "s/\\(a\\)\\(b\\)/\\2\\1/", "用$表示美元，用$表示加元",
    "从$5到$10，满$100减$20", "用$甲和乙$ x", "x $甲和乙$用", "a$x$, $x$y",
    "\\(one two\\|three\\)", "$5 and $10", "echo $HOME $PATH", "`\\begin{equation}`",
    "$$\n\nThis is text that goes on.\n\n$$", "\\begin{itemize}\n\\item a\n\\end{itemize}",
    "\\begin{align}\nnever closed", "```\n$$\na\n\nb\n$$\n```",
]  # fmt: skip


def streamed(text: str, size: int) -> str:
    """Return the HTML of a text that came in pieces, each of which was shown."""
    markdown = MarkdownStream()
    for start in range(0, len(text), size):
        markdown.feed(text[start : start + size])
        markdown.open_html()
    markdown.finish()
    return "".join(markdown.closed)


@pytest.mark.parametrize("shapes", [EMPHASIS, TAGS, FENCES], ids=["emphasis", "tags", "fences"])
def test_markup_is_drawn(shapes: dict[str, str]) -> None:
    """As the best renderers draw it; what may be meant as it stands is left."""
    wrong = {text: html for text in shapes if shapes[text] not in (html := render_markdown(text))}
    assert wrong == {}


def test_an_address_ends_where_the_sentence_goes_on() -> None:
    """A bare one has no mark of Chinese or Japanese behind it."""
    found = {text: re.findall('href="(.*?)"', render_markdown(text)) for text in ADDRESSES}
    assert found == {text: [address] for text, address in ADDRESSES.items()}


def test_formulas_are_told_from_patterns_and_prices() -> None:
    """Environments, chemistry and parted formulas are drawn; sed, grep and shells stay text."""
    assert [text for text in FORMULAS if "<math" not in render_markdown(text)] == []
    assert [text for text in FORMULAS if re.search(r"\\|&amp;", render_markdown(text))] == []
    assert [render_markdown(text).count("<mtr>") for text in FORMULAS[1:4]] == [2, 0, 2]
    assert [text for text in NO_FORMULAS if "<math" in render_markdown(text)] == []


def test_what_streams_is_the_same_in_the_end() -> None:
    """However it is cut, with text before and after."""
    for text in [*EMPHASIS, *ADDRESSES, *TAGS, *FENCES, *FORMULAS, *NO_FORMULAS]:
        for whole in (text, f"Before.\n\n{text}\n\nafter **all**.\n"):
            assert {streamed(whole, size) for size in (1, 7)} == {render_markdown(whole)}


def test_no_markup_shows_while_it_is_written() -> None:
    """A tag that is not closed yet is no text, nor is a formula that goes on below a line."""
    for text in ("Press <kbd>Ctrl and more ", "$$\nx = 1\n\ny = ", "\\begin{align}\na &= b\n\nc "):
        markdown = MarkdownStream()
        markdown.feed(text)
        assert not re.search(r"&lt;|\$|\\", markdown.open_html())
