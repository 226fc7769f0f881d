"""Chat completions: their requests and streams."""

from chatapp.gateway.dialects import Dialect, Json, RequestFacts, openai_error
from chatapp.providers.openai.reply import OpenAIReply
from chatapp.records.importers.chat_completions import Messages
from chatapp.records.transfer.source_texts import fields, joined, listed

_OF_THE_SYSTEM = ("system", "developer")


def _read(body: Json) -> RequestFacts:
    items = listed(body.get("messages"))
    heads = [one for one in items if fields(one).get("role") in _OF_THE_SYSTEM]
    tools = [fields(one) for one in listed(body.get("tools"))]
    return RequestFacts(
        items=items,
        system="\n".join([joined(one.get("content")) for one in heads]),
        tools=[str(fields(one.get("function")).get("name")) for one in tools],
    )


DIALECT = Dialect(
    name="chat_completions",
    provider="openai",
    version="/v1",
    history="messages",
    paths=frozenset({"/v1/chat/completions"}),
    read=_read,
    transcript=Messages,
    reply=OpenAIReply,
    refuse=openai_error,
)
