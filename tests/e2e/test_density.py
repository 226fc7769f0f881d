"""A long turn takes little room: calls are one line, figures and a phone's actions a tap away."""

from decimal import Decimal

from playwright.sync_api import Page, expect

from chatapp.models import ModelCall
from chatapp.page.transcript.message_parts import TextPart
from chatapp.page.transcript.rows import TurnCost
from tests.e2e.line import LINE_OF_FILE, Line, card, message

COST = ModelCall(
    model="some-model",
    tokens_input=1_200,
    tokens_cache_read=800,
    tokens_output=340,
    cost=Decimal("0.004"),
    seconds=4.2,
    usage_measured=True,
)
TURN = TurnCost(7, 20_000, 3_400, Decimal("0.0281"))


def show_turn(line: Line, address: str, *, width: int = 1280) -> Page:
    """Show a turn of seven steps, of which one failed, below the long conversation."""
    page = line.hold(address, width)
    names = ("a.md", "b.md", "c.md", "gone.md", "d.md", "a.md")
    for seq, name in enumerate(names, start=900):
        state = "failed" if name == "gone.md" else "done"
        made = (TextPart(html="<p>First.</p>"),) if seq == 900 else ()
        line.show(message(*made, card(f"{seq}/{name}", 100, state=state), seq=seq, call=COST))
    answer = TextPart(html="<p>All read.</p>")
    line.show(message(answer, seq=906, call=COST, turn=TURN))
    page.locator("#message-906").wait_for()
    return page


def test_calls_in_a_row_are_one_line_that_opens(line: Line, addresses: dict[str, str]) -> None:
    """It says what was done and how much came back; the cards are below it, in their places.

    There is no blank row for actions: they are in the margin. Figures are a keypress away.
    """
    page = show_turn(line, addresses["rows"])
    kilo = round(len(LINE_OF_FILE) * 300 / 1_000, 1)
    folded = page.get_by_role("button", name=f"Read 3 files · {kilo:g} k characters", exact=True)
    expect(folded).to_have_attribute("aria-expanded", "false")
    cards = page.locator("#transcript .tool[id*='call-90']")
    expect(cards.filter(visible=True)).to_have_count(1)
    row = page.locator("#message-901")
    expect(row).to_be_hidden()
    folded.press("Enter")
    expect(folded).to_be_focused()
    expect(folded).to_have_attribute("aria-expanded", "true")
    expect(cards.filter(visible=True)).to_have_count(4)
    size = "one => one.getBoundingClientRect().height"
    assert row.evaluate(size) - row.locator(".tool").evaluate(size) <= 6
    row.get_by_role("button", name="Actions").press("Enter")
    expect(row.get_by_role("button", name="Rewind to before this")).to_be_visible()
    row.get_by_role("button", name="Cost and tokens: $0.004").click()
    expect(row.get_by_text("some-model")).to_be_visible()
    page.keyboard.press("Escape")
    folded.press("Enter")
    expect(row).to_be_hidden()
    answer = page.locator("#message-906")
    total = answer.get_by_role("button", name="Cost and tokens: 7 calls · $0.0281")
    expect(answer.get_by_text("20,000")).to_be_hidden()
    total.press("Enter")
    for figure in ("20,000", "3,400", "2,000", "4.2 s", "some-model"):
        expect(answer.get_by_text(figure, exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(answer.get_by_text("20,000")).to_be_hidden()
    expect(total).to_be_focused()


def test_a_call_that_failed_or_runs_stays_open(line: Line, addresses: dict[str, str]) -> None:
    """It stands between what is folded before it and after it."""
    page = show_turn(line, addresses["rows"])
    failed = page.locator("#message-903 details")
    expect(failed).to_have_attribute("open", "")
    expect(failed.get_by_text("failed")).to_be_visible()
    expect(page.locator(".calls-line").filter(visible=True)).to_have_count(2)
    line.show(message(card("906/e.md", state="running"), seq=907))
    expect(page.locator("#message-907 details")).to_have_attribute("open", "")
    line.show(message(card("906/e.md"), seq=907), message(card("908/f.md"), seq=908))
    expect(page.get_by_role("button", name="Read 2 files").last).to_be_visible()


def test_on_a_phone_a_messages_actions_are_behind_a_tap(
    line: Line, addresses: dict[str, str]
) -> None:
    """In a menu, which the chosen action closes."""
    page = show_turn(line, addresses["rows"], width=360)
    answer = page.locator("#message-906")
    rewind = answer.get_by_role("button", name="Rewind to before this")
    expect(answer.get_by_role("button", name="Copy")).to_be_hidden()
    answer.get_by_role("button", name="Actions").click()
    expect(answer.get_by_role("button", name="Copy")).to_be_visible()
    expect(rewind).to_be_in_viewport(ratio=1)
    page.route("**/rewind/preview/**", lambda route: route.fulfill(body="<p>Rewind?</p>"))
    rewind.click()
    expect(rewind).to_be_hidden()
    expect(page.get_by_role("dialog")).to_be_visible()
