"""Conversations are pinned, put in folders and archived from the sidebar and from their menu."""

from playwright.sync_api import expect

from tests.e2e.conftest import OpenChat
from tests.standin.server import Standin


def test_a_folder_is_made_renamed_and_removed_from_the_keyboard(
    open_chat: OpenChat, standin: Standin
) -> None:
    """The list follows at once, and the conversation that is open stays in sight."""
    chat = open_chat()
    chat.ask("Nobody else asks this.")
    page, dialog = chat.page, chat.page.get_by_role("dialog")
    row = page.locator(".conversation.is-current")
    row.get_by_role("button", name="Pin, archive or move").press("Enter")
    dialog.get_by_role("button", name="Pin", exact=True).press("Enter")
    expect(page.get_by_role("list", name="Pinned")).to_contain_text("Nobody else")
    row.get_by_role("button", name="Pin, archive or move").press("Enter")
    dialog.get_by_label("Or a new one").fill("Work of mine")
    dialog.get_by_role("button", name="Move").press("Enter")
    folder = page.locator("details.folder").filter(has_text="Work of mine")
    expect(folder).to_contain_text("Nobody else")
    folder.get_by_role("button", name="Rename or remove").press("Enter")
    dialog.get_by_label("Name").fill("Play")
    dialog.get_by_role("button", name="Rename").press("Enter")
    expect(folder).to_have_count(0)
    folder = page.locator("details.folder").filter(has_text="Play")
    expect(folder).to_contain_text("Nobody else")
    folder.get_by_role("button", name="Rename or remove").press("Enter")
    dialog.get_by_role("button", name="Remove folder").press("Enter")
    expect(folder).to_have_count(0)
    expect(row).to_have_count(1)
