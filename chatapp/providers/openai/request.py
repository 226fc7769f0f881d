"""Write a request as chat completions take it, without what a server has refused."""

from typing import Any

import condense
from chatapp.agent.provider_port import Model, ModelRequest, SentRequest
from chatapp.agent.tool_port import ToolSpec
from chatapp.providers import request_bytes
from chatapp.providers.openai.blocks import fit_name, to_chat
from chatapp.providers.openai.server_limits import Traits, adapted

_EFFORTS = {"off": "none"}


class RequestWriter:
    """Writes the requests to one model; what it made of a message is kept for the next."""

    def __init__(self, model: Model, *, own: bool = False) -> None:
        """Write for ``model``; ``own`` says that it is at the vendor's own address."""
        self.model = model
        self._use(Traits(completion_limit=own))

    def _use(self, traits: Traits) -> None:
        self.traits = traits
        self._plain = request_bytes.Kept(condense.tools_to_text)
        self._bytes = request_bytes.Kept(self._encode)

    def adapt(self, said: str) -> bool:
        """Leave out from now on what a refusal is about; False where it is about nothing such."""
        traits = adapted(self.traits, said)
        if traits is None:
            return False
        self._use(traits)
        return True

    def write(self, request: ModelRequest) -> SentRequest:
        """Return the request's bytes."""
        messages = list(request.messages)
        if not self.traits.tools:
            messages = self._plain.of(messages)
        fragments = self._bytes.of(messages)
        system = request.system if request.system.strip() else ""
        head = request_bytes.opening({"model": self.model.name})
        if system and self.traits.system_role:
            head += request_bytes.encode({"role": "system", "content": system}) + b","
        elif system:
            fragments[0] = self._encode(_with_system(messages[0], system))
        return request_bytes.join(
            head, messages, fragments, request_bytes.ending(self._after(request.tools))
        )

    def _encode(self, message: condense.Message) -> bytes:
        return b",".join(map(request_bytes.encode, to_chat(message, self.traits)))

    def _after(self, tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
        """Return what stands behind the messages."""
        limit = "max_completion_tokens" if self.traits.completion_limit else "max_tokens"
        after: dict[str, Any] = {limit: max(1, self.model.max_output), "stream": True}
        if self.traits.streaming_usage:
            after["stream_options"] = {"include_usage": True}
        if tools and self.traits.tools:
            after["tools"] = [_tool(spec) for spec in tools]
        return {**after, **self._wishes()}

    def _wishes(self) -> dict[str, Any]:
        """Return what the profile asks of the model, as far as the server takes it."""
        wishes: dict[str, Any] = {}
        if self.model.temperature is not None and self.traits.temperature:
            wishes["temperature"] = self.model.temperature
        if self.model.effort and self.traits.effort:
            wishes["reasoning_effort"] = _EFFORTS.get(self.model.effort, self.model.effort)
        return wishes


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {
        "name": fit_name(spec.name),
        "description": spec.description,
        "parameters": dict(spec.input_schema),
    }
    return {"type": "function", "function": function}


def _with_system(message: condense.Message, system: str) -> condense.Message:
    return message.with_content((condense.TextBlock(system), *message.blocks))
