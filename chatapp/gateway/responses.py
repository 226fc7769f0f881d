"""The Responses API: its requests and streams."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, override

import condense
from chatapp.agent import events
from chatapp.gateway.dialects import Dialect, Json, RequestFacts, openai_error
from chatapp.providers.charges import terms_in
from chatapp.providers.openai.reply import read_usage
from chatapp.providers.sdk_provider import LONGEST_NAME, StreamedReply
from chatapp.records.importers.codex import Rollout
from chatapp.records.transfer.source_texts import fields, joined, listed
from chatapp.records.transfer.transcripts import blocks_in

# The ends of an answer that is whole, or as whole as it gets.
_ENDS = {"completed": "end_turn", "incomplete": "max_tokens", "failed": "error"}
# Items of tools that are billed by the call, and their action if they can do several things.
_HOSTED = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")
_SEARCHES = (None, "search")


class _ResponsesTranscript(Rollout):
    """The input of a request, item by item: reasoning apart, without offers of tools."""

    @override
    def take(self, index: int, item: Any, /) -> None:
        told = {"type": "message", **fields(item)}
        kind, role = str(told["type"]), str(told.get("role"))
        if kind in {"compaction", "item_reference", "reasoning"}:
            blocks = [*blocks_in([item])] if kind == "reasoning" else [told]
            self.say(role="assistant", blocks=blocks, joins=True)
        elif kind == "message" or role not in {"developer", "system"}:
            super().take(index, {"type": "response_item", "payload": told})


class _Reply(StreamedReply):
    """One answer so far."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, Json] = {}
        self._pieces: defaultdict[int, list[str]] = defaultdict(list)

    @override
    def take(self, event: Any) -> Iterator[events.StreamEvent]:
        told = fields(event)
        kind = str(told.get("type", "")).removeprefix("response.")
        response, place = fields(told.get("response")), told.get("output_index")
        if told.get("object") in {"response", "response.compaction"}:
            kind, response = str(told.get("status") or "completed"), told
        if isinstance(name := response.get("id"), str):
            yield events.CallDescribed({"reply_id": name[:LONGEST_NAME]})
        if isinstance(place, int) and isinstance(told.get("item"), Mapping):
            self._items[place] = told["item"]
        elif isinstance(place, int) and kind.endswith("_text.delta"):
            self._pieces[place].append(str(told.get("delta", "")))
        if kind in _ENDS:
            self._end(kind, response)

    def _end(self, kind: str, response: Json) -> None:
        self.finished, self.stop_reason = kind != "failed", _ENDS[kind]
        if output := listed(response.get("output")):
            self._items = dict(enumerate(output))
        used, items = read_usage(response.get("usage")), map(fields, self._items.values())
        tools = Counter([one.get("type") for one in items if _is_billed(one)])
        tier = terms_in([response.get("service_tier")], tools.items())
        self.usage = replace(used, terms={**used.terms, **tier})

    @override
    def blocks(self) -> Iterator[condense.Block]:
        said = _ResponsesTranscript()
        for place in sorted({*self._items, *self._pieces}):
            item, written = self._items.get(place, {}), "".join(self._pieces.get(place, ()))
            if not joined(item) and written:
                item = {"type": "message", "role": "assistant", "content": written}
            said.take(place, item)
        for message in said.messages:
            yield from map(condense.block_from_api, message["content"])


def _is_billed(item: Json) -> bool:
    """Return True for a call of OpenAI's own tools; opening a page that a search found is free."""
    return item.get("type") in _HOSTED and fields(item.get("action")).get("type") in _SEARCHES


def _read(body: Json) -> RequestFacts:
    given, talk = body.get("input"), body.get("conversation")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else listed(given)
    # An item of the input may offer tools, too.
    tools = [fields(one) for told in (body, *items) for one in listed(fields(told).get("tools"))]
    return RequestFacts(
        items=items,
        system=joined(body.get("instructions")),
        tools=[str(one.get("name") or one.get("type")) for one in tools],
        session=str(fields(talk).get("id") or (talk if isinstance(talk, str) else "")),
        follows=str(body.get("previous_response_id") or ""),
        is_part=bool(talk or body.get("previous_response_id")),
    )


DIALECT = Dialect(
    name="responses",
    provider="openai",
    version="/v1",
    history="input",
    paths=frozenset({"/v1/responses"}),
    read=_read,
    transcript=_ResponsesTranscript,
    reply=_Reply,
    refuse=openai_error,
    text="input_text",
)

COMPACTIONS = replace(
    DIALECT,
    paths=frozenset({"/v1/responses/compact"}),
    read=lambda body: replace(_read(body), is_summary=True),
)
