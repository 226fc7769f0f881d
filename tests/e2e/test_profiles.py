"""A profile's form in a real browser: choosing a server, trying it, picking a model."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import OpenPage
from tests.standin.server import Standin

pytestmark = pytest.mark.browser


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A server on this machine with two models."""
    with Standin() as server:
        models = [{"id": "small", "max_model_len": 8_192}, {"id": "large", "max_model_len": 32_768}]
        server.served["/v1/models"] = {"data": models}
        yield server


def test_a_server_is_chosen_tried_and_its_model_picked(
    open_page: OpenPage, standin: Standin
) -> None:
    """What it says of its models fills the form."""
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
