"""Exports of ChatGPT: conversations as a ``mapping`` of nodes, some of which it never shows."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.project.sentences import translate as _
from chatapp.records.transfer.archives import Archive, key_of
from chatapp.records.transfer.chats import UNKNOWN, Chat, Said
from chatapp.records.transfer.source_texts import fields, joined, listed
from chatapp.records.transfer.transcript_files import Sample
from chatapp.records.transfer.transcripts import Block, text_block
from condense import noop, say

LABEL = "ChatGPT"
WHERE = gettext_lazy("Settings > Data controls > Export data (a ZIP by e-mail).")

# Places of citations, and the ends of other marks that its page draws.
_CITED = re.compile("\ue200[^\ue200\ue201]*\ue201")
_NAMED = re.compile('\ue200(?:entity\ue202\\["[^"]*", ?"|url\ue202)([^"\ue202]*)')
_MARKS = [chr(number) for number in range(0xE200, 0xE210)]
_THOUGHTS = {"thoughts", "reasoning_recap"}
_SETTINGS = {"user_editable_context", "model_editable_context"}


def recognise(sample: Sample) -> bool:
    """Return True if an item is a tree of nodes."""
    return any("mapping" in item and "inserted_at" not in item for item in sample.items)


def read_chat(item: Any, archive: Archive) -> Chat | None:
    """Return the conversation of an item, None if it is none."""
    if not isinstance(item, dict) or not isinstance(nodes := item.get("mapping"), dict):
        return None
    times = item.get("create_time"), item.get("update_time")
    chat = Chat(archive, item.get("title"), *times, newest=item.get("current_node"))
    for name, node in nodes.items():
        message, parent = fields(fields(node).get("message")), fields(node).get("parent", UNKNOWN)
        at, model = message.get("create_time"), fields(message.get("metadata")).get("model_slug")
        chat.add(name, parent, partial(_said, chat, node), at=at, model=model)
    return chat


def _said(chat: Chat, node: Mapping[str, Any]) -> Said:
    """Return a message's role and blocks; no blocks if it is no part of the talk."""
    message = fields(node.get("message"))
    content, meta = fields(message.get("content")), fields(message.get("metadata"))
    kind, role = content.get("content_type"), fields(message.get("author")).get("role")
    to = message.get("recipient") or "all"
    told = fields(meta.get("user_context_message_data"))
    text = "\n\n".join(one for one in (joined([content, told]), content.get("url")) if one)
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
        names = {mark: "".join(_NAMED.findall(mark)) for mark in _CITED.findall(text)}
        text = _CITED.sub(lambda found: str(links.get(found[0]) or names[found[0]]), text)
        # A pattern would hold up everything else while it searches a long text.
        for mark in _MARKS:
            text = text.replace(mark, "")
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


def _attach(chat: Chat, blocks: list[Block], content: Any, meta: Any) -> None:
    """Add the images of a message's parts and its other files to its blocks."""
    attached = [one for one in listed(meta.get("attachments")) if isinstance(one, dict)]
    names = {key_of(str(one.get("id"))): one.get("name") for one in attached}
    for part in listed(content.get("parts")):
        match part:
            case {"asset_pointer": str(pointer), "content_type": "image_asset_pointer"}:
                key = key_of(pointer)
                chat.attach(blocks, names.pop(key, "") or _("Image"), key)
            case {"content_type": str(kind)} if not joined(part):
                chat.leave_out(say("It can't be imported: {kind}.", kind=kind[:60]))
    for key, name in names.items():
        chat.attach(blocks, name, key)
