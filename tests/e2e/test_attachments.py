"""Files go with a message: by picker, paste and drop, as chips until it is sent."""

import base64
from pathlib import Path

from playwright.sync_api import FilePayload, Locator, Route, expect

from tests.chatapp.pictures import make_png
from tests.e2e.chat import Chat, texts
from tests.e2e.conftest import OpenChat
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

CODE = 'print("Hello")\n'
FILE = f'<file name="a.py">\n{CODE}\n</file>'
PHOTO = FilePayload(name="photo.png", mimeType="image/png", buffer=make_png(640, 400))
SOURCE = FilePayload(name="a.py", mimeType="text/x-python", buffer=CODE.encode())

# Files and words are given to the page as a clipboard or a mouse gives them.
GIVE = """([kind, words, files]) => {
  const given = new DataTransfer();
  if (words) given.setData("text/plain", words);
  for (const [name, type, data] of files) {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    given.items.add(new File([bytes], name, { type }));
  }
  const box = document.querySelector("textarea[aria-label=Message]");
  const more = { bubbles: true, cancelable: true, clipboardData: given, dataTransfer: given };
  if (kind === "paste") box.dispatchEvent(new ClipboardEvent("paste", more));
  else document.body.dispatchEvent(new DragEvent(kind, more));
}"""  # fmt: skip


def give(chat: Chat, kind: str, *files: FilePayload, words: str = "") -> None:
    """Paste into the composer, or drag or drop over the page."""
    packed = [
        [one["name"], one["mimeType"], base64.b64encode(one["buffer"]).decode()] for one in files
    ]
    chat.page.evaluate(GIVE, [kind, words, packed])


def chips(chat: Chat) -> Locator:
    """What is attached to the next message, and there already."""
    listed = chat.page.get_by_role("list", name="Attachments").get_by_role("listitem")
    return listed.filter(has=chat.page.get_by_role("button"))


def pick(chat: Chat, *files: FilePayload) -> None:
    """Choose files with the button."""
    with chat.page.expect_file_chooser() as chooser:
        chat.button("Attach files").click()
    chooser.value.set_files(list(files))


def test_what_is_picked_goes_with_the_message(open_chat: OpenChat, standin: Standin) -> None:
    """Chips first, over a reload too; then a picture and a file that unfolds in the transcript."""
    chat = open_chat()
    standin.then(Reply("A picture and a program."), Reply("Still both."))
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    chat.page.route("**/attachments/new/", hold, times=1)
    pick(chat, PHOTO, SOURCE)
    expect(chat.page.get_by_text("Attaching photo.png…")).to_be_visible()
    # A page that is left would lose what is still on its way.
    with chat.page.expect_event("dialog") as asked:
        chat.page.evaluate("setTimeout(() => location.reload())")
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    late[0].continue_()
    expect(chips(chat)).to_have_count(2)
    expect(chips(chat).first).to_contain_text("photo.png")
    expect(chips(chat).first.locator("img")).to_have_js_property("naturalWidth", 640)
    chat.box.fill("Look")
    chat.page.reload()
    expect(chips(chat)).to_have_count(2)
    expect(chat.box).to_have_value("Look")
    chat.box.press("Enter")
    chat.finished()
    expect(chips(chat)).to_have_count(0)
    row = chat.rows("You")
    expect(row.get_by_role("img", name="photo.png")).to_be_visible()
    row.get_by_text("a.py").click()
    expect(row.get_by_text(CODE.strip())).to_be_visible()
    assert FILE in texts(standin.requests[0].body)[0]
    chat.act(row, "Edit")
    expect(row.get_by_role("img", name="photo.png")).to_be_visible()
    row.get_by_role("button", name="Remove photo.png").click()
    expect(row.get_by_role("img", name="photo.png")).to_have_count(0)
    row.get_by_role("button", name="Cancel").click()
    expect(row.get_by_role("img", name="photo.png")).to_be_visible()
    chat.act(row, "Edit")
    row.get_by_role("button", name="Remove a.py").click()
    row.get_by_role("textbox").fill("Look again")
    row.get_by_role("button", name="Send").click()
    chat.finished()
    expect(chat.rows("You").get_by_role("img", name="photo.png")).to_be_visible()
    (again,) = texts(standin.requests[1].body)
    assert "Look again" in again
    assert FILE not in again
    chat.page.reload()
    expect(chips(chat)).to_have_count(0)


def test_what_is_dropped_or_pasted_is_attached(open_chat: OpenChat, standin: Standin) -> None:
    """Anywhere on the page; a picture that comes with its words stays words.

    A long paste is a file that unfolds into the text where the caret is, and is no file any more.
    """
    chat, long = open_chat(), "A line of a log.\n" * 300
    standin.reply("Two.")
    hint = chat.page.get_by_text("Drop files to attach them")
    give(chat, "dragover", SOURCE)
    expect(hint).to_be_visible()
    give(chat, "drop", SOURCE)
    expect(hint).to_be_hidden()
    expect(chips(chat)).to_have_count(1)
    give(chat, "paste", PHOTO)
    expect(chips(chat)).to_have_count(2)
    give(chat, "paste", PHOTO, words="Cells of a table")
    give(chat, "paste", words="short")
    chat.box.fill("See: ")
    give(chat, "paste", words=long)
    expect(chips(chat).last).to_contain_text("Pasted text.txt")
    expect(chat.box).to_have_value("See: ")
    chat.button("Put Pasted text.txt into the text").click()
    expect(chips(chat)).to_have_count(2)
    expect(chat.box).to_have_value(f"See: {long}")
    expect(chat.box).to_be_focused()
    chat.box.press("Enter")
    chat.finished()
    row = chat.rows("You")
    expect(row.get_by_role("img", name="photo.png")).to_be_visible()
    expect(row.get_by_text("a.py")).to_be_visible()
    assert f"See: {long}" in texts(standin.requests[0].body)[0]


def test_what_is_removed_or_refused_is_not_sent(
    open_chat: OpenChat, standin: Standin, tmp_path: Path
) -> None:
    """From the keyboard, and the focus stays where one goes on; a refusal is a sentence.

    A folder is refused, too.
    """
    chat = open_chat()
    standin.reply("One.")
    pick(chat, PHOTO, SOURCE)
    expect(chat.button("Remove a.py")).to_be_visible()
    chat.button("Remove photo.png").press("Enter")
    expect(chips(chat)).to_have_count(1)
    expect(chat.button("Remove a.py")).to_be_focused()
    expect(chat.status("photo.png was removed.")).to_be_attached()
    chat.button("Remove a.py").press("Enter")
    expect(chat.box).to_be_focused()
    chat.page.reload()
    expect(chips(chat)).to_have_count(0)
    chat.box.fill("Nothing attached.")
    pick(chat, FilePayload(name="empty.txt", mimeType="text/plain", buffer=b""))
    expect(chat.page.get_by_text("“empty.txt” is empty.")).to_be_visible()
    drag = {"items": [], "files": [str(tmp_path)], "dragOperationsMask": 1}
    session = chat.page.context.new_cdp_session(chat.page)
    for step in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": step, "x": 600, "y": 400, "data": drag})
    expect(chat.page.get_by_text(f"“{tmp_path.name}” can't be read.")).to_be_visible()
    expect(chips(chat)).to_have_count(0)
    expect(chat.box).to_have_value("Nothing attached.")
    chat.box.press("Enter")
    chat.finished()
    assert texts(standin.requests[0].body) == ["Nothing attached."]


def test_a_page_of_a_proxy_is_no_reason(open_chat: OpenChat) -> None:
    """A proxy refuses what is large with a page of its own; words of ours are shown as they are."""
    chat, page = open_chat(), "<html>\r\n<head><title>413 Too Large</title></head></html>"
    bodies = iter([page, "This file is too large."])

    def refuse(route: Route) -> None:
        route.fulfill(status=413, content_type="text/html", body=next(bodies))

    chat.page.route("**/attachments/new/", refuse)
    for said in ("the server answered 413", "This file is too large."):
        pick(chat, SOURCE)
        expect(chat.page.get_by_text(said)).to_be_visible()
    expect(chat.page.get_by_text("<html>")).to_have_count(0)


def test_a_conversation_begins_with_a_file(open_chat: OpenChat, standin: Standin) -> None:
    """Attached on the first page, and without a word; a large picture is made smaller then."""
    chat = open_chat()
    standin.then(Reply("A program."), Reply("Large."))
    chat.page.goto("/")
    pick(chat, SOURCE)
    expect(chips(chat)).to_have_count(1)
    chat.box.press("Enter")
    chat.finished()
    expect(chips(chat)).to_have_count(0)
    expect(chat.rows("You")).to_contain_text("a.py")
    assert texts(standin.requests[0].body) == [FILE]
    pick(chat, FilePayload(name="big.png", mimeType="image/png", buffer=make_png(4_000, 1_000)))
    expect(chips(chat).locator("img")).to_have_js_property("naturalWidth", 1_999)
    chat.box.press("Enter")
    chat.finished()
    picture = chat.rows("You").get_by_role("img", name="big.png")
    expect(picture).to_have_js_property("naturalHeight", 500)


# A photo as cameras write it: its first segment says where it was taken.
PHOTOGRAPH = """() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 8;
  canvas.getContext("2d").fillRect(0, 0, 8, 8);
  return canvas.toDataURL("image/jpeg").split(",")[1];
}"""


def test_where_a_photo_was_taken_stays_with_who_took_it(open_chat: OpenChat) -> None:
    """Small ones too; a picture that tells nothing is sent as it is."""
    chat = open_chat()
    plain = base64.b64decode(chat.page.evaluate(PHOTOGRAPH))
    place = b"Exif\0\0MM\0*\0\0\0\x08 N 48.2082 E 16.3738"
    told = plain[:2] + b"\xff\xe1" + (len(place) + 2).to_bytes(2) + place + plain[2:]
    for photo in (told, plain):
        pick(chat, FilePayload(name="a.jpg", mimeType="image/jpeg", buffer=photo))
    expect(chips(chat)).to_have_count(2)
    shown = [one.get_attribute("src") or "" for one in chips(chat).locator("img").all()]
    kept = [chat.page.request.get(src).body() for src in shown]
    assert b"16.3738" not in kept[0]
    assert kept[0].startswith(b"\xff\xd8\xff")
    assert kept[1] == plain
