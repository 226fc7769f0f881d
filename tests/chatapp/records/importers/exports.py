"""Exports of other products, as they write them: each word of a file has a number."""

import json
from base64 import b64encode
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from tests.chatapp.pictures import make_png

DAY, ISO = 1_700_000_000, "2023-11-14T22:13:20.000000Z"
PNG = make_png()
ROOT = "00000000-0000-4000-8000-000000000000"
IMAGE = "data:image/png;base64," + b64encode(PNG).decode()


def node(
    name: str, parent: str | None, role: str, *parts: Any, kind: str = "text", **more: Any
) -> dict[str, Any]:
    """Return an entry of ChatGPT's mapping."""
    content = {"content_type": kind, "parts": [*parts], **more.pop("content", {})}
    message = {"author": {"role": role}, "content": content, "create_time": DAY + len(name), **more}
    return {name: {"id": name, "parent": parent, "children": [], "message": message}}


def picture(pointer: str) -> dict[str, str]:
    """Return a part of a message that is an image."""
    return {"content_type": "image_asset_pointer", "asset_pointer": pointer}


HIDDEN = {"metadata": {"is_visually_hidden_from_conversation": True}}
CITED = {
    "model_slug": "gpt-x",
    "content_references": [
        {"matched_text": "\ue200cite\ue202turn0\ue201", "alt": "([word08](https://a.example))"}
    ],
}
CAT = {"attachments": [{"id": "file-AbC123", "name": "word02.png"},
                       {"id": "file_00f", "name": "word03.txt"},
                       {"id": "file-Gone", "name": "word04.pdf"}]}  # fmt: skip
CHATGPT = [
    {"title": "word00 cats", "create_time": DAY, "update_time": DAY + 60, "current_node": "g",
     "mapping": {
        "root": {"id": "root", "parent": None, "children": [], "message": None},
        **node("s", "root", "system", ""),
        **node("s1", "s", "user", kind="user_editable_context",
               content={"user_profile": "word19"}, **HIDDEN),
        **node("a", "s1", "user", "word01 \ue206?", picture("file-service://file-AbC123"),
               {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_9"},
               {"content_type": "audio_transcription", "text": "word05"},
               kind="multimodal_text", metadata=CAT),
        **node("b", "a", "assistant", kind="thoughts",
               content={"thoughts": [{"summary": "word06", "content": "word07"}]}, weight=0),
        **node("bb", "b", "assistant", kind="code", recipient="python",
               content={"text": "print('word09')"}, weight=0),
        **node("bbb", "bb", "tool", kind="execution_output", content={"text": "word10"}, weight=0),
        **node("be", "bbb", "tool", picture("sediment://file-AbC123"), kind="multimodal_text"),
        **node("c", "be", "assistant", "A cat \ue200cite\ue202turn0\ue201\ue206.", metadata=CITED),
        **node("cc", "be", "assistant", "word11 tabby."),
        **node("d", "c", "user", "word12 older edit"),
        **node("dd", "d", "assistant", "word13"),
        **node("f", "c", "user", "word14 newer edit"),
        **node("g", "f", "assistant", kind="code", recipient="browser", content={"text": "word15"}),
        **node("gg", "g", "assistant", "word16", weight=0),
    }},
    {"title": None, "mapping": node("x", None, "user", "word17"), "current_node": "lost"},
    {"title": "word18 empty", "mapping": {}},
]  # fmt: skip
CLAUDE = [
    {"uuid": "c", "name": "word00 news", "created_at": ISO, "updated_at": ISO, "chat_messages": [
        {"uuid": "1", "sender": "human", "parent_message_uuid": ROOT, "text": "word01",
         "content": [{"type": "text", "text": "word01"}], "created_at": ISO, "files": [
             {"file_name": "word02.png"}, {"file_name": "cat.png", "file_uuid": "u-1"}],
         "attachments": [{"file_name": "word03.txt", "extracted_content": "word04 <b>"}]},
        {"uuid": "2", "sender": "assistant", "parent_message_uuid": "1", "created_at": ISO,
         "content": [
             {"type": "thinking", "thinking": "word05"},
             {"type": "tool_use", "id": None, "name": "web_search", "input": {"q": "word06"}},
             {"type": "tool_result", "name": "web_search", "is_error": True,
              "content": [{"type": "text", "text": "word07"}]},
             {"type": "tool_use", "id": "t", "name": "artifacts", "input": ["word08"]},
             {"type": "text", "text": "word09"}, {"type": "voice_note", "text": "word10"},
             {"type": "token_budget"}]},
        {"uuid": "3", "sender": "assistant", "parent_message_uuid": "1", "text": "word11",
         "content": [], "created_at": ISO},
        {"uuid": "4", "sender": "human", "parent_message_uuid": "3", "text": "word12"},
        {"uuid": "4", "sender": "human", "parent_message_uuid": "3", "text": "word13"},
        {"uuid": "5", "sender": "robot", "text": "word14", "created_at": ISO, "attachments": [
            {"file_name": "x.txt", "extracted_content": "word16"}]},
        {"uuid": "6", "sender": "human", "text": "word15", "created_at": ISO},
    ]},
    {"uuid": "d", "name": "", "chat_messages": []},
]  # fmt: skip
TOOL = (
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n'
    "&gt; word05\n</details>\nword06\n"
    '<details type="tool_calls" done="true" id="c1" name="look" arguments="{&quot;a&quot;: '
    '&quot;word07&quot;}" result="&quot;word08&quot;"><summary>Done</summary></details>'
    '<details type="tool_calls" name="again" arguments="{}"><summary>Done</summary>\n'
    '&quot;word16&quot;\n</details>word09 <details type="reasoning"> word10'
)
WEBUI = [
    {"id": "c", "title": "word00 chat", "created_at": DAY, "updated_at": DAY + 60, "chat": {
        "system": "word01", "history": {"currentId": "3", "messages": {
            "0": {"id": "0", "parentId": None, "role": "system", "content": "word17"},
            "1": {"id": "1", "parentId": "0", "role": "user", "content": "word02",
                  "timestamp": DAY, "files": [
                      {"type": "image", "url": IMAGE, "name": "cat.png"},
                      {"type": "file", "name": "word03.txt",
                       "file": {"filename": "x", "data": {"content": "word04"}}},
                      {"type": "collection", "name": "word15"}]},
            "2": {"id": "2", "parentId": "1", "role": "assistant", "content": TOOL,
                  "model": "llama", "timestamp": DAY + 1, "merged": {"content": "word11"}},
            "3": {"id": "3", "parentId": "1", "role": "assistant", "content": "word12",
                  "model": "qwen", "timestamp": DAY + 1},
            "4": {"id": "4", "parentId": "2", "role": "user", "content": "word13",
                  "timestamp": DAY + 2},
            "5": {"id": "5", "parentId": "4", "role": "assistant", "content": "",
                  "timestamp": DAY + 3, "error": {"content": "word14"}}}}}},
]  # fmt: skip
LIBRE = {
    "conversationId": "c", "endpoint": "openAI", "title": "word00 talk", "branches": True,
    "recursive": True, "options": {"promptPrefix": "word01"}, "messagesTree": [
        {"messageId": "1", "parentMessageId": ROOT, "isCreatedByUser": True, "text": "word02",
         "createdAt": ISO, "files": [{"filename": "word03.pdf", "file_id": "f"}], "children": [
            {"messageId": "2", "isCreatedByUser": False, "model": "gpt-x", "createdAt": ISO,
             "content": [
                 {"type": "think", "think": "word04"},
                 {"type": "tool_call", "tool_call": {
                     "id": "c1", "name": "look", "args": '{"a": "word05"}', "output": "word06"}},
                 {"type": "text", "text": {"value": "word07"}},
                 {"type": "error", "error": "word08 \ud800"}], "children": []},
            {"messageId": "3", "isCreatedByUser": False, "text": "word09", "createdAt": ISO,
             "children": [{"messageId": "4", "isCreatedByUser": True, "text": "word10",
                           "createdAt": ISO, "children": [
                               {"messageId": "5", "error": True, "text": "word11"}]}]}]}],
}  # fmt: skip


def zipped(**files: Any) -> bytes:
    """Return an archive; a name has its dots and slashes as ``_dot_`` and ``_in_``."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            told = name.replace("_dot_", ".").replace("_in_", "/")
            archive.writestr(told, data if isinstance(data, bytes) else json.dumps(data))
    return packed.getvalue()


EXPORTS: dict[str, tuple[str, Any, Any]] = {
    "chatgpt": ("export.zip", CHATGPT, zipped(**{
        "x_in_conversations-000_dot_json": CHATGPT[:1], "x_in_conversations-001_dot_json":
        CHATGPT[1:], "user_dot_json": {"id": 1}, "x_in_file-AbC123-cat_dot_png": PNG,
        "file_00f-1_dot_txt": b"word20"})),
    "claude_ai": ("claude.zip", CLAUDE, zipped(**{
        "conversations_dot_json": CLAUDE, "projects_dot_json": [{"name": "x"}],
        "u-1": PNG})),
    "open_webui": ("chat-export.json", WEBUI, WEBUI),
    "librechat": ("talk.json", LIBRE, LIBRE),
}  # fmt: skip
