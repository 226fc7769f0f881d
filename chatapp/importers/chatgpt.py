"""Exports of ChatGPT: conversations as a ``mapping`` of nodes, some of which it never shows."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.sentences import translate as _
from chatapp.transfer.archives import Archive, key_of
from chatapp.transfer.chats import Chat
from chatapp.transfer.transcript_files import Sample
from chatapp.transfer.transcripts import Block, listed, text_block
from condense import noop, say

LABEL = "ChatGPT"
WHERE = gettext_lazy("Settings > Data controls > Export data (a ZIP by e-mail).")

# Places of citations, and what begins or ends other marks that its page draws.
_CITED = re.compile("\ue200[^\ue200\ue201]*\ue201")
_MARKS = re.compile("[\ue200-\ue20f]")
_TEXTS = (
    "title", "text", "result", "summary", "content", "url", "user_profile", "user_instructions",
    "about_user_message", "about_model_message", "model_set_context",
)  # fmt: skip
_THOUGHTS = {"thoughts", "reasoning_recap"}
_SETTINGS = {"user_editable_context", "model_editable_context"}


def recognise(sample: Sample) -> bool:
    """Whether its items are trees of nodes."""
    return any("mapping" in item for item in sample.items)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return a conversation, None for what is none."""
    if not isinstance(item, dict) or not isinstance(nodes := item.get("mapping"), dict):
        return None
    times = item.get("create_time"), item.get("update_time")
    chat = Chat(archive, item.get("title"), *times, newest=item.get("current_node"))
    for name, node in nodes.items():
        message = node.get("message") or {}
        meta = message.get("metadata") or {}
        role, blocks = _said(chat, node, message, meta)
        at, model = message.get("create_time"), meta.get("model_slug")
        chat.add(name, node.get("parent"), role, blocks, at=at, model=model)
    return chat


def _said(chat: Chat, node: Any, message: Any, meta: Any) -> tuple[str, list[Block]]:
    """Return whose message it is, and its blocks: none where it is no part of the talk."""
    content = message.get("content") or {}
    kind, role = content.get("content_type"), (message.get("author") or {}).get("role")
    to = message.get("recipient") or "all"
    text = "\n\n".join(_texts(content | (meta.get("user_context_message_data") or {})))
    hidden = meta.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    hidden = (hidden and role != "tool" and to == "all") or role == "system"
    if kind in _SETTINGS or (hidden and kind not in _THOUGHTS):
        if text:
            chat.leave_out(noop("It is not shown in ChatGPT:"), text)
        return "", []
    if role != "user":
        # Each citation becomes the link that it is drawn as.
        cited = [one for one in listed(meta.get("content_references")) if isinstance(one, dict)]
        links = {str(one.get("matched_text")): one.get("alt") for one in cited}
        text = _CITED.sub(lambda found: str(links.get(found[0]) or ""), text)
        text = _MARKS.sub("", text)
    if kind in _THOUGHTS:
        return "assistant", [{"type": "thinking", "thinking": text}] if text else []
    if role == "assistant" and to != "all":
        return "assistant", [
            {"type": "tool_use", "id": node.get("id"), "name": str(to), "input": {"input": text}}
        ]
    if kind == "code" and text:
        text = f"```{content.get('language') or ''}\n{text}\n```"
    blocks = [text_block(text)] if text.strip() else []
    _attach(chat, blocks, content, meta)
    if role == "tool" and blocks:
        said = blocks if blocks[1:] or not text else text
        blocks = [{"type": "tool_result", "tool_use_id": node.get("parent"), "content": said}]
    return "user" if role == "user" else "assistant", blocks


def _texts(content: Mapping[str, Any]) -> Iterator[str]:
    parts = [content.get(name) for name in _TEXTS]
    for part in [*parts, *listed(content.get("parts")), *listed(content.get("thoughts"))]:
        inner = [part.get(name) for name in _TEXTS] if isinstance(part, dict) else [part]
        yield from (one for one in inner if isinstance(one, str) and one.strip())


def _attach(chat: Chat, blocks: list[Block], content: Any, meta: Any) -> None:
    """Add the images of a message's parts and its other files to its blocks."""
    attached = [one for one in listed(meta.get("attachments")) if isinstance(one, dict)]
    names = {key_of(str(one.get("id"))): one.get("name") for one in attached}
    for part in listed(content.get("parts")):
        match part:
            case {"asset_pointer": str(pointer), "content_type": "image_asset_pointer"}:
                key = key_of(pointer)
                chat.attach(blocks, names.pop(key, "") or _("Image"), key)
            case {"content_type": str(kind)} if not isinstance(part.get("text"), str):
                chat.leave_out(say("It can't be imported: {kind}.", kind=kind[:60]))
    for key, name in names.items():
        chat.attach(blocks, name, key)
