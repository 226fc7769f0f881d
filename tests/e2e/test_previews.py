"""Code that draws something, drawn on the page; what it runs reaches nothing else."""

import contextlib
import socket
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, expect

from tests.e2e.accessibility import complaints
from tests.e2e.chat import Chat
from tests.e2e.conftest import OpenChat
from tests.e2e.server import Server
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

DRAWINGS = """
```mermaid
graph LR
  Night --> Copy
```

```svg
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300"><text y="20">A switch</text></svg>
```

```mermaid
graph LR
  Night --
```

```python
print()
```

> [!WARNING]
> The copy is **old**.
"""

HOSTILE = Path(__file__).with_name("hostile.html").read_text("utf-8")


def drawing(chat: Chat, number: int = 0) -> FrameLocator:
    """What stands in a preview."""
    return chat.log.locator("iframe").nth(number).content_frame


@pytest.mark.rare
def test_a_diagram_a_picture_and_a_page_are_drawn_and_notes_stand_out(
    open_chat: OpenChat, standin: Standin
) -> None:
    """Mermaid is loaded with its first diagram; a wrong one says what is wrong with it."""
    chat = open_chat()
    loaded: list[str] = []
    chat.page.on("request", lambda request: loaded.append(request.url))
    standin.then(Reply(DRAWINGS))
    chat.ask("Draw the switch.")
    expect(chat.button("Preview")).to_have_count(3)
    expect(chat.log.locator(".alert")).to_contain_text("The copy is old.")
    assert not [one for one in loaded if "mermaid" in one]
    chat.button("Preview").first.press("Enter")
    expect(drawing(chat).get_by_text("Night")).to_be_visible()
    assert [one for one in loaded if "mermaid" in one]
    chat.button("Preview").first.press("Enter")
    expect(drawing(chat, 1).get_by_text("A switch")).to_be_visible()
    chat.button("Preview").press("Enter")
    expect(drawing(chat, 2).get_by_text("Parse error")).to_be_visible()
    # By keys: a frame that takes its height moves the buttons away from the pointer.
    for number in range(3):
        expect(chat.log.locator("iframe").nth(number)).not_to_have_css("height", "128px")
    assert complaints(chat.page) == []
    chat.button("Show code").first.press("Enter")
    expect(chat.log.get_by_text("Night --> Copy")).to_be_visible()
    expect(chat.log.locator("iframe")).to_have_count(2)


def test_a_page_that_a_model_wrote_reaches_neither_the_chat_nor_the_network(
    browser: Browser, server: Server, open_chat: OpenChat, standin: Standin
) -> None:
    """Nor does it ask anybody for anything by leading its frame elsewhere."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(type=socket.SOCK_DGRAM) as datagrams,
        browser.new_context(base_url=server.url, storage_state=server.state) as context,
    ):
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        datagrams.bind(listener.getsockname())
        chat = open_chat(page=context.new_page())
        page = HOSTILE.replace("ADDRESS", f"http://{host}").replace("HOST", host)
        standin.then(Reply(f"```html\n{page}```"))
        chat.ask("Draw it.")
        chat.button("Preview").click()
        expect(drawing(chat).get_by_text("reached:")).to_have_text("reached: ")
        for one in (listener, datagrams):
            one.setblocking(False)
        for receive in (listener.accept, lambda: datagrams.recv(100)):
            with pytest.raises(BlockingIOError):
                receive()
        chat.page.frames[1].evaluate(f"location = 'http://{host}/left'")
        chat.ask("And now?")
        # Some browsers connect before they ask whether they may.
        with contextlib.suppress(BlockingIOError), listener.accept()[0] as line:
            line.setblocking(False)
            assert not line.recv(100)
