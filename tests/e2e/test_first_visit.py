"""From the first page to the first answer, with no key and nothing set up."""

from playwright.sync_api import WebSocket, expect

from tests.e2e.chat import figures
from tests.e2e.conftest import OpenPage


def test_a_first_visit_leads_to_an_answer(open_page: OpenPage) -> None:
    """Offline answers at once and says what it is; the conversation names itself."""
    visitor = open_page("/", own=True)
    expect(visitor.get_by_role("heading", name="Three things to try")).to_be_visible()
    frames: list[str | bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: frames.append(frame))  # noqa: PLW0108 - Playwright asks a listener for its code, which a built-in lacks

    visitor.on("websocket", listen)
    box = visitor.get_by_role("textbox", name="Message")
    box.fill("Write 600 words about folding paper.")
    box.press("Enter")
    log = visitor.get_by_role("log", name="Conversation")
    expect(visitor.get_by_role("status").filter(has_text="Done.")).to_be_visible()
    assert sum("text.streamed" in str(frame) for frame in frames) > 1
    expect(log.get_by_role("article", name="Agent")).to_contain_text("offline stand-in")
    sidebar = visitor.get_by_role("complementary", name="Sidebar")
    named = sidebar.get_by_role("link", name="Write 600 words about folding")
    expect(named.first).to_be_visible()
    heading = visitor.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Write 600 words about folding")


def test_a_first_visit_leads_to_a_condensation(open_page: OpenPage) -> None:
    """Without a key, and in less time than it takes to read about it."""
    visitor = open_page()
    visitor.get_by_role("button", name="See a condensation").click()
    log = visitor.get_by_role("log", name="Conversation")
    row = log.get_by_role("article", name="Context condensed").first
    expect(row).to_be_attached()
    assert figures(row)[1] < figures(row)[0]
    expect(visitor.get_by_role("status").filter(has_text="Done.")).to_be_visible()
    expect(row).to_have_count(1)
    expect(row).to_contain_text("hidden from the model, not gone")
    expect(log.get_by_role("article", name="Agent").last).to_be_in_viewport()
    row.get_by_text("Summary", exact=True).click()
    expect(row).to_contain_text("Primary Request and Intent")
    row.get_by_role("button", name="Undo condensation").click()
    expect(row).to_contain_text("Undone")
    expect(row).not_to_contain_text("hidden from the model, not gone")
