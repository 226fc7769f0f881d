"""What a model wrote, as it is read on a wide screen and on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage, Server
from tests.e2e.test_axe import complaints

pytestmark = pytest.mark.browser

PROSE = "Long documents, and questions where the first answer that comes to mind is the wrong one."
ANSWER = rf"""
| Model | Context | Price | Good for |
|:------|--------:|:-----:|----------|
| Claude Opus 4.1 | 1,200,000 | $15.00 / $75.00 | {PROSE} |

```python
answer = 42  # {"long " * 30}
```

\[ x = {" + ".join(f"a_{{{number}}}" for number in range(40))} \]

A line with \( {" + ".join(f"b_{{{number}}}" for number in range(40))} \) and [a link](https://a.example/x).

- פריט ראשון
"""

SEED = """
import condense
from chatapp import services
from chatapp.models import store
owner = services.prepare_owner()
conversation = services.start_conversation(owner=owner, title="Reading")
for role, text in [("user", "Show me."), ("assistant", {answer!r})]:
    message = condense.Message(role=role, content=(condense.TextBlock(text),))
    store.append_message(conversation.pk, message, tokens=120)
print(f"/c/{{conversation.pk}}/")
"""

# How many lines each word of the table takes.
WORDS = """
() => [...document.querySelectorAll(".table-box :is(th, td)")].flatMap((cell) => {
  const node = cell.firstChild;
  return [...node.data.matchAll(/\\S+/g)].map((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return [word[0], range.getClientRects().length];
  });
})
"""


@pytest.fixture(scope="module")
def reading(server: Server) -> str:
    """The address of a conversation with one rich answer."""
    return server.run(SEED.format(answer=ANSWER))


def is_scrollable(page: Page, selector: str) -> bool:
    """Whether the element scrolls sideways."""
    return bool(page.eval_on_selector(selector, "one => one.scrollWidth > one.clientWidth"))


@pytest.mark.parametrize("width", [1440, 360])
def test_words_and_numbers_of_a_table_stay_whole(
    open_page: OpenPage, reading: str, width: int
) -> None:
    """However narrow the screen is, and the page itself does not scroll sideways."""
    page = open_page(reading, width=width)
    box = page.get_by_role("group", name="Table: Model, Context, Price, Good for")
    expect(box).to_be_visible()
    words = dict(page.evaluate(WORDS))
    assert "1,200,000" in words
    assert set(words.values()) == {1}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert is_scrollable(page, ".table-box") == (width == 360)
    expect(box.get_by_role("cell", name="1,200,000")).to_have_css("text-align", "right")


def test_what_is_wide_scrolls_in_its_own_box_by_keyboard(open_page: OpenPage, reading: str) -> None:
    """Tables, code and formulas; a formula begins at its left end."""
    page = open_page(reading, width=360)
    for selector in (".table-box", ".code-block pre", ".formula"):
        page.locator(selector).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "selector => document.querySelector(selector).scrollLeft > 0", arg=selector
        )
    assert is_scrollable(page, "p math")
    start = page.locator(".formula mi").first.bounding_box()
    page.eval_on_selector(".formula", "one => one.scrollLeft = 0")
    start = page.locator(".formula mi").first.bounding_box()
    assert start
    assert start["x"] >= 0


def test_a_code_block_has_a_head_that_is_not_part_of_its_text(
    open_page: OpenPage, reading: str
) -> None:
    """It names the language and holds the button, above the code and not on it."""
    page = open_page(reading, width=360)
    block = page.locator(".code-block")
    button = block.get_by_role("button", name="Copy code")
    expect(button).to_be_visible()
    head = page.eval_on_selector(".code-block", "one => getComputedStyle(one, '::before').content")
    assert head == '"python"'
    above, code = button.bounding_box(), block.locator("code").bounding_box()
    assert above
    assert code
    assert above["y"] + above["height"] <= code["y"]
    selected = page.evaluate(
        "() => { getSelection().selectAllChildren(document.querySelector('.code-block'));"
        " return getSelection().toString(); }"
    )
    assert selected.strip().startswith("answer = 42")


def test_a_link_shows_where_it_leads(open_page: OpenPage, reading: str) -> None:
    """Also to those who cannot hover, and who listen."""
    page = open_page(reading)
    expect(page.get_by_role("link", name=re.compile(r"a link\s+a\.example"))).to_be_visible()


def test_reading_is_accessible(open_page: OpenPage, reading: str) -> None:
    """Also where everything scrolls."""
    assert complaints(open_page(reading, width=360)) == []
