"""What a server tells of its models, and of itself when it is tried."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

import condense
from chatapp.agent.errors import ProviderError
from chatapp.agent.events import ReplyCompleted, StreamEvent, TextStreamed
from chatapp.agent.ports import Model, ModelRequest
from chatapp.providers import create_provider, model_servers
from chatapp.providers.model_servers import ServerReport, probe
from chatapp.providers.openai.provider import OpenAIProvider
from chatapp.providers.resilient_provider import ResilientProvider
from chatapp.providers.specs import ListedModel, Preset, ProviderSpec
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.providers.requests import SECRET_KEY
from tests.standin.behaviours import PATIENCE, UNAUTHORIZED, Failure
from tests.standin.server import Standin

LISTS: list[tuple[dict[str, Any], ListedModel]] = [
    ({"id": "m"}, ListedModel("m")),
    ({"id": "models/m", "object": "model"}, ListedModel("m")),
    ({"id": "m", "max_model_len": 4096}, ListedModel("m", 4096)),
    (
        {"id": "m", "context_window": 131072, "max_completion_tokens": 8},
        ListedModel("m", 131072, 8),
    ),
    ({"id": "m", "max_context_length": 32768}, ListedModel("m", 32768)),
    ({"id": "m", "meta": {"n_ctx": 8192, "n_ctx_train": 32768}}, ListedModel("m", 8192)),
    (
        {
            "id": "m",
            "context_length": 200000,
            "top_provider": {"max_completion_tokens": 64000},
            "pricing": {"prompt": "0.000003", "completion": "0.000015"},
        },
        ListedModel("m", 200000, 64000, condense.Prices(*map(Decimal, (3, 15, 3, 3)))),
    ),
    ({"id": "m", "context_length": "many", "pricing": {"prompt": "-1"}}, ListedModel("m")),
    ({"id": "m", "pricing": {"prompt": "-1", "completion": "NaN"}}, ListedModel("m")),
    ({"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}, ListedModel("auto")),
    ({"id": "m", "pricing": "free", "context_length": True}, ListedModel("m")),
    (
        {"name": "models/m", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536},
        ListedModel("m", 1_048_576, 65_536),
    ),
    ({"id": "m", "metadata": {"context_length": 9, "max_tokens": 4}}, ListedModel("m", 9, 4)),
    ({"model": "m", "limits": {"max_input_tokens": 9}}, ListedModel("m", 9)),
]


async def test_a_list_of_models_tells_what_the_server_says(
    gpt: OpenAIProvider, standin: Standin
) -> None:
    """In the words of each server; what cannot be is left out."""
    for told, expected in LISTS:
        standin.served["/v1/models"] = {"data": [told, {"id": 7}, 7, {}]}
        assert await gpt.list_models() == (expected,)


WINDOWS: list[tuple[str, Any, int]] = [
    ("/props", {"default_generation_settings": {"n_ctx": 8192}}, 8192),
    (
        "/api/show",
        {"model_info": {"llama.context_length": 131072}, "parameters": "num_ctx    16384\nstop x"},
        16384,
    ),
    ("/api/show", {"model_info": {"llama.context_length": 131072}, "parameters": ""}, 4096),
    ("/api/show", {"model_info": {"llama.context_length": 2048}}, 2048),
    ("/api/v0/models/{}", {"max_context_length": 32768, "loaded_context_length": 4096}, 4096),
    ("/api/v0/models/{}", {"max_context_length": 32768}, 32768),
]


async def test_a_local_server_is_asked_for_the_window_where_its_list_has_none(
    gpt: OpenAIProvider, standin: Standin
) -> None:
    """At the address where it tells; the window is in use, its own model first of however many."""
    name = gpt.model.name
    for path, told, expected in WINDOWS:
        models = {"data": [{"id": "another"}, {"id": name}]}
        standin.served = {"/v1/models": models, path.format(name): told}
        first, _other = await gpt.list_models()
        assert first == ListedModel(name, expected), told
    many = [{"id": str(number)} for number in range(30)]
    standin.served["/v1/models"] = {"data": [*many, {"id": name}]}
    first, *others = await gpt.list_models()
    assert first == ListedModel(name, expected)
    assert [one.id for one in others] == [one["id"] for one in many]


async def test_a_list_is_found_wherever_a_server_has_it(door: Door, standin: Standin) -> None:
    """Bare, by another name, or of names alone."""
    one = {"id": "m", "object": "model"}
    for body in ([one], {"models": [one]}, {"data": [], "result": [one]}, {"data": ["m"]}, ["m"]):
        standin.served["/v1/models"] = body
        listed = await door.provider(standin).list_models()  # type: ignore[attr-defined]
        assert [each.id for each in listed] == ["m"], body


async def test_what_is_no_list_lists_nothing(door: Door, standin: Standin) -> None:
    """And is no error."""
    for body in ([], {"data": None}, "models"):
        standin.served["/v1/models"] = body
        assert await door.provider(standin).list_models() == ()  # type: ignore[attr-defined]


async def test_the_other_vendor_tells_limits_too(standin: Standin, claude: Any) -> None:
    """By other names; what cannot be is left out."""
    model = {"id": "claude-x", "max_input_tokens": 200_000, "max_tokens": 64_000}
    standin.served["/v1/models"] = {"data": [{"id": 7}, model, {}, {"id": ""}]}
    assert await claude.list_models() == (ListedModel("claude-x", 200_000, 64_000),)


async def test_a_probe_says_what_works(door: Door, standin: Standin) -> None:
    """With one call to the model, besides the list and the count."""
    standin.served["/v1/models"] = {"data": [{"id": door.model}]}
    names = ("address", "key", "listing", "streaming", "usage", "tools", "images")
    works = {**dict.fromkeys(names, True), "counting": door.name == "anthropic"}
    report = await probe(door.resilient(standin, 1))
    assert report == ServerReport(models=(ListedModel(door.model),), **works)
    assert len(standin.requests) == 1
    assert standin.problems == []


class Parrot:
    """A provider that tells nothing of its requests."""

    async def stream(self, _request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Yield the word."""
        yield TextStreamed("Yes.")
        yield ReplyCompleted((condense.TextBlock("Yes."),), "end_turn", condense.Usage())

    async def count_tokens(self, _request: ModelRequest) -> None:
        """Return nothing: it can't count."""


async def test_a_probe_tries_nothing_that_a_provider_does_not_tell() -> None:
    """Of a request that nobody saw, nobody knows what it lacked."""
    report = await probe(ResilientProvider(Model("m", 1, 1), lambda _model: Parrot()))
    assert (report.streaming, report.tools, report.images) == (True, None, None)


async def test_a_probe_says_what_a_server_lacks(standin: Standin) -> None:
    """A refusal of one thing does not hide the others."""
    door = DOORS[1]
    standin.then(
        Failure(400, "", "", body={"error": "m does not support tools"}),
        Failure(500, "", "", body={"error": {"message": "image input is not supported"}}),
    )
    report = await probe(door.resilient(standin, 1))
    assert (report.tools, report.images, report.streaming) == (False, False, True)
    assert report.listing is False


async def test_a_probe_asks_for_less_where_all_is_refused(door: Door, standin: Standin) -> None:
    """In words that nobody knows yet."""
    standin.then(Failure(400, "invalid_request_error", "Too colourful"))
    report = await probe(door.resilient(standin, 1))
    assert (report.images, report.tools, report.failure) == (False, True, "")


async def test_a_wrong_key_is_told_from_a_wrong_address(door: Door, standin: Standin) -> None:
    """Neither asks the model anything, and no key is in what a list fails with."""
    standin.key = "another"
    report = await probe(door.resilient(standin, 1))
    assert (report.address, report.key) == (True, False)
    nowhere = create_provider(
        door.name, model=Model("m", 1, 1), api_key="k", base_url="http://127.0.0.1:9", attempts=1
    )
    report = await probe(nowhere)
    assert (report.address, report.key) == (False, None)
    assert "could not be reached" in report.failure
    assert standin.requests == []
    with pytest.raises(ProviderError) as caught:
        await door.resilient(standin, 1).list_models()
    assert SECRET_KEY not in f"{caught.value} {caught.value.details}"


async def test_a_list_that_anybody_may_read_says_nothing_of_the_key(
    door: Door, standin: Standin
) -> None:
    """The first call to a model does."""
    standin.served["/v1/models"] = {"data": [{"id": door.model}]}
    standin.then(UNAUTHORIZED)
    report = await probe(door.resilient(standin, 1))
    assert (report.listing, report.key, report.streaming) == (True, False, None)
    assert len(standin.requests) == 1


async def test_what_runs_on_this_machine_is_found(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it answers with models; what is elsewhere is not even asked."""
    standin.served["/v1/models"] = {"data": [{"id": "m"}]}
    here = Preset("Here", f"http://localhost:{standin.port}/v1", is_local=True)
    gone = Preset("Gone", "http://localhost:9/v1", is_local=True)
    spec = ProviderSpec("openai", "", "", presets=(gone, here, Preset("Far", "http://x.invalid")))
    monkeypatch.setattr(model_servers, "provider_specs", lambda: {"openai": spec})
    (found,) = await model_servers.find_local_servers(PATIENCE)
    assert (found.preset, found.provider) == (here, "openai")
    assert found.models[0].id == "m"
    standin.served["/v1/models"] = {"data": []}
    assert await model_servers.find_local_servers(PATIENCE) == []
