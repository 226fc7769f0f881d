"""Exports of LibreChat: one conversation a file, its messages in a list or inside each other."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.transfer.archives import Archive
from chatapp.transfer.chats import Chat
from chatapp.transfer.transcript_files import Sample
from chatapp.transfer.transcripts import Block, call_block, listed, parts_of, result_block
from condense import say

LABEL = "LibreChat"
WHERE = gettext_lazy("A chat's menu > Export > JSON, with all branches.")

_BEGINS = re.compile(r'\{\s*"conversationId"\s*:')


def recognise(sample: Sample) -> bool:
    """Whether it begins as they do."""
    return bool(_BEGINS.match(sample.head))


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return a conversation, None for what is none."""
    found = (item.get("messagesTree") or item.get("messages")) if isinstance(item, dict) else None
    if not isinstance(found, list):
        return None
    chat = Chat(archive, item.get("title"), prompt=(item.get("options") or {}).get("promptPrefix"))
    waiting = [(one, one.get("parentMessageId")) for one in reversed(found)]
    while waiting:
        message, parent = waiting.pop()
        id_ = message.get("messageId") or id(message)
        blocks = [*_blocks(chat, message)]
        for file in (*listed(message.get("files")), *listed(message.get("attachments"))):
            chat.attach(blocks, file.get("filename"), file.get("file_id"))
        role = "user" if message.get("isCreatedByUser") is True else "assistant"
        at, model = message.get("createdAt"), message.get("model")
        chat.add(id_, parent, role, blocks, at=at, model=model)
        waiting += [(one, id_) for one in reversed(listed(message.get("children")))]
    return chat


def _blocks(chat: Chat, message: Mapping[str, Any]) -> Iterator[Block]:
    parts, text = listed(message.get("content")), message.get("text")
    kind = "error" if message.get("error") is True else "text"
    for part in parts or [{"type": kind, "text": text}]:
        kind = str(part.get("type"))
        inner = part.get(kind, part.get("text"))
        said = inner.get("value") if isinstance(inner, dict) else inner
        text = said if isinstance(said, str) else ""
        match kind, inner:
            case "text" | "agent_update", _:
                yield from parts_of(text)
            case "think", _:
                yield {"type": "thinking", "thinking": text}
            case "tool_call", {"name": str(name), **call}:
                id_ = str(call.get("id") or "")
                yield from filter(None, [call_block(name, id_, call.get("args"))])
                if call.get("output") is not None:
                    yield from filter(None, [result_block(id_, call["output"])])
            case _:
                chat.leave_out(say("It can't be imported: {kind}.", kind=kind[:60]), text)
