"""The models that the server lists, with their limits."""

from collections.abc import Mapping
from typing import Any

from chatapp.agent.errors import ProviderError
from chatapp.network.addresses import AddressRefused
from chatapp.providers.anthropic.connection import Connection
from chatapp.providers.anthropic.errors import FAILURES, explain
from chatapp.providers.failures import Asked
from chatapp.providers.sealed import LONGEST_NAME, as_tokens
from chatapp.providers.specs import ListedModel


async def list_models(to: Connection) -> tuple[ListedModel, ...]:
    """Return the models; raise ProviderError where the server does not list them."""
    try:
        async with to.client() as client:
            body: object = await client.get("/v1/models?limit=1000", cast_to=object)
    except AddressRefused as error:
        raise ProviderError(str(error)) from error
    except FAILURES as error:
        raise explain(error, Asked("", to.host), started=False, shown=False) from error
    data = body.get("data") if isinstance(body, Mapping) else None
    listed = data if isinstance(data, list) else []
    return tuple(_model(one) for one in listed if isinstance(one, Mapping) and _named(one))


def _named(one: Mapping[Any, Any]) -> bool:
    return isinstance(one.get("id"), str) and 0 < len(one["id"]) <= LONGEST_NAME


def _model(one: Mapping[Any, Any]) -> ListedModel:
    limits = as_tokens(one.get("max_input_tokens")), as_tokens(one.get("max_tokens"))
    return ListedModel(one["id"], *limits)
