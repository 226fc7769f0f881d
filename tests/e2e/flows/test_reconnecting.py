"""A turn belongs to the server: pages come and go, and each shows the same."""

import re

from playwright.sync_api import Page, Route, WebSocket, WebSocketRoute, expect

from tests.e2e.flows.chat import Chat, freeze, texts
from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.words import PASSWORD, long, summary
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

STORY = "Once upon a time there was a **folded** sheet.\n\nThe end of it."
TOLD = "Once upon a time there was a folded sheet."


class Line:
    """The page's sockets; the line can be cut, and stays dead until it is mended."""

    def __init__(self, page: Page) -> None:
        """Stand between the page and the server."""
        self.dead = False
        self.sockets: list[WebSocketRoute] = []
        page.route_web_socket(re.compile("/ws/"), self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        if self.dead:
            socket.close(code=1001)
            return
        socket.connect_to_server()
        self.sockets.append(socket)

    def cut(self) -> None:
        """Close what is open, and refuse what is tried."""
        self.dead = True
        self.sockets.pop().close(code=1001)


def told_once(chat: Chat) -> None:
    """Expect the whole story, exactly once, in one finished reply."""
    expect(chat.rows("Agent")).to_have_count(1)
    expect(chat.rows("Agent")).to_contain_text("The end of it.")
    expect(chat.log.get_by_text(TOLD, exact=True)).to_have_count(1)
    expect(chat.log.locator("[aria-busy=true]")).to_have_count(0)


def test_a_lost_connection_is_said_and_the_answer_is_whole_afterwards(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """What was streamed meanwhile is there, once."""
    line, gate = Line(page), Gate()
    chat = open_chat()
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


def test_a_message_written_without_a_connection_is_sent_once_it_is_back(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """Until then the text stays in the composer, and the page says so."""
    line = Line(page)
    chat = open_chat()
    standin.reply(STORY)
    line.cut()
    expect(page.get_by_text("Offline. Reconnecting…")).to_be_visible()
    chat.type("Tell me a story.")
    expect(chat.status("Not sent yet.")).to_be_visible()
    expect(chat.box).to_have_value("Tell me a story.")
    line.dead = False
    chat.finished()
    expect(chat.box).to_have_value("")
    expect(chat.rows("You")).to_have_count(1)
    told_once(chat)


def test_what_was_asked_for_without_a_connection_is_said_not_to_be_done(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """At the composer, with what to do; the focus that was typed is kept, and works later."""
    line = Line(page)
    chat = open_chat()
    standin.then(Reply("Noted."), summary())
    chat.ask(long(PASSWORD))
    line.cut()
    chat.button("Keep especially…").click()
    focus = page.get_by_role("textbox", name="Keep especially")
    focus.fill("the password")
    chat.button("Condense, keeping this").click()
    said = page.get_by_text("The context was not condensed.")
    expect(said).to_contain_text("Try again once the connection is back.")
    expect(focus).to_have_value("the password")
    line.dead = False
    expect(said).to_contain_text("The connection is back.")
    chat.button("Condense, keeping this").click()
    expect(chat.rows("Context condensed")).to_contain_text("by you")
    expect(said).to_be_hidden()
    assert "the password" in texts(standin.requests[1].body)[-1]


def test_stop_and_cancel_say_that_they_did_not_reach_the_server(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """What runs goes on, and can be stopped once the connection is back."""
    line, gate = Line(page), Gate()
    chat = open_chat()
    standin.then(Reply("Noted."), summary(gate))
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    assert gate.wait_until_reached()
    expect(chat.button("Cancel")).to_be_visible()
    line.cut()
    chat.button("Cancel").click()
    expect(page.get_by_text("Condensing was not cancelled.")).to_be_visible()
    chat.stop.click()
    expect(page.get_by_text("The agent was not stopped.")).to_be_visible()
    line.dead = False
    expect(page.get_by_text(re.compile("^The connection is back."))).to_be_visible()
    chat.button("Cancel").click()
    expect(chat.rows("Condensation cancelled")).to_be_visible()


def test_a_message_is_sent_once_its_writer_has_signed_in_again(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """By itself, as the page has said, and once."""
    line, cookies = Line(page), page.context.cookies()
    chat = open_chat()
    standin.reply(STORY)
    line.cut()
    page.context.clear_cookies()
    expect(page.get_by_text("Offline. Reconnecting…")).to_be_visible()
    chat.type("Tell me a story.")
    expect(chat.status("It will be sent when the connection is back.")).to_be_visible()
    line.dead = False
    page.get_by_role("link", name="Sign in again").click()
    page.wait_for_url(re.compile("/sign-in/"))
    page.context.add_cookies(cookies)  # type: ignore[arg-type] # as they were read
    page.goto(chat.url)
    chat.finished()
    expect(chat.box).to_have_value("")
    expect(chat.rows("You")).to_have_count(1)
    told_once(chat)


def test_a_conversation_that_is_deleted_elsewhere_runs_no_more_on_this_page(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """It says so; what was shown stays, and so does what is typed."""
    line, gate = Line(page), Gate()
    chat = open_chat()
    standin.reply(STORY, gate=gate)
    chat.type("Tell me a story.")
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    expect(chat.stop).to_be_visible()
    line.sockets.pop().close(code=4403)
    expect(page.get_by_text("You can't see this conversation.")).to_be_visible()
    expect(chat.stop).to_be_hidden()
    expect(chat.log.locator("[aria-busy=true]")).to_have_count(0)
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    chat.type("Go on.")
    expect(chat.box).to_have_value("Go on.")
    gate.open()


def test_an_edit_made_without_a_connection_outlives_a_reload(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """It is sent, as an edit, once the connection is back."""
    line = Line(page)
    chat = open_chat()
    standin.reply("Hello.")
    chat.ask("My name is Ada.")
    line.cut()
    chat.box.press("ArrowUp")
    page.get_by_role("textbox", name="Your edit").fill("My name is Grace.")
    chat.button("Save").click()
    expect(chat.status("Not sent yet.")).to_be_visible()
    page.reload()
    standin.reply("Hello, Grace.")
    line.dead = False
    expect(chat.rows("Agent").last).to_contain_text("Hello, Grace.")
    expect(chat.rows("Version 1 of 2")).to_be_visible()
    expect(chat.box).to_have_value("")


def test_a_reload_in_mid_stream_shows_what_was_streamed_and_the_rest(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The turn went on without the page."""
    chat, gate = open_chat(), Gate()
    standin.reply(STORY, gate=gate)
    chat.type("Tell me a story.")
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    chat.page.reload()
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    expect(chat.stop).to_be_visible()
    gate.open()
    chat.finished()
    told_once(chat)


def test_a_reload_while_the_context_is_condensed_shows_the_band(
    open_chat: OpenChat, standin: Standin
) -> None:
    """With the seconds since it began, and a Cancel that works."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("Noted."), summary(gate))
    chat.ask(long(PASSWORD))
    chat.button("Condense context").click()
    assert gate.wait_until_reached()
    chat.page.reload()
    expect(chat.status("Condensing context…")).to_be_visible()
    expect(chat.button("Condense context")).to_be_disabled()
    chat.button("Cancel").click()
    expect(chat.rows("Condensation cancelled")).to_be_visible()
    expect(chat.button("Condense context")).to_be_enabled()


def test_a_second_tab_shows_the_same(open_chat: OpenChat, standin: Standin) -> None:
    """Also of a turn that began before it was opened; either tab can stop it."""
    one, gate = open_chat(), Gate()
    standin.reply(STORY, gate=gate)
    one.type("Tell me a story.")
    expect(one.rows("Agent")).to_contain_text("Once upon")
    two = Chat(one.page.context.new_page(), one.url)
    expect(two.rows("Agent")).to_contain_text("Once upon")
    gate.open()
    for chat in (one, two):
        chat.finished()
        told_once(chat)
    standin.reply("A second answer.")
    two.ask("And then?")
    expect(one.rows("You")).to_have_count(2)
    expect(one.rows("Agent").last).to_contain_text("A second answer.")


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
    chat.act(chat.rows("You"), "Rewind to here")
    page.route(re.compile("/transcript/"), answer)
    page.get_by_role("dialog").get_by_role("button", name="Rewind").click()
    said = page.get_by_text("The newest messages could not be loaded. Trying again…")
    expect(said.first).to_be_visible()
    expect(chat.button("Undo rewind")).to_be_visible()
    assert not failures


HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_page_that_nobody_sees_lets_go_of_its_line(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """What runs goes on, and is there, whole, when somebody looks again."""
    lines: list[WebSocket] = []
    page.on("websocket", lambda line: lines.append(line))  # noqa: PLW0108 - playwright marks what it calls
    page.clock.install()
    chat, gate = open_chat(), Gate()
    standin.reply(STORY, gate=gate)
    chat.type("Tell me a story.")
    expect(chat.rows("Agent")).to_contain_text("Once upon")
    page.evaluate(HIDE, True)
    page.clock.fast_forward(10_000)
    page.evaluate(HIDE, False)
    page.evaluate(HIDE, True)
    assert [line.is_closed() for line in lines] == [False]
    with lines[0].expect_event("close"):
        page.clock.fast_forward(31_000)
    gate.open()
    page.clock.fast_forward(60_000)
    assert len(lines) == 1
    page.evaluate(HIDE, False)
    told_once(chat)
    expect(chat.send).to_be_visible()


def test_a_line_that_died_without_a_word_is_noticed_within_fifteen_seconds(
    page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """The page asks for a sign of life, and gets itself another line."""
    lines: list[WebSocketRoute] = []

    def stand_between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        lines.append(socket)
        if len(lines) > 1:
            return
        # The first line takes what the page says, and nothing comes back after the snapshot.
        socket.on_message(lambda _text: None)
        server.on_message(socket.send)

    page.route_web_socket(re.compile("/ws/"), stand_between)
    freeze(page)
    chat = open_chat()
    for seconds in (8, 5, 1):
        assert len(lines) == 1
        page.clock.fast_forward(seconds * 1_000)
    page.clock.resume()
    standin.reply(STORY)
    chat.ask("Tell me a story.")
    assert len(lines) == 2
    told_once(chat)
