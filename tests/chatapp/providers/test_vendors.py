"""Servers of known vendors: what they refuse once is learnt, and reasoning goes back to them."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import condense
from chatapp.agent.events import ReplyCompleted
from chatapp.agent.ports import Model, ModelRequest, ToolSpec
from chatapp.providers import create_provider
from chatapp.providers.anthropic.request import AnthropicRequestWriter as MessagesWriter
from chatapp.providers.openai.request import ChatFormat
from chatapp.providers.reasoning import Form
from chatapp.providers.resilient_provider import ResilientProvider
from tests.chatapp.pictures import make_png
from tests.chatapp.providers.requests import assistant, call, reply, result, user
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin
from tests.standin.vendors import LIMITED, MESSAGES, REASONING, VENDORS, Vendor

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "additionalProperties": False,
    "required": ["path"],
    "properties": {
        "path": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^\\d+$"}]},
        "kinds": {"type": ["array", "null"], "items": {"type": "string", "format": "uri"}},
        # As programs in Go describe anything, and a list of a fixed length.
        "value": True,
        "pair": {"type": "array", "items": [{"type": "string"}, True]},
    },
}
TOOLS = tuple(ToolSpec(name, "Lists.", SCHEMA) for name in ("list_files", "look", "find"))
THOUGHT = "I should look at the files first."
ASKED = Reply(tools=(ToolCall("list_files", {"path": "."}),), thinking=THOUGHT)
# Written by another model, and signed for that one.
ELSEWHERE = (
    user("Before"),
    assistant(
        condense.OpaqueBlock({"type": "thinking", "thinking": "SECRET", "signature": "x"}).noted(
            origin="0" * 16, bound=True
        ),
        call("list_files", "toolu_elsewhere", path="."),
    ),
    user(result("a.txt", "toolu_elsewhere")),
    assistant(
        condense.OpaqueBlock({"type": "thinking", "thinking": "SECRET"}).noted(origin="0" * 16),
        condense.TextBlock("One file."),
    ),
)


def stored(said: ReplyCompleted | condense.Message) -> condense.Message:
    """Return a reply as it comes back from where it was stored."""
    content = said.content if isinstance(said.content, tuple) else ()
    kept = json.loads(json.dumps([block.to_api() for block in content]))
    return condense.Message("assistant", condense.content_from_api(kept))


class Talk:
    """A conversation with a vendor's server, whose refusals are kept."""

    def __init__(self, standin: Standin, door: str, model: str) -> None:
        self.standin, self.door, self.model = standin, door, model
        self.known: dict[str, Any] = {}
        self.history: list[condense.Message] = []

    async def keep(self, refused: Mapping[str, Any]) -> None:
        """Keep what was refused as a database does."""
        self.known = json.loads(json.dumps(dict(refused)))

    def provider(self) -> ResilientProvider:
        """Return the provider of another turn, perhaps in another process."""
        url = self.standin.url + ("/v1" if self.door == "openai" else "")
        model = Model(self.model, 200_000, 1_000)
        keys = {"api_key": "k", "base_url": url, "attempts": 1}
        return create_provider(self.door, model=model, **keys, refused=self.known, keep=self.keep)

    async def say(self, *content: Any, then: Reply | None = None) -> None:
        """Say something, and add what the model answers to the history."""
        self.history.append(user(*content))
        self.standin.then(*([then] if then else []))
        shaped = condense.shape_request(self.history)
        answer = await reply(self.provider(), ModelRequest("Be kind.", shaped, TOOLS))
        self.history.append(stored(answer))
        self.standin.forget()

    async def use_tool(self) -> None:
        """Have a tool called, and give its result."""
        await self.say("List them", then=ASKED)
        called = self.history[-1].tool_uses
        results = [result("", one.id) for one in called]
        await self.say(*(results or ["a.txt"]))

    @property
    def refusals(self) -> int:
        """How many requests were refused so far."""
        return sum(bool(one.problems) for one in self.standin.requests)

    @property
    def last(self) -> Any:
        """The last request."""
        return self.standin.requests[-1].body


def image(data: str = "") -> condense.ImageBlock:
    """Return an image."""
    data = base64.b64encode(data.encode() or make_png()).decode()
    return condense.ImageBlock({"type": "base64", "media_type": "image/png", "data": data})


def sources_in(body: Any) -> Iterator[dict[str, Any]]:
    """Yield the images of a request in their order."""
    if isinstance(body, dict) and body.get("type") == "image":
        yield body["source"]
    for inner in body.values() if isinstance(body, dict) else body:
        if isinstance(inner, dict | list):
            yield from sources_in(inner)


CASES = [("openai", "m-1", one) for one in VENDORS]
CASES += [("anthropic", "claude-opus-4", MESSAGES[0]), ("anthropic", "claude-opus-4", MESSAGES[1])]
CASES += [("anthropic", "deepseek-v5", one) for one in MESSAGES]


@pytest.mark.parametrize(
    ("door", "model", "vendor"), CASES, ids=[f"{one[2].name}-{one[1]}" for one in CASES]
)
async def test_a_conversation_goes_on_whatever_a_server_refuses(
    door: str, model: str, vendor: Vendor
) -> None:
    """Text, tools, images, condensing, a switch of models: refused once, and never for the same."""
    with Standin(vendor=vendor) as standin:
        talk = Talk(standin, door, model)
        await talk.say("Hi")
        await talk.use_tool()
        await talk.say("And then?")
        await talk.say("Look", image(), image(), image())
        # Condensing changes what stands before the kept messages.
        kept = [one.with_tags(unbound=True) for one in talk.history[1:]]
        talk.history = [user("A summary of it all."), *kept]
        await talk.use_tool()
        talk.history = [*ELSEWHERE, *talk.history]
        await talk.use_tool()
        before = talk.refusals
        await talk.use_tool()
        await talk.say("Look again", image(), image())
        assert (before <= len(vendor.checks) + 2, talk.refusals) == (True, before), talk.known
        sent = json.dumps(talk.last)
        assert "SECRET" not in sent
        goes_back = (vendor.field or door == "anthropic") and talk.known.get("reasoning") != "none"
        assert (THOUGHT in sent) is bool(goes_back)


async def test_older_images_are_left_out_where_a_server_takes_fewer() -> None:
    """Those in results too, and the newest are there; a text says that some are not."""
    with Standin(vendor=LIMITED) as standin:
        talk = Talk(standin, "anthropic", "claude-opus-4")
        pictures = [image(f"{number}") for number in range(23)]
        called = assistant(call("look", path="."))
        talk.history = [
            user("Go"),
            called,
            user(condense.ToolResultBlock("call_1", (pictures[0],))),
        ]
        talk.history += [assistant("So."), user(*pictures[1:9]), assistant("So.")]
        for _ in range(2):
            await talk.say(*pictures[9:])
            sent = json.dumps(talk.last)
            places = [source["data"] for source in sources_in(talk.last)]
            assert (len(places), sent.count("[An image")) == (20, 3)
            assert places == [one.source["data"] for one in pictures[-20:]]
            talk.history = talk.history[:-2]
        assert (talk.refusals, talk.known) == (1, {"most_images": 20})


async def test_reasoning_has_the_form_that_the_server_gave_it() -> None:
    """The field by its name, a list piece by piece, and nothing where it was in the text."""
    for field in REASONING:
        taking = Vendor("any", field, (), frozenset(REASONING))
        with Standin(vendor=taking) as standin:
            talk = Talk(standin, "openai", "m-1")
            await talk.use_tool()
            _, said, *_ = [one for one in talk.last["messages"] if one["role"] != "system"]
            shown = ChatFormat().message(said).blocks[0].to_api()
            assert field == "reasoning_details" or shown["thinking"] == THOUGHT
            assert [name for name in REASONING if name in said] == [field]
            detail = {"type": "reasoning.text", "index": 0, "format": "own-v1", "text": THOUGHT}
            whole = [{**detail, "signature": "ab12"}]
            assert said[field] == (whole if field == "reasoning_details" else THOUGHT)


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([{"text": "I "}, {"text": "see."}], [{"text": "I see."}]),
        ([{"text": "I"}, {"text": "I see"}, {"text": "I see."}], [{"text": "I see."}]),
        ([{"index": 0, "data": "a"}, {"index": 1, "data": "b"}], None),
        ([{"text": "ha"}, {"text": "ha", "signature": "s"}], [{"text": "haha", "signature": "s"}]),
        ([{"text": "I"}, {"text": None, "id": "x"}], [{"text": "I", "id": "x"}]),
        ([{"text": 5}, {"text": "I"}], [{"text": "I"}]),
    ],
)
def test_details_are_put_together(pieces: list[Any], whole: list[Any] | None) -> None:
    """Whether a server sends what is new, or all so far; each detail is one of its own."""
    form = Form()
    for one in pieces:
        form.take({"reasoning": "x", "reasoning_details": [one, "odd"]})
    assert form.form == (whole or pieces)


async def test_reasoning_goes_to_no_other_server_and_no_other_model() -> None:
    """Nor to the same one through its other API; and back again it is there."""
    taking = Vendor("any", "reasoning", (), frozenset(REASONING))
    with Standin(vendor=taking) as one, Standin(vendor=taking) as other:
        talk = Talk(one, "openai", "m-1")
        await talk.use_tool()
        for standin, door, model in (
            (other, "openai", "m-1"),
            (one, "openai", "m-2"),
            (one, "anthropic", "m-1"),
            (one, "anthropic", "claude-opus-5"),
        ):
            elsewhere = Talk(standin, door, model)
            elsewhere.history = [*talk.history]
            await elsewhere.say("And you?")
            assert THOUGHT not in json.dumps(elsewhere.last)
        await talk.say("And you?")
        assert THOUGHT in json.dumps(talk.last)


@pytest.mark.parametrize(
    ("url", "effort", "sent"),
    [
        ("https://api.anthropic.com", "", ["Signed"]),
        ("https://api.anthropic.com", "off", []),
        ("https://proxy.example", "", ["Found by its tags", "Signed"]),
        ("https://proxy.example", "off", []),
    ],
)
def test_the_vendor_that_signs_thoughts_gets_no_other(
    url: str, effort: str, sent: list[str]
) -> None:
    """It would refuse them; of another server's nobody knows before it does."""
    writer = MessagesWriter(Model("claude-opus-5-5", 200_000, 1_000, effort=effort), {}, url)
    thoughts = [
        condense.OpaqueBlock({"type": "thinking", "thinking": text, **more}).noted(
            origin=writer.origin
        )
        for text, more in (("Found by its tags", {}), ("Signed", {"signature": "x"}))
    ]
    said = (user("Hi"), assistant(*thoughts, "So."), user("Again"))
    (answer,) = [
        one["content"]
        for one in json.loads(writer.write(ModelRequest("", said, ())).body)["messages"]
        if one["role"] == "assistant"
    ]
    assert [one["thinking"] for one in answer if one["type"] == "thinking"] == sent
