"""When the provider fails: what a person is told, what is kept, and that it ends."""

import re
import socket

from playwright.sync_api import expect

from tests.e2e.flows.conftest import OpenChat
from tests.e2e.flows.serving import Desk
from tests.standin.behaviours import UNAUTHORIZED, Gate, Reply, rate_limited
from tests.standin.server import Standin

# Notes what the page says beside the answer, however short.
NOTE = """() => {
    window.said = [];
    const look = () => {
        const [notice, status] = ["notice", "status"].map((id) => document.getElementById(id));
        window.said.push(notice.innerText, status.innerText);
    };
    new MutationObserver(look).observe(document.body, {
        childList: true, characterData: true, subtree: true,
    });
}"""


def test_a_wrong_key_is_named_with_the_place_to_mend_it(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The message is kept, the details can be copied, and the next try works."""
    chat = open_chat()
    standin.then(UNAUTHORIZED, Reply("Welcome."))
    chat.type("Hello.")
    expect(chat.alert).to_contain_text("did not accept the API key. Check it in Profiles.")
    chat.finished("Failed.")
    expect(chat.rows("You")).to_contain_text("Hello.")
    chat.alert.get_by_text("Details").click()
    expect(chat.alert.get_by_text("HTTP status: 401")).to_be_visible()
    chat.ask("Hello again.")
    expect(chat.alert).to_have_count(0)
    expect(chat.rows("Agent")).to_contain_text("Welcome.")


def test_a_failure_is_still_told_after_a_reload(open_chat: OpenChat, standin: Standin) -> None:
    """Whoever comes back later learns why there is no answer."""
    chat = open_chat()
    standin.then(UNAUTHORIZED)
    chat.type("Hello.")
    expect(chat.alert).to_be_visible()
    chat.page.reload()
    expect(chat.alert).to_contain_text("did not accept the API key")


def test_a_rate_limit_is_counted_down_and_then_forgotten(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The notice goes as soon as the answer begins."""
    chat, gate = open_chat(), Gate()
    chat.page.evaluate(NOTE)
    standin.then(rate_limited(2), Reply("Better late than never.", gate=gate))
    chat.type("Hello.")
    expect(chat.rows("Agent")).to_contain_text("Better late")
    expect(chat.page.get_by_text("The provider's rate limit is reached.")).to_have_count(0)
    gate.open()
    chat.finished()
    said = "\n".join(chat.page.evaluate("window.said"))
    assert re.search(r"rate limit is reached\.\s+Trying again in [12] s\.", said)
    assert "Trying again: 2 of 5" in said


def test_a_countdown_goes_on_where_it_was_after_a_reload(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Whoever comes back waits for the rest, not for the whole time again."""
    chat = open_chat()
    standin.then(rate_limited(60))
    chat.type("Hello.")
    notice = chat.page.get_by_text("The provider's rate limit is reached.")
    later = re.compile(r"Trying again in (5[0-8]|[1-4]?\d) s\.")
    expect(notice).to_contain_text(later)
    chat.page.reload()
    expect(notice).to_contain_text(later)
    chat.stop.click()
    chat.finished("Stopped.")


def test_a_stream_that_breaks_off_leaves_what_it_said(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The text stays in the transcript and in the model's sight."""
    chat, read = open_chat(), Gate()
    broken = Reply("Half of the truth is not enough.", broken="cut", gate=read)
    standin.then(broken, Reply("And the rest."))
    chat.type("Tell me the truth.")
    expect(chat.rows("Agent")).to_contain_text("Half of the")
    read.open()
    expect(chat.alert).to_contain_text("The stream broke off")
    chat.finished("Failed.")
    expect(chat.rows("Agent")).to_contain_text("Half of the")
    expect(chat.rows("Agent")).to_contain_text("The answer broke off here.")
    expect(chat.log.locator("[aria-busy=true]")).to_have_count(0)
    chat.ask("Go on.")
    assert "Half of the" in str(standin.requests[-1].body["messages"][1])


def test_a_provider_that_is_down_is_tried_again_until_it_is_stopped(
    open_chat: OpenChat, desk: Desk
) -> None:
    """The notice names the host and what to check; Stop ends the waiting at once."""
    chat = open_chat()
    # Whoever has a port and does not listen leaves it to nobody else.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        desk.use_profile(address, window=200_000, max_output=400, threshold="")
        chat.type("Is anybody there?")
        notice = chat.page.get_by_text("could not be reached at 127.0.0.1")
        expect(notice).to_contain_text("Check the network, and the base URL in Profiles.")
        expect(chat.status("Trying again")).to_be_visible()
        chat.stop.click()
        chat.finished("Stopped.")
    expect(notice).to_have_count(0)


def test_stop_keeps_what_was_said_and_marks_the_place(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The next message goes on from there."""
    chat, gate = open_chat(), Gate()
    standin.then(Reply("One two three four five six.", gate=gate), Reply("Seven."))
    chat.type("Count.")
    expect(chat.rows("Agent")).to_contain_text("One two three")
    chat.stop.click()
    chat.finished("Stopped.")
    expect(chat.rows("Agent")).to_contain_text("One two three")
    expect(chat.rows("Agent")).to_contain_text("Stopped here.")
    chat.ask("Go on.")
    assert "One two three" in str(standin.requests[-1].body["messages"][1])
