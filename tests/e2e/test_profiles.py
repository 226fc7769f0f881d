"""A profile's form in a real browser: choosing a server, trying it, picking a model."""

import re

from playwright.sync_api import expect

from tests.e2e.conftest import OpenPage
from tests.e2e.server import Desk
from tests.standin.server import Standin


def test_a_server_is_chosen_tried_and_its_model_picked(
    open_page: OpenPage, standin: Standin
) -> None:
    """What it says of its models fills the form."""
    models = [{"id": "small", "max_model_len": 8_192}, {"id": "large", "max_model_len": 32_768}]
    standin.served["/v1/models"] = {"data": models}
    page = open_page("/profiles/new/")
    page.get_by_label("Provider", exact=True).select_option("openai")
    page.get_by_label("Server", exact=True).select_option("Ollama")
    address = page.get_by_label("Base URL")
    expect(address).to_have_value("http://localhost:11434/v1")
    expect(page.get_by_label("API key")).to_be_hidden()
    page.get_by_label("Server", exact=True).select_option("OpenRouter")
    expect(page.get_by_label("API key")).to_be_visible()
    page.get_by_label("Server", exact=True).select_option("Another address")
    address.fill(f"{standin.url}/v1")
    page.get_by_label("Model", exact=True).fill("small")
    page.get_by_role("button", name="Test connection").click()
    window = page.get_by_label("Context window")
    expect(window).to_have_value("8192")
    expect(page.locator("#connection")).to_contain_text("8,192 tokens, as the server says")
    page.get_by_label("Models at this address").select_option("large")
    expect(page.get_by_label("Model", exact=True)).to_have_value("large")
    expect(window).to_have_value("32768")


def test_a_profile_asks_only_for_what_its_provider_needs(open_page: OpenPage) -> None:
    """A stand-in has neither key nor address; a known model fills in its limits and prices."""
    page = open_page("/profiles/new/")
    provider, key = page.get_by_label("Provider"), page.get_by_label("API key")
    address, model = page.get_by_label("Base URL"), page.get_by_label("Model", exact=True)
    expect(key).to_be_visible()
    expect(address).to_have_attribute("placeholder", "https://api.anthropic.com")
    provider.select_option("Offline")
    expect(key).to_be_hidden()
    expect(address).to_be_hidden()
    model.fill("claude-haiku-5-5")
    expect(provider).to_have_value("anthropic")
    expect(address).to_be_visible()
    expect(page.get_by_text("Above 100,000 tokens of prompt")).to_be_visible()
    model.fill("claude-opus-5-5")
    expect(page.get_by_text("Above 100,000 tokens of prompt")).to_be_hidden()
    page.reload()
    model.fill("claude-opus-5")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Claude Opus 5")
    expect(page.get_by_label("Output", exact=True)).to_have_value("25")
    provider.select_option("openai")
    assert page.locator("#known-models option").evaluate_all(
        "all => all.map(one => one.value)"
    ) == ["gpt-6.1-sol", "gpt-6.2-sol"]
    model.fill("of-nobody")
    expect(page.get_by_label("Output", exact=True)).to_have_value("0")
    expect(page.get_by_label("Name", exact=True)).to_have_value("of-nobody")


def test_what_was_typed_outlasts_a_wrong_field_and_the_session(
    open_page: OpenPage, desk: Desk
) -> None:
    """A key stays sealed in the page, and is asked for again where somebody had to sign in."""
    page = open_page("/profiles/new/", own=True)
    cookies = page.context.cookies()

    def send_and_sign_in_again(button: str) -> None:
        page.context.clear_cookies(name="sessionid")
        page.get_by_role("button", name=button).click()
        expect(page).to_have_url(re.compile("/sign-in/"))
        page.context.add_cookies(cookies)  # type: ignore[arg-type] # as they were read
        page.reload()

    model, key = page.get_by_label("Model", exact=True), page.get_by_label("API key")
    price, save = page.get_by_label("Output", exact=True), page.get_by_role("button", name="Save")
    model.fill("claude-opus-5")
    key.fill("sk-typed")
    price.fill("-1")
    save.click()
    expect(page.get_by_text("What you typed is kept.")).to_be_visible()
    expect(key).to_have_value("")
    price.fill("26")
    send_and_sign_in_again("Save")
    expect(page.get_by_text("What you typed is back. Enter the key")).to_be_visible()
    expect(model).to_have_value("claude-opus-5")
    expect(price).to_have_value("26")
    save.click()
    expect(page.get_by_text("“Claude Opus 5” was saved.")).to_be_visible()
    desk.remove_profile("Claude Opus 5")
    # What a dialog asked for as well, which opens again.
    page.goto(desk.new_conversation())
    page.get_by_role("heading", level=1).dblclick()
    title = page.get_by_role("dialog").get_by_label("Title")
    title.fill("Folds")
    send_and_sign_in_again("Rename")
    expect(title).to_have_value("Folds")
    title.press("Enter")
    expect(page.get_by_role("heading", name="Folds")).to_be_visible()
