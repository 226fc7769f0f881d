"""A turn belongs to the server: pages come and go, and each shows the same."""

import re
from contextlib import suppress
from functools import partial

from playwright.sync_api import Dialog, Page, Route, WebSocket, expect

from tests.e2e.chat import Chat, texts
from tests.e2e.conftest import OpenChat
from tests.e2e.line import Line
from tests.e2e.words import PASSWORD, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

STORY = "Once upon a time there was a **folded** sheet.\n\nThe end of it."
TRIES = 20
FULL = """() => {
  for (let size = 1 << 22; size; size >>= 1) {
    try {
      for (let at = 0; ; at += 1) sessionStorage.setItem(`${size}-${at}`, "x".repeat(size));
    } catch {}
  }
}"""
TOLD = "Once upon a time there was a folded sheet."


def told_once(chat: Chat) -> None:
    """Expect the whole story, exactly once, in one finished reply."""
    expect(chat.rows("Agent")).to_have_count(1)
    expect(chat.rows("Agent")).to_contain_text("The end of it.")
    expect(chat.log.get_by_text(TOLD, exact=True)).to_have_count(1)
    expect(chat.log.locator("[aria-busy=true]")).to_have_count(0)


def test_a_lost_connection_is_said_and_the_answer_is_whole_afterwards(
    line: Line, open_chat: OpenChat, standin: Standin
) -> None:
    """What was streamed meanwhile is there, once."""
    page, gate = line.page, Gate()
    chat = open_chat(page=page)
    standin.reply(STORY, gate=gate)
    chat.type("Tell me a story.")
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    expect(chat.status("Writing…")).to_be_visible()
    line.cut()
    expect(page.get_by_text("Offline. Reconnecting…")).to_be_visible()
    expect(chat.status("Writing…")).to_have_count(0)
    gate.open()
    line.dead = False
    chat.finished()
    expect(page.get_by_text("Offline. Reconnecting…")).to_be_hidden()
    told_once(chat)


def test_what_was_asked_for_without_a_connection_is_said_not_to_be_done(
    line: Line, open_chat: OpenChat, standin: Standin
) -> None:
    """At the composer, with what to do; the focus that was typed is kept, and works later."""
    page, gate = line.page, Gate()
    chat = open_chat(page=page)
    standin.then(Reply("Noted."), summary(gate))
    chat.ask(long(PASSWORD))
    line.cut()
    chat.button("What must be kept?").click()
    focus = page.get_by_role("textbox", name="What must be kept?")
    focus.fill("the password")
    keep = page.locator("#keep").get_by_role("button", name="Condense")
    keep.click()
    said = page.get_by_text("The context was not condensed.")
    expect(said).to_contain_text("Try again once the connection is back.")
    expect(focus).to_have_value("the password")
    line.mend()
    expect(said).to_contain_text("The connection is back.")
    keep.click()
    assert gate.wait_until_reached()
    expect(said).to_be_hidden()
    assert "the password" in texts(standin.requests[1].body)[-1]
    expect(chat.button("Cancel")).to_be_visible()
    line.cut()
    chat.button("Cancel").click()
    expect(page.get_by_text("Condensing was not cancelled.")).to_be_visible()
    chat.stop.click()
    expect(page.get_by_text("The agent was not stopped.")).to_be_visible()
    line.mend()
    expect(page.get_by_text(re.compile("^The connection is back."))).to_be_visible()
    chat.button("Cancel").click()
    expect(chat.rows("Condensation cancelled")).to_be_visible()


def test_a_message_written_without_a_connection_is_sent_once_its_writer_is_back(
    line: Line, open_chat: OpenChat, standin: Standin
) -> None:
    """By itself, as the page has said, and once; also by one who had to sign in again."""
    page, cookies = line.page, line.page.context.cookies()
    chat = open_chat(page=page)
    standin.then(Reply(STORY), Reply("And another one."))
    line.cut()
    expect(page.get_by_text("Offline. Reconnecting…")).to_be_visible()
    chat.type("Tell me a story.")
    expect(chat.status("Not sent yet.")).to_be_visible()
    expect(chat.box).to_have_value("Tell me a story.")
    line.mend()
    chat.finished()
    expect(chat.box).to_have_value("")
    told_once(chat)
    line.cut()
    expect(page.get_by_text("Offline. Reconnecting…")).to_be_visible()
    # By now the list was asked for anew, whose answer would lead to the sign-in.
    page.context.clear_cookies()
    chat.type("And now?")
    expect(chat.status("It will be sent when the connection is back.")).to_be_visible()
    line.mend()
    expect(chat.status("It will be sent once you are signed in again.")).to_be_visible()
    page.get_by_role("link", name="Sign in again").click()
    page.wait_for_url(re.compile("/sign-in/"))
    page.context.add_cookies(cookies)  # type: ignore[arg-type] # as they were read
    page.goto(chat.url)
    expect(chat.rows("Agent").last).to_contain_text("And another one.")
    chat.finished()
    expect(chat.box).to_have_value("")
    expect(chat.rows("You")).to_have_count(2)


def test_a_page_goes_on_once_its_reader_has_signed_in_elsewhere(
    line: Line, open_chat: OpenChat, standin: Standin
) -> None:
    """As soon as they look at it again; until then it says what a message waits for."""
    page = line.page
    chat = open_chat(page=page)
    standin.reply(STORY)
    line.cut(4401)
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    chat.type("Tell me a story.")
    expect(chat.status("It will be sent once you are signed in again.")).to_be_visible()
    line.mend()
    chat.finished()
    told_once(chat)
    expect(chat.box).to_have_value("")
    expect(page.get_by_role("link", name="Sign in again")).to_be_hidden()


def test_what_is_asked_for_without_a_session_is_refused_with_that_reason(
    page: Page, open_chat: OpenChat
) -> None:
    """Whoever asks: a file that is uploaded, and a search."""
    open_chat()
    page.context.clear_cookies()
    file = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"Hello."}
    page.locator("#picker").set_input_files(file)  # type: ignore[arg-type] # one file
    told = page.get_by_role("region", name="Notifications").get_by_text("You are signed out.")
    expect(told).to_be_visible()
    page.keyboard.press("Control+Shift+f")
    page.get_by_role("searchbox", name="Words").fill("hello")
    expect(told.nth(1)).to_be_visible()


def test_words_that_the_browser_cannot_keep_are_not_left_without_a_question(
    own_page: Page, open_chat: OpenChat
) -> None:
    """Where its storage is full; words that it keeps come back, and it asks nothing."""
    chat, asked = open_chat(page=own_page), list[str]()

    def note(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    own_page.on("dialog", note)
    chat.box.press_sequentially("Kept")
    own_page.reload()
    expect(chat.box).to_have_value("Kept")
    own_page.evaluate(FULL)
    chat.box.press_sequentially(" no more" * 3)
    assert not asked
    own_page.reload()
    assert asked == ["beforeunload"]


def test_a_conversation_that_is_deleted_elsewhere_runs_no_more_on_this_page(
    line: Line, open_chat: OpenChat, standin: Standin
) -> None:
    """It says so; what was shown stays, and so does what is typed."""
    page, gate = line.page, Gate()
    chat = open_chat(page=page)
    standin.reply(STORY, gate=gate)
    chat.type("Tell me a story.")
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    expect(chat.stop).to_be_visible()
    line.cut(4403)
    expect(page.get_by_text("This conversation was deleted, or you may not see it")).to_be_visible()
    expect(chat.stop).to_be_hidden()
    expect(chat.log.locator("[aria-busy=true]")).to_have_count(0)
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    chat.type("Go on.")
    expect(chat.box).to_have_value("Go on.")
    gate.open()


def test_an_edit_made_without_a_connection_outlives_a_reload(
    line: Line, open_chat: OpenChat, standin: Standin
) -> None:
    """It is sent, as an edit, once the connection is back."""
    page = line.page
    chat = open_chat(page=page)
    standin.reply("Hello.")
    chat.ask("My name is Ada.")
    line.cut()
    chat.box.press("ArrowUp")
    page.get_by_role("textbox", name="Your edit").fill("My name is Grace.")
    chat.rows("You").get_by_role("button", name="Send").click()
    expect(chat.status("Not sent yet.")).to_be_visible()
    page.reload()
    standin.reply("Hello, Grace.")
    line.mend()
    expect(chat.rows("Agent").last).to_contain_text("Hello, Grace.")
    expect(chat.rows("You").get_by_role("group", name="Versions")).to_contain_text("2/2")
    expect(chat.box).to_have_value("")


def test_rows_that_could_not_be_fetched_are_fetched_again(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """After a pause; the page says so, whether the server failed or was not reached."""
    failures = [Route.abort, lambda route: route.fulfill(status=503, body="Not now.")]

    def answer(route: Route) -> None:
        do = failures.pop() if failures else Route.continue_
        do(route)

    chat = open_chat()
    standin.reply(STORY)
    chat.ask("Tell me a story.")
    chat.act(chat.rows("You"), "Rewind to before this")
    page.route(re.compile("/transcript/"), answer)
    page.get_by_role("dialog").get_by_role("button", name="Rewind").click()
    said = page.get_by_text("The newest messages could not be loaded. Trying again…")
    expect(said.first).to_be_visible()
    expect(chat.button("Undo rewind")).to_be_visible()
    assert not failures


def test_a_page_whose_line_never_comes_says_what_may_be_the_reason(
    own_page: Page, addresses: dict[str, str]
) -> None:
    """The conversation is there to be read."""
    own_page.clock.install()
    own_page.route_web_socket("**/ws/**", lambda line: line.close(code=1001))
    own_page.goto(addresses["rich"])
    expect(own_page.get_by_text("Offline. Reconnecting…")).to_be_visible()
    said = own_page.get_by_text("A proxy or an extension may block WebSockets.")
    for _ in range(TRIES):
        with suppress(AssertionError):
            expect(said).to_be_visible(timeout=400)
            break
        own_page.clock.fast_forward(3_000)
    expect(said).to_be_visible()
    expect(own_page.get_by_role("log")).to_contain_text("Show me.")


def test_a_page_of_scripts_that_the_server_has_no_more_is_loaded_anew(
    own_page: Page, addresses: dict[str, str]
) -> None:
    """With its reader's next look at something, and what was typed into it."""
    page = own_page

    def as_it_was(route: Route) -> None:
        answer = route.fetch()
        older = re.sub('data-version="[^"]*"', 'data-version="older"', answer.text())
        route.fulfill(response=answer, body=older)

    page.route(f"**{addresses['rich']}", as_it_was, times=1)
    page.goto(addresses["rich"])
    html, box = page.locator("html"), page.get_by_role("textbox", name="Message")
    expect(html).to_have_attribute("data-version", "older")
    box.fill("Half a word")
    page.keyboard.press("Control+k")
    expect(html).not_to_have_attribute("data-version", "older")
    expect(box).to_have_value("Half a word")


HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_page_that_nobody_sees_lets_go_of_its_line(
    own_page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """What runs goes on, and is there, whole, when somebody looks again."""
    lines: list[WebSocket] = []
    own_page.on("websocket", lambda line: lines.append(line))  # noqa: PLW0108 - playwright marks what it calls
    own_page.clock.install()
    chat, gate = open_chat(page=own_page), Gate()
    standin.reply(STORY, gate=gate)
    chat.type("Tell me a story.")
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    own_page.evaluate(HIDE, True)
    own_page.clock.fast_forward(10_000)
    own_page.evaluate(HIDE, False)
    own_page.evaluate(HIDE, True)
    assert [line.is_closed() for line in lines] == [False]
    with lines[0].expect_event("close"):
        own_page.clock.fast_forward(31_000)
    gate.open()
    own_page.clock.fast_forward(60_000)
    assert len(lines) == 1
    own_page.evaluate(HIDE, False)
    told_once(chat)
    expect(chat.send).to_be_visible()


TOLD_BESIDE = """async () => {
  const [worker] = await navigator.serviceWorker.getRegistrations();
  const told = await worker.getNotifications();
  return told.map(({ title, body }) => [title, body]);
}"""


def test_a_turn_that_ends_while_nobody_looks_is_told_in_a_notification(
    own_page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """Where somebody wants that: not what another tab shows, and only until they look."""
    own_page.context.grant_permissions(["notifications"])
    own_page.goto("/settings/general/")
    own_page.get_by_role("checkbox", name="Notify me").check()
    own_page.wait_for_function("() => localStorage.notify === 'on'")
    chat, told = open_chat(page=own_page), partial(own_page.evaluate, TOLD_BESIDE)
    standin.then(Reply("One."), Reply("Two."))
    other = chat.second()
    chat.type("First.")
    own_page.evaluate(HIDE, True)
    chat.finished()
    other.finished()
    assert told() == []
    other.page.close()
    own_page.evaluate(HIDE, False)
    chat.type("Second.")
    own_page.evaluate(HIDE, True)
    chat.finished()
    own_page.wait_for_function(f"async () => (await ({TOLD_BESIDE})()).length === 1")
    assert told() == [["First.", "Done."]]
    own_page.evaluate(HIDE, False)
    own_page.wait_for_function(f"async () => (await ({TOLD_BESIDE})()).length === 0")
