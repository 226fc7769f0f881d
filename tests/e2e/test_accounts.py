"""People join, and protect their accounts."""

import re
import uuid
from collections.abc import Callable

import pytest
from allauth.mfa.totp.internal.auth import (
    format_hotp_value,
    hotp_value,
    yield_hotp_counters_from_time,
)
from playwright.sync_api import Page, expect

from tests.e2e.seeds import PASSWORD
from tests.e2e.server import Server
from tests.e2e.tabs import Tabs


@pytest.fixture
def enter(window: Tabs, server: Server, made: dict[str, dict[str, str]]) -> Callable[[str], Page]:
    """Return a tab of a member, who came in without a password."""

    def open_one(name: str) -> Page:
        guest, session = window.open(known=False), made["sessions"][name]
        guest.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        return guest

    return open_one


def test_a_second_user_comes_from_a_click_to_their_first_message(window: Tabs, page: Page) -> None:
    """Two clicks to join, and none of the operator's pages is theirs."""
    # Of this run alone: whoever came in one that failed is still there.
    name = f"carol{uuid.uuid4().hex[:6]}"
    page.goto("/users/")
    page.get_by_role("button", name="Invite").click()
    guest = window.open(known=False)
    guest.goto(page.get_by_role("textbox", name="Link").input_value())
    guest.get_by_role("button", name="Make an account").click()
    guest.get_by_label("Username").fill(name)
    guest.get_by_label("Password", exact=True).fill(PASSWORD)
    guest.get_by_label("Password (again)").fill(PASSWORD)
    guest.get_by_role("button", name="Sign Up").click()
    expect(guest.get_by_role("link", name="Users")).to_have_count(0)
    guest.get_by_role("textbox", name="Message").fill("Hello from Carol")
    guest.keyboard.press("Enter")
    expect(guest.get_by_text("Hello from Carol").first).to_be_visible()
    expect(guest).to_have_url(re.compile("/c/"))
    # The page follows its turn by now, to its end.
    expect(
        guest.get_by_role("article", name="Agent").get_by_text("This is what I see")
    ).to_be_visible()
    page.goto("/users/")
    row = page.get_by_role("row", name=name)
    expect(row).to_contain_text("member")
    row.get_by_role("button", name="Deactivate").click()
    expect(page.get_by_role("row", name=name)).to_contain_text("deactivated")
    # Their open page is told so.
    expect(guest.get_by_text("You are signed out.")).to_be_visible()


def test_a_passkey_signs_in_by_itself(enter: Callable[[str], Page], server: Server) -> None:
    """It is added in the account's pages, and opens the sign-in page without a password."""
    guest = enter("dave")
    # Browsers know keys of names, not of numbers.
    there = server.url.replace("127.0.0.1", "localhost") + "/"
    guest.goto(f"{there}sign-in/")
    guest.get_by_label("Login").fill("dave")
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Sign in", exact=True).click()
    expect(guest).to_have_url(there)
    keys = guest.context.new_cdp_session(guest)
    keys.send("WebAuthn.enable")
    holder = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True}
    verified = {"hasUserVerification": True, "isUserVerified": True}
    keys.send("WebAuthn.addVirtualAuthenticator", {"options": holder | verified})
    guest.goto(f"{there}account/2fa/webauthn/add/")
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Confirm").click()
    guest.get_by_label("Passwordless").check()
    guest.get_by_role("button", name="Add").click()
    expect(guest).not_to_have_url(re.compile("/add/"))
    guest.context.clear_cookies()
    guest.goto(f"{there}sign-in/")
    guest.get_by_role("button", name="Sign in with a passkey").click()
    expect(guest).to_have_url(there)


def sign_in(guest: Page, name: str) -> None:
    """Type a name and the password of all."""
    guest.goto("/sign-in/")
    guest.get_by_label("Login").fill(name)
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Sign in", exact=True).click()


def test_a_second_factor_is_asked_for_at_the_next_visit(enter: Callable[[str], Page]) -> None:
    """It is set up from the settings; without the phone, a recovery code opens the door, once."""
    guest = enter("frank")
    guest.goto("/settings/account/")
    guest.get_by_role("link", name="Second factor and passkeys").click()
    guest.get_by_role("link", name="Activate").click()
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Confirm").click()
    secret = guest.get_by_label("Authenticator secret").input_value()
    # What an app on a phone would show now.
    code = format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time()))))
    guest.get_by_label("Authenticator code").fill(code)
    guest.get_by_role("button", name="Activate").click()
    recovery = guest.get_by_label("Unused codes").input_value().split()
    assert len(recovery) == 10
    for tried, url in (("000000", "/2fa/"), (recovery[0], "/$"), (recovery[0], "/2fa/")):
        guest.context.clear_cookies()
        sign_in(guest, "frank")
        expect(guest).to_have_url(re.compile("/2fa/"))
        guest.get_by_label("Code").fill(tried)
        guest.get_by_role("button", name="Sign In").click()
        if url == "/2fa/":
            expect(guest.get_by_text("Incorrect code.")).to_be_visible()
        expect(guest).to_have_url(re.compile(url))


def delete(guest: Page) -> None:
    """Delete the account, as its user does from the settings."""
    guest.goto("/settings/account/")
    guest.get_by_role("link", name="Delete this account").click()
    guest.get_by_role("button", name="Delete my account").click()


def test_an_account_is_kept_or_deleted(enter: Callable[[str], Page], page: Page) -> None:
    """Each page offers to keep it; who runs the server sees what will be deleted."""
    guest, told = enter("erin"), "Your account will be deleted:"
    delete(guest)
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Confirm").click()
    expect(guest.get_by_text(told)).to_be_visible()
    guest.goto("/")
    guest.get_by_role("button", name="Keep this account").click()
    expect(guest.get_by_text("Your account stays.")).to_be_visible()
    expect(guest.get_by_text(told)).to_have_count(0)
    # The password was typed a moment ago.
    delete(guest)
    expect(guest.get_by_text(told)).to_be_visible()
    page.goto("/users/")
    expect(page.get_by_role("row", name="erin")).to_contain_text("will be deleted")
