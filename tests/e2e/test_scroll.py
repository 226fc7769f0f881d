"""What is being read stays where it is, whatever opens, closes, comes or is being written."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from chatapp.live import outgoing_frames
from chatapp.live.streamed_text import StreamedReply
from chatapp.markdown import render_markdown
from chatapp.transcript.message_parts import Part, TextPart
from chatapp.transcript.thoughts import ThoughtPart
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
        "### At last\n\n" + PARAGRAPH * 40,
    ]
)

THOUGHT = "The **folds** are in the notes. " * 80 + "\n\n- one\n- two"
CODE = "```python\n" + "fold(paper)  # and keep its words\n" * 120 + "```"

# Notes after each change, and in each frame, where the marked words stand: in the window, or else
# in the transcript, which may be scrolled.
FOLLOW = """
    (inWindow) => {
        const transcript = document.getElementById("transcript");
        const isMark = (one) => one.textContent.endsWith("It ends here.");
        window.places = [];
        const look = () => {
            const mark = [...transcript.querySelectorAll("p")].find(isMark);
            const from = inWindow ? 0 : transcript.getBoundingClientRect().top;
            window.places.push(mark.getBoundingClientRect().top - from);
        };
        new MutationObserver(look).observe(transcript, { childList: true, subtree: true });
        const frame = () => { look(); requestAnimationFrame(frame); };
        frame();
    }
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


def pieces(text: str, count: int) -> list[str]:
    """Return the text in ``count`` pieces, of the same length but for one."""
    size = len(text) / count
    return [text[round(i * size) : round((i + 1) * size)] for i in range(count)]


@pytest.fixture
def chat(line: Line, addresses: dict[str, str]) -> tuple[Page, Line]:
    """The long conversation, with the test at the other end of its socket."""
    return line.hold(addresses["rows"]), line


def part(line: Line, reply: StreamedReply, text: str, count: int, *, thinks: bool = False) -> None:
    """Have a part of a reply written in so many pieces."""
    began = reply.begin(is_thought=thinks)
    line.show(outgoing_frames.article_upserted(began.id, began.render()))
    written = reply.parts[-1]
    for piece in pieces(text, count):
        written.feed(piece)
        line.show(written.news())
    if thinks:
        written.end(12.3)
        line.show(written.news(), outgoing_frames.article_upserted(written.id, written.render()))


def finish(page: Page, line: Line, seq: int, *parts: Part, **facts: object) -> None:
    """Have the row of what was written take its place."""
    line.show(outgoing_frames.article_removed(StreamedReply.id), message(*parts, seq=seq, **facts))
    page.locator(f"#message-{seq}").wait_for(state="attached")
    page.locator("#streaming, [data-finished]").wait_for(state="detached")
    # Two frames, so that the last one was painted.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def write(page: Page, line: Line, count: int) -> None:
    """Have the answer written in so many pieces, watched, and finished."""
    reply = StreamedReply()
    line.show(begin(page, reply))
    page.evaluate(WATCH)
    part(line, reply, ANSWER, count)
    reply.parts[-1].feed("\n\n")
    line.show(reply.parts[-1].news())
    place = page.evaluate("scroller.scrollTop")
    finish(page, line, 900, TextPart(html=render_markdown(ANSWER)))
    assert page.evaluate("scroller.scrollTop") == place
    assert page.evaluate("window.looks") > count


def top(one: Locator) -> float:
    """Return where an element's top edge is in the window, once the page is at rest."""
    return float(
        one.evaluate(
            """one => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
                done(one.getBoundingClientRect().top))))"""
        )
    )


def test_an_answer_is_written_without_a_jump(chat: tuple[Page, Line]) -> None:
    """Nothing that was written moves on the page, a heading first included; 300 pieces, 0 px."""
    page, line = chat
    write(page, line, 300)
    assert page.evaluate("window.jumps") == []
    assert page.evaluate("scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop") <= 1


def test_a_reader_stays_where_they_are_while_an_answer_is_written(
    chat: tuple[Page, Line],
) -> None:
    """Pieces arrive below; the page does not scroll by a pixel."""
    page, line = chat
    scroll(page, -400)
    expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    place = page.evaluate("scroller.scrollTop")
    write(page, line, 100)
    assert page.evaluate("window.jumps") == []
    assert page.evaluate("scroller.scrollTop") == place


@pytest.mark.parametrize("state", ["following", "reading", "back"])
def test_what_is_read_of_an_answer_stays_where_it_is(chat: tuple[Page, Line], state: str) -> None:
    """With thoughts, calls and long code, 1,000 pieces, and the row at the end: 0 px."""
    page, line = chat
    calls = [card("notes.md"), card("more.md")]
    for seq, call in enumerate(calls, 901):
        reply = StreamedReply()
        line.show(begin(page, reply))
        part(line, reply, THOUGHT, 100, thinks=True)
        part(line, reply, "I'll read it.\n\n", 2)
        said = (ThoughtPart(THOUGHT, 12.3), TextPart(html="<p>I'll read it.</p>"))
        finish(page, line, seq, *said, replace(call, state="running"))
        line.show(message(*said, call, seq=seq))
    reply = StreamedReply()
    line.show(begin(page, reply))
    part(line, reply, THOUGHT, 200, thinks=True)
    read, rest = PARAGRAPH * 3 + "It ends here.", PARAGRAPH * 60
    part(line, reply, read + "\n\n" + rest, 100)
    mark = page.locator("#transcript p").filter(has_text="It ends here.")
    if state != "following":
        mark.evaluate("one => scroller.scrollTop += one.getBoundingClientRect().top - 300")
        page.get_by_role("button", name="Jump to latest").wait_for()
    if state == "back":
        page.get_by_role("button", name="Jump to latest").click()
    page.evaluate(FOLLOW, state == "reading")
    text = "\n\n" + CODE + "\n\n" + rest
    for piece in pieces(text, 500):
        reply.parts[-1].feed(piece)
        line.show(reply.parts[-1].news())
    answer = TextPart(html=render_markdown(read + "\n\n" + rest + text))
    finish(page, line, 903, ThoughtPart(THOUGHT, 12.3), answer)
    places = page.evaluate("window.places")
    assert len(places) > 400
    assert max(places) == min(places)


def test_what_is_opened_at_the_end_stays_under_the_pointer(chat: tuple[Page, Line]) -> None:
    """Opening and closing, of a tool's card as well as of all of its output."""
    page, line = chat
    line.show(message(card("notes.md", 300)))
    summary = page.locator("#transcript summary").filter(has_text="read_file").last
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


def test_a_code_block_grows_in_place(line: Line, addresses: dict[str, str]) -> None:
    """What was there is not read anew: its Copy button keeps the focus; twice does no harm."""
    page, reply = line.hold(addresses["rows"]), StreamedReply()
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
