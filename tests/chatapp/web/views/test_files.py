"""Files are put into a workspace and taken out, and no archive leads anywhere else."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

import condense
from chatapp.conversations import conversations
from chatapp.conversations.files import folder_transfer as module
from chatapp.conversations.toolbox import toolbox
from chatapp.conversations.toolbox.toolbox import outputs_of
from chatapp.models import Conversation, message_store
from tests.chatapp.browsers import HTMX, browser_of

Put = Callable[..., HttpResponse]


@pytest.fixture
def folder(conversation: Conversation) -> Path:
    """The conversation's workspace."""
    return toolbox.workspace_of(conversation)


@pytest.fixture
def put(conversation: Conversation, browser: Client) -> Put:
    """Put files in, as the page does: names, contents and paths."""

    def send(*files: tuple[str, bytes], paths: list[str] | None = None) -> HttpResponse:
        sent = [SimpleUploadedFile(name, data) for name, data in files]
        address = f"/c/{conversation.pk}/files/"
        return browser.post(address, {"files": sent, "paths": paths or []}, follow=True)

    return send


def test_a_folder_of_as_many_files_as_is_promised_is_put_in(
    put: Put, folder: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each comes with its path; one more is refused, in words. Django by itself takes a hundred."""
    assert module.MAX_FILES == settings.DATA_UPLOAD_MAX_NUMBER_FILES == 5_000
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 150
    monkeypatch.setattr(module, "MAX_FILES", 150)
    names = [f"{number}.txt" for number in range(150)]
    answer = put(*((name, b"") for name in names), paths=[f"sub/{name}" for name in names])
    assert "150 files uploaded." in answer.text
    assert len([*(folder / "sub").iterdir()]) == 150
    answer = put(*((name, b"") for name in [*names, "more.txt"]))
    assert "This is too much at once: at most 150 files" in answer.text


def test_of_many_files_that_are_left_out_some_are_named(put: Put) -> None:
    """And the others counted."""
    names = [f"{number}.txt" for number in range(8)]
    answer = put(*((name, b"") for name in names), paths=[f"../{name}" for name in names])
    assert (answer.text.count("Not uploaded: "), "… and 3 more." in answer.text) == (5, True)


def test_an_upload_is_measured_before_it_is_read(
    conversation: Conversation, browser: Client
) -> None:
    """By the length that it comes with."""
    answer = browser.post(
        f"/c/{conversation.pk}/files/", b"", "multipart/form-data; boundary=x",
        headers={"Content-Length": str(2**40), "HX-Request": "true"},
    )  # fmt: skip
    assert (answer.status_code, answer.content[:16]) == (422, b"This is too much")


def test_files_are_taken_out_as_they_are(
    conversation: Conversation, browser: Client, folder: Path
) -> None:
    """One, or all; a browser keeps them, and shows none of them as a page of this site."""
    (folder / "page.html").write_text("<script>alert(1)</script>")
    one = browser.get(f"/c/{conversation.pk}/files/file/", {"path": "page.html"})
    assert one.content == b"<script>alert(1)</script>"
    assert one["Content-Disposition"] == 'attachment; filename="page.html"'
    assert one["Content-Type"] == "application/octet-stream"
    whole = browser.get(f"/c/{conversation.pk}/files/all/")
    with zipfile.ZipFile(io.BytesIO(whole.content)) as archive:
        assert archive.namelist() == ["page.html"]
    outside = browser.get(f"/c/{conversation.pk}/files/file/", {"path": "../../secret-key"},
                          headers=HTMX)  # fmt: skip
    assert outside.status_code == 422


def test_a_download_of_all_files_says_what_it_lacks(
    conversation: Conversation,
    browser: Client,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that can't be read has its reason in its place; more than are listed are refused."""
    base = f"/c/{conversation.pk}/files/"
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("a")
    with (folder / "film.mp4").open("wb") as film:
        film.truncate(250 << 20)
    with zipfile.ZipFile(io.BytesIO(browser.get(f"{base}all/").content)) as archive:
        assert archive.namelist() == ["film.mp4.left-out.txt", "src/a.py"]
        assert b"are not read" in archive.read("film.mp4.left-out.txt")
    hint = "Only the first files are listed."
    assert hint not in browser.get(base).text
    # A folder counts as well.
    monkeypatch.setattr(module, "MAX_LISTED", 2)
    assert hint in browser.get(base).text
    assert browser.get(f"{base}all/", headers=HTMX).status_code == 422
    monkeypatch.setattr(module, "MAX_LISTED", 3)
    assert hint not in browser.get(base).text


def test_what_the_server_shares_is_not_written_by_its_users(bob: User) -> None:
    """Not even in a conversation of their own."""
    shared = conversations.start_conversation(owner=bob, workspace=toolbox.SAMPLES)
    client = browser_of(bob)
    client.post(f"/c/{shared.pk}/files/", {"files": SimpleUploadedFile("b", b"b")})
    assert not (toolbox.workspace_of(shared) / "b").exists()


def test_the_whole_output_of_a_command_is_kept_for_people_too(
    conversation: Conversation, browser: Client
) -> None:
    """By its name, in this conversation only; no name leads elsewhere.

    A card leads there where the result has both ends only, and a command gave it.
    """
    outputs = outputs_of(conversation.pk)
    outputs.mkdir(parents=True)
    (outputs / f"{'a' * 16}.txt").write_bytes(b"all of it")
    address = f"/c/{conversation.pk}/outputs/{'a' * 16}/"
    assert browser.get(address).content == b"all of it"
    for name in ("b" * 16, "..", "%2e%2e%2fsecret-key"):
        other = browser.get(f"/c/{conversation.pk}/outputs/{name}/", headers=HTMX)
        assert other.status_code in {404, 422}
    text = f"[9 bytes are left out here. All 9 can be read with read_output, name {'a' * 16}.]"
    for name in ("run_command", "read_file"):
        call = condense.ToolUseBlock(name, name, {"command": "x"})
        result = condense.ToolResultBlock(name, text)
        for role, block in (("assistant", call), ("user", result)):
            message = condense.Message(role, (block,))
            message_store.append_message(conversation.pk, message, tokens=1)
    page = browser.get(f"/c/{conversation.pk}/").text
    assert page.count(address) == 1
