"""What is being read stays where it is, whatever opens, closes, comes or is being written."""

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from chatapp.page.live import outgoing_frames
from chatapp.page.live.streamed_text import ShownReply
from chatapp.page.markdown import render_markdown
from chatapp.page.transcript.message_parts import Part, TextPart, ThoughtPart
from tests.e2e.chat import scroll
from tests.e2e.line import Line, begin, card, message

PARAGRAPH = "Every fold of the paper keeps a word of what was written before it. "
# Every kind of block, a heading first.
ANSWER = "\n\n".join(
    [
        "# What the folds keep",
        PARAGRAPH * 6,
        "## In short\n\n- one\n- two\n- three",
        "```python\n" + "fold(paper)\n" * 30 + "```",
        "| fold | words |\n|---|---|\n| first | 12 |\n| second | 9 |",
        "1. " + PARAGRAPH * 4 + "\n2. " + PARAGRAPH * 4,
        "> " + PARAGRAPH * 5,
        "```python\n" + "fold(paper)  # and keep its words\n" * 120 + "```",
        "### At last\n\n" + PARAGRAPH * 20 + "These folds end here.",
    ]
)

THOUGHT = "The **folds** are in the notes. " * 80 + "\n\n- one\n- two"

# How much of the page has moved by itself, as browsers measure it.
SHIFTS = """
    window.shifts = 0;
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) window.shifts += one.value;
    }).observe({ type: "layout-shift", buffered: true });
"""

# Notes after each change, and in each frame, where everything stands that stood there before.
WATCH = """
    () => {
        const scroller = document.getElementById("scroller");
        const transcript = document.getElementById("transcript");
        const seen = new Map();
        window.jumps = [];
        window.looks = 0;
        window.place = scroller.scrollTop;
        const look = () => {
            window.looks += 1;
            const top = transcript.getBoundingClientRect().top;
            const rows = [...transcript.querySelectorAll(":scope > .row")];
            const blocks = [...transcript.querySelectorAll(
                ":is(#streaming, [data-finished], #message-900) :is(h1, h2, h3, p, li, pre, tr)"
            )].filter((one) => !one.matches(".thinking"));
            for (const [index, one] of [...rows, ...blocks].entries()) {
                const name = rows.includes(one) ? index : `${index - rows.length} ${one.tagName}`;
                const now = one.getBoundingClientRect().top - top;
                const known = seen.get(name);
                if (known !== undefined && known !== now)
                    window.jumps.push([name, known, now]);
                seen.set(name, now);
            }
            if (scroller.scrollTop < window.place)
                window.jumps.push(["scrolled back", window.place, scroller.scrollTop]);
            window.place = scroller.scrollTop;
        };
        new MutationObserver(look).observe(transcript, {
            childList: true, characterData: true, subtree: true,
        });
        const frame = () => { look(); requestAnimationFrame(frame); };
        frame();
    }
"""

# Marks words of the answer, as a reader would.
MARK = """(words) => {
    const node = document.querySelector("#streaming .prose > p:last-child").firstChild;
    const start = node.data.indexOf(words);
    getSelection().setBaseAndExtent(node, start, node, start + words.length);
    return getSelection().toString();
}"""


def pieces(text: str, count: int) -> list[str]:
    """Return the text in ``count`` pieces, of the same length but for one."""
    size = len(text) / count
    return [text[round(i * size) : round((i + 1) * size)] for i in range(count)]


@pytest.fixture
def chat(line: Line, addresses: dict[str, str]) -> tuple[Page, Line]:
    """The long conversation, with the test at the other end of its socket."""
    return line.hold(addresses["rows"]), line


def part(line: Line, reply: ShownReply, text: str, count: int, *, thinks: bool = False) -> None:
    """Have a part of a reply written in so many pieces."""
    began = reply.begin(thought_since=time.time() if thinks else None)
    line.show(outgoing_frames.article_upserted(began.id, began.render()))
    written = reply.parts[-1]
    for piece in pieces(text, count):
        written.feed(piece)
        line.show(written.news())
    if thinks:
        written.end(12)
        line.show(written.news(), outgoing_frames.article_upserted(written.id, written.render()))


def finish(page: Page, line: Line, seq: int, *parts: Part, **facts: object) -> None:
    """Have the row of what was written take its place."""
    line.show(outgoing_frames.article_removed(ShownReply.id), message(*parts, seq=seq, **facts))
    page.locator(f"#message-{seq}").wait_for(state="attached")
    page.locator("#streaming, [data-finished]").wait_for(state="detached")
    # Two frames, so that the last one was painted.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def write(page: Page, line: Line, count: int, midway: Callable[[], object] = lambda: None) -> None:
    """Have an answer thought out and written in so many pieces, watched, and finished."""
    reply = ShownReply()
    line.show(begin(page, reply))
    page.evaluate(WATCH)
    part(line, reply, THOUGHT, count // 3, thinks=True)
    part(line, reply, ANSWER, count)
    page.get_by_text("These folds end").wait_for(state="attached")
    assert page.evaluate("window.jumps") == []
    midway()
    place = page.evaluate("window.jumps = [], window.place = scroller.scrollTop")
    for piece in pieces("\n\n" + ANSWER, count):
        reply.parts[-1].feed(piece)
        line.show(reply.parts[-1].news())
    reply.parts[-1].feed("\n\n")
    line.show(reply.parts[-1].news())
    answer = TextPart(html=render_markdown(f"{ANSWER}\n\n{ANSWER}"))
    finish(page, line, 900, ThoughtPart(THOUGHT, 12), answer)
    assert page.evaluate("window.jumps") == []
    assert page.evaluate("window.looks") > 2 * count
    is_following = page.locator("#jump").is_hidden()
    assert is_following == (page.evaluate("scroller.scrollTop") > place)


def top(one: Locator) -> float:
    """Return where an element's top edge is in the window, once the page is at rest."""
    return float(
        one.evaluate(
            """one => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
                done(one.getBoundingClientRect().top))))"""
        )
    )


@pytest.mark.parametrize(
    "state",
    [
        *("following", "reading"),
        *(pytest.param(state, marks=pytest.mark.rare) for state in ("above", "back")),
    ],
)
def test_an_answer_is_written_without_a_jump(chat: tuple[Page, Line], state: str) -> None:
    """Thoughts, calls and code included, in up to 1,000 pieces: nothing that is read moves, 0 px.

    Whoever follows sees the end; others stay where they are, also within what is being written.
    """
    page, line = chat
    for seq, call in enumerate([card("notes.md"), card("more.md")], 901):
        reply = ShownReply()
        line.show(begin(page, reply))
        part(line, reply, THOUGHT, 20, thinks=True)
        finish(page, line, seq, ThoughtPart(THOUGHT, 12), replace(call, state="running"))
        line.show(message(ThoughtPart(THOUGHT, 12), call, seq=seq))

    def midway() -> None:
        latest = page.get_by_role("button", name="Jump to latest")
        if state in {"reading", "back"}:
            scroll(page, -400)
            latest.wait_for()
        if state == "back":
            latest.click()

    if state == "above":
        scroll(page, -400)
    write(page, line, 420 if state == "reading" else 100, midway)
    if state in {"following", "back"}:
        assert (
            page.evaluate("scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop") <= 1
        )


def test_what_is_opened_at_the_end_stays_under_the_pointer(chat: tuple[Page, Line]) -> None:
    """Opening and closing, of a tool's card as well as of all of its output."""
    page, line = chat
    line.show(message(card("notes.md", 300)))
    summary = page.locator("#transcript summary").filter(has_text="notes.md").last
    summary.wait_for()
    place = top(summary)
    assert 0 < place < 800
    summary.click()
    assert top(summary) == place
    more = page.get_by_role("button", name="Show all").filter(visible=True)
    more.evaluate("one => one.scrollIntoView({ block: 'center' })")
    shown = top(more.locator("xpath=.."))
    more.click()
    assert top(page.locator(".tool-result:not(.is-cut)").last) == shown
    summary.evaluate("one => one.scrollIntoView({ block: 'center' })")
    place = top(summary)
    summary.click()
    assert top(summary) == place


def test_a_click_in_the_transcript_means_reading(chat: tuple[Page, Line]) -> None:
    """What arrives then is counted, and moves nothing; the button leads to it, and to writing."""
    page, line = chat
    last = page.locator("#transcript > .milestone-failure").last
    last.click(position={"x": 400, "y": 5})
    place = top(last)
    line.show(message(card("notes.md")), message(TextPart(html="<p>x</p>" * 90), seq=901))
    latest = page.get_by_role("button", name="2 new messages")
    latest.wait_for()
    assert top(last) == place
    latest.focus()
    page.keyboard.press("Enter")
    expect(latest).to_be_hidden()
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    assert page.evaluate("scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop") <= 1


def test_a_conversation_opens_without_a_shift(own_page: Page, addresses: dict[str, str]) -> None:
    """Folds, tools, pictures and long ones, on a screen and on a phone."""
    own_page.add_init_script(SHIFTS)
    for width, name in itertools.product((1440, 360), ("rows", "history", "rich", "attached")):
        own_page.set_viewport_size({"width": width, "height": 900})
        own_page.goto(addresses[name])
        own_page.get_by_role("textbox", name="Message").wait_for()
        top(own_page.locator("#composer"))
        assert own_page.evaluate("window.shifts") <= 0.02, (width, name)


def test_an_answer_grows_around_what_a_reader_holds(line: Line, addresses: dict[str, str]) -> None:
    """Code is not read anew; focus and selection outlast what is; news twice do no harm."""
    page, reply = line.hold(addresses["rows"]), ShownReply()
    reply.begin()
    streaming = reply.parts[0]
    code = page.locator("#streaming code")
    begun = "x = '🦉' # <b>\n" * 6_000  # more than a browser keeps in one node
    streaming.feed("Look:\n\n```python\n" + begun)
    line.show(begin(page, reply), streaming.snapshot(), streaming.news())
    expect(code).to_have_text(begun, use_inner_text=False)
    copy = page.locator("#streaming").get_by_role("button", name="Copy code")
    copy.focus()
    streaming.feed("y = '漢' & 2\nz = ")
    grown = streaming.news()
    assert grown["type"] == "code.streamed"
    line.show(grown, grown)
    expect(code).to_have_text(re.compile(r"y = '漢' & 2\s+z =\s*$"))
    assert code.text_content() == begun + "y = '漢' & 2\nz = "
    expect(copy).to_be_focused()
    streaming.feed("3\n```\n\nThat is all. ")
    # Older news that come after newer ones are left alone.
    line.show(streaming.snapshot(), grown, streaming.news())
    expect(page.locator("#streaming")).to_contain_text("That is all.")
    assert code.text_content() == begun + "y = '漢' & 2\nz = 3\n"
    expect(copy).to_be_focused()
    # What a reader marks stays marked while its paragraph grows, and when its row comes.
    assert page.evaluate(MARK, "That is") == "That is"
    # A word comes into the paragraph that is there: a new one takes a browser ten times as long.
    paragraph = page.query_selector("#streaming .prose > p:last-child")
    streaming.feed("And more of it. ")
    line.show(streaming.news())
    assert paragraph
    assert paragraph.evaluate("one => one.isConnected && one.textContent.length > 20")
    expect(page.locator("#streaming")).to_contain_text("And more of it.")
    assert page.evaluate("getSelection().toString()") == "That is"
    text = f"Look:\n\n```python\n{code.text_content()}```\n\nThat is all. And more of it."
    finish(page, line, 900, TextPart(html=render_markdown(text)))
    assert page.evaluate("getSelection().toString()") == "That is"
    expect(page.locator("#message-900").get_by_role("button", name="Copy code")).to_be_focused()
