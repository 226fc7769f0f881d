"""Model servers: test their abilities, and find those that run on this machine."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

import condense
from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.ports import Model, ModelRequest, ToolSpec
from chatapp.providers import create_provider, provider_specs
from chatapp.providers.resilient_provider import ResilientProvider
from chatapp.providers.specs import ListedModel, Preset

PROBE_TIMEOUT = 60.0
# For a server of this machine: it answers at once, or it is not there.
LOCAL_PATIENCE = 1.0
_OF_THE_KEY = {401, 403}

# A white square of 32 pixels: smaller ones are refused by some models.
_SQUARE = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJklEQVR42u3NMQ0AAAwDoPo33arYsQQMkB6LQCAQ"
    "CAQCgUAg+BIMi1X0ptsIcT0AAAAASUVORK5CYII="
)
_IMAGE = condense.ImageBlock({"type": "base64", "media_type": "image/png", "data": _SQUARE})
_TOOL = ToolSpec("probe_tool", "Does nothing.", {"type": "object", "properties": {}})
_TEXT = condense.TextBlock("Answer with the one word: Yes.")

_STREAMED = events.TextStreamed | events.ThinkingStreamed | events.ToolUseStarted

_WHOLE = ModelRequest("", (condense.Message("user", (_TEXT, _IMAGE)),), (_TOOL,))
_WITHOUT_IMAGE = replace(_WHOLE, messages=(condense.Message("user", (_TEXT,)),))
_WITHOUT_TOOL = replace(_WITHOUT_IMAGE, tools=())
_NOBODY = Model("", context_window=1, max_output=1)


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The abilities of a server; None for each that was not tested."""

    models: Sequence[ListedModel] = ()
    address: bool = False
    key: bool | None = None
    listing: bool | None = None
    streaming: bool | None = None
    usage: bool | None = None  # a reply reports it
    tools: bool | None = None
    images: bool | None = None
    counting: bool | None = None  # a prompt can be counted without a reply
    failure: str = ""  # why the others were not tested

    def find_model(self, name: str) -> ListedModel | None:
        """Return the server's entry for a model, None if it lists none."""
        return next((one for one in self.models if one.id == name), None)


async def probe(provider: ResilientProvider) -> ServerReport:
    """Return the abilities of a server with the provider's model."""
    report = await list_models(provider)
    if not report.address or report.key is False:
        return report
    for asked in (_WHOLE, _WITHOUT_IMAGE, _WITHOUT_TOOL):
        try:
            async with asyncio.timeout(PROBE_TIMEOUT), aclosing(provider.stream(asked)) as stream:
                heard = [event async for event in stream]
        except TimeoutError:
            return replace(report, failure=condense.noop("The model did not answer in time."))
        except ProviderError as error:
            key = False if error.status in _OF_THE_KEY else report.key
            report = replace(report, failure=str(error), key=key)
            if error.status not in {400, 404, 422, 500}:
                return report
        else:
            # The last one was taken as it is; not every provider tells what it sends.
            body = [one.body for one in heard if isinstance(one, events.SentRequest)][-1:]
            counted = None
            with suppress(TimeoutError):
                async with asyncio.timeout(PROBE_TIMEOUT):
                    counted = await provider.count_tokens(_WITHOUT_TOOL)
            return replace(
                report,
                failure="",
                key=True,
                streaming=any(isinstance(one, _STREAMED) for one in heard),
                usage=any(isinstance(one, events.UsageReported) for one in heard),
                # A refused part is not in the request that was answered.
                tools=_TOOL.name.encode() in body[0] if body else None,
                images=_SQUARE.encode() in body[0] if body else None,
                counting=counted is not None,
            )
    return report


async def list_models(provider: ResilientProvider) -> ServerReport:
    """Return a report from the list of models alone, without a call to a model."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            models = await provider.list_models()
    except TimeoutError:
        return ServerReport(failure=condense.noop("The server did not answer."))
    except ProviderError as error:
        if error.status in _OF_THE_KEY:
            return ServerReport(address=True, key=False, failure=str(error))
        return ServerReport(address=error.status is not None, listing=False, failure=str(error))
    return ServerReport(models, address=True, listing=bool(models))


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server on this machine, and at least one model that it has."""

    provider: str
    preset: Preset
    models: tuple[ListedModel, ...]


async def find_local_servers(patience: float = LOCAL_PATIENCE) -> list[LocalServer]:
    """Return those that answer within ``patience`` seconds; only this machine is asked."""
    asked = [
        _ask(spec.name, preset, patience)
        for spec in provider_specs().values()
        for preset in spec.presets
        if preset.is_local
    ]
    return [one for one in await asyncio.gather(*asked) if one]


async def _ask(name: str, preset: Preset, patience: float) -> LocalServer | None:
    # The name may lead elsewhere; this is the machine itself.
    url = preset.url.replace("//localhost", "//127.0.0.1")
    provider = create_provider(name, model=_NOBODY, api_key="", base_url=url, attempts=1)
    # The first one imports the SDK, which takes as long as the server may.
    await provider.provider()
    try:
        async with asyncio.timeout(patience):
            models = await provider.list_models()
    except (ProviderError, TimeoutError):
        return None
    return LocalServer(name, preset, models) if models else None
