"""A line that drops, doubles, breaks and dies without a word: the page shows the truth.

The test stands between the page and the server, and puts the page's clock forward instead of
waiting for it.
"""

import random
import re
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.e2e.chat import Chat
from tests.e2e.conftest import OpenChat
from tests.standin.server import Standin

KINDS = ("drop", "double", "half-open", "cut", "drop sent", "double sent")
TELLING = [("half-open", 5), ("drop sent", 1), ("double sent", 1), ("drop", 1)]
A_CHAT = 10  # faults one after the other in one conversation
MOST = 200  # times that the page's clock is put forward
MOMENT = 400  # milliseconds until then


@dataclass
class BadLine:
    """The page's line, with one fault at the so-manyth message after ``break_at`` was called."""

    page: Page
    kind: str = ""
    left: int = 0
    dead: list[WebSocketRoute] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Stand between the page and the server."""
        self.page.route_web_socket(re.compile("/ws/"), self.connect)

    def break_at(self, kind: str, place: int) -> None:
        """Do something wrong at the so-manyth message from now on."""
        self.kind, self.left = kind, place

    def connect(self, socket: WebSocketRoute) -> None:
        """Pass on what both ends say, with the fault."""
        server = socket.connect_to_server()
        socket.on_message(lambda text: self.up(socket, server, str(text)))
        server.on_message(lambda text: self.down(socket, str(text)))

    def up(self, socket: WebSocketRoute, server: WebSocketRoute, text: str) -> None:
        """Pass on what the page says."""
        if socket in self.dead:
            return
        is_fault = self.kind.endswith(" sent") and '"message.send"' in text
        if not (is_fault and self.kind == "drop sent"):
            server.send(text)
        if is_fault and self.kind == "double sent":
            server.send(text)
        if is_fault:
            self.kind = ""

    def down(self, socket: WebSocketRoute, text: str) -> None:
        """Pass on what the server says."""
        if socket in self.dead:
            return
        self.left -= 1
        match self.kind if self.left == 0 else "":
            case "drop":
                return
            case "double":
                socket.send(text)
            case "half-open":
                self.dead.append(socket)
                return
            case "cut":
                socket.close(code=1001)
                return
        socket.send(text)


def settle(chat: Chat, line: BadLine, answers: int) -> None:
    """Put the page's clock forward until it has the last answer, and says that nothing runs."""
    for _ in range(MOST):
        with suppress(AssertionError):
            expect(chat.log.get_by_text("The end.", exact=True)).to_have_count(
                answers, timeout=MOMENT
            )
            expect(chat.log.locator("[aria-busy=true]")).to_have_count(0, timeout=MOMENT)
            expect(chat.send).to_be_visible(timeout=MOMENT)
            expect(chat.box).to_have_value("", timeout=MOMENT)
            return
        chat.page.clock.fast_forward(3_000)
    pytest.fail(f"the page does not have answer {answers}")


def story(number: int) -> str:
    """Return an answer of several blocks, unlike any other."""
    lines = "\n".join(f"- point {number}.{line}" for line in range(6))
    code = "\n".join(f"    print({number * 100 + line})" for line in range(12))
    return (
        f"## Story {number}\n\nIt began **here**.\n\n{lines}\n\n```python\n{code}\n```\n\nThe end."
    )


def shown(chat: Chat) -> list[str]:
    """Return the text of each question and of each answer on the page."""
    return chat.log.locator(".prose").all_text_contents()


def converse(
    page: Page, open_chat: OpenChat, standin: Standin, faults: list[tuple[str, int]]
) -> None:
    """Ask once for each fault; in the end the page has what one has that is loaded anew."""
    page.clock.install()
    line = BadLine(page)
    chat = open_chat(page=page)
    for number, (kind, place) in enumerate(faults, 1):
        standin.reply(story(number))
        line.break_at(kind, place)
        chat.type(f"Tell me story {number}.")
        settle(chat, line, number)
        line.break_at("", 0)
    assert len(standin.requests) == len(faults)
    for name in ("You", "Agent"):
        expect(chat.rows(name)).to_have_count(len(faults))
    seen = shown(chat)
    for number in range(1, len(faults) + 1):
        assert sum(f"point {number}.5" in text for text in seen) == 1
    chat.open()
    assert shown(chat) == seen


def test_a_page_shows_what_was_said_whatever_its_line_does(
    own_page: Page, open_chat: OpenChat, standin: Standin
) -> None:
    """At one of the first messages after a question."""
    converse(own_page, open_chat, standin, TELLING)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_a_page_shows_what_was_said_whatever_happens_at_random(
    own_page: Page, open_chat: OpenChat, standin: Standin, seed: int
) -> None:
    """Two hundred faults of any kind, anywhere in an answer."""
    chance = random.Random(seed)  # noqa: S311 - the same faults again
    faults = [(chance.choice(KINDS), chance.randint(1, 25)) for _ in range(A_CHAT)]
    converse(own_page, open_chat, standin, faults)
