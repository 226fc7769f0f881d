"""What a person sees before the first word, and how they choose who answers."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.chat import Chat
from tests.e2e.conftest import OpenChat, OpenPage
from tests.e2e.server import Desk
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

SHIFTS = """
    window.shifts = [];
    const told = ({ node, previousRect: was, currentRect: is }) =>
        `${node?.outerHTML?.slice(0, 99) ?? node?.data}: ${was.x},${was.y} to ${is.x},${is.y}`;
    new PerformanceObserver((list) => {
        for (const one of list.getEntries())
            if (!one.hadRecentInput) window.shifts.push(one.sources.map(told).join(", "));
    }).observe({ type: "layout-shift", buffered: true });
"""
# How far what stands below a part moves when its first words come after a moment.
MOVED = """() => {
    const body = document.querySelector("#streaming > .message-body");
    const place = () => body.nextElementSibling.getBoundingClientRect().y;
    body.innerHTML = '<div class="prose"></div>';
    const before = place();
    body.firstChild.innerHTML = "<p>Words.</p>";
    const moved = place() - before;
    body.replaceChildren();
    return moved;
}"""
READS = re.compile(r"Claude is reading ≈ [\d,]+ tokens · \d+ s")
PATH = "/models/a-folder-with-a-long-name/SmolLM2-135M-Instruct.Q4_1.gguf"


def test_before_the_first_word_stands_who_reads_what(
    open_chat: OpenChat, own_page: Page, standin: Standin
) -> None:
    """After a tool's call again, in a second tab and after a reload; the answer moves nothing."""
    own_page.add_init_script(SHIFTS)
    chat, calls, words = open_chat(page=own_page), Gate(), Gate()
    tools = [ToolCall("list_files", {"path": "."})]
    standin.then(Reply(tools=tools, hold=calls), Reply("Nothing is there.", hold=words))
    chat.type("What is there?")
    line = own_page.locator(".awaited")
    expect(line).to_have_text(READS)
    expect(line).not_to_have_attribute("aria-live", "polite")
    calls.open()
    expect(chat.rows("Agent").first).to_contain_text("Listed")
    expect(line).to_have_text(READS)
    expect(Chat(own_page.context.new_page(), chat.url).page.locator(".awaited")).to_have_text(READS)
    own_page.reload()
    expect(line).to_have_text(READS)
    assert own_page.evaluate(MOVED) == 0
    place = line.bounding_box()
    words.open()
    chat.finished()
    expect(line).to_have_count(0)
    answer = chat.rows("Agent").get_by_text("Nothing is there.").bounding_box()
    assert place
    assert answer
    assert abs(place["y"] - answer["y"]) < 12
    assert own_page.evaluate("window.shifts") == []


def test_a_model_is_searched_chosen_and_asked_again(open_chat: OpenChat, standin: Standin) -> None:
    """By keys alone, on a desk and on a phone; Escape changes nothing."""
    chat = open_chat()
    page, opener = chat.page, chat.page.get_by_role("button", name="Answered by")
    standin.reply("By Claude.")
    chat.ask("Hello")
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        opener.press("Enter")
        box = page.get_by_role("combobox", name="Search models")
        expect(box).to_be_focused()
        options = page.get_by_role("option")
        expect(options.first).to_contain_text("Claude")
        expect(options.first).to_contain_text("200,000 tokens · $4.00 in, $20.00 out per million")
        expect(options.first).to_have_attribute("aria-selected", "true")
        box.press("ArrowDown")
        expect(options.first).to_have_attribute("aria-selected", "false")
        box.fill("nobody")
        expect(page.get_by_text("No model of this name.")).to_be_visible()
        box.press("Escape")
        expect(opener).to_be_focused()
        expect(opener).to_contain_text("Claude")
    reply = chat.rows("Agent").last
    reply.get_by_role("button", name="Actions").click()
    other = page.get_by_role("button", name="Answer again with …")
    other.click()
    box.press("Escape")
    expect(other).to_be_focused()
    other.press("Enter")
    box.fill("offl")
    box.press("Enter")
    expect(chat.rows("Agent").last).to_contain_text("offline stand-in")
    chat.finished()
    expect(opener).to_contain_text("Claude")
    opener.click()
    page.get_by_role("option", name="Offline").click()
    expect(opener).to_contain_text("Offline")


def test_an_address_takes_one_round_and_its_model_has_a_short_name(
    open_page: OpenPage, desk: Desk, standin: Standin
) -> None:
    """The button says what the next click uses; no card leaves a phone, whatever the path."""
    desk.remove_profile("Claude")
    standin.served["/v1/models"] = {"data": [{"id": PATH}, {"id": "tiny"}]}
    page = open_page(width=360)
    page.get_by_role("radio", name="Another address").check()
    page.get_by_label("Address", exact=True).fill(f"{standin.url}/v1")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_text("2 models")).to_be_visible()
    use = page.get_by_role("button", name="Use SmolLM2-135M-Instruct Q4_1")
    expect(use).to_be_visible()
    page.get_by_role("combobox", name="Model").select_option("tiny")
    expect(page.get_by_role("button", name="Use tiny")).to_be_visible()
    page.get_by_role("combobox", name="Model").select_option(PATH)
    use.click()
    expect(page.get_by_text("is connected and will answer from now on")).to_contain_text("Q4_1")
    page.goto("/profiles/")
    expect(page.get_by_role("heading", name="SmolLM2-135M-Instruct Q4_1")).to_be_visible()
    right = "[...document.querySelectorAll('main *')].map(one => one.getBoundingClientRect().right)"
    assert page.evaluate(f"Math.max(...{right})") <= 360
    desk.remove_profile("SmolLM2-135M-Instruct Q4_1")
