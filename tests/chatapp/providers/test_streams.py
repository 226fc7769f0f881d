"""Answers as servers stream them: one table, through the real SDKs, a stand-in sends the bytes."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.ports import ToolSpec
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.providers.requests import request, stream, text_of
from tests.standin.behaviours import Answer
from tests.standin.server import Standin

WORDS = "alpha beta gamma"
USAGE = {"prompt_tokens": 100, "completion_tokens": 7}
TOOLS = tuple(ToolSpec(name, name, {"type": "object"}) for name in ("list_files", "write_file"))
WHERE = '{"path": "."}'
LISTED = (("list_files", {"path": "."}),)
DONE = b"data: [DONE]\n\n"
JSON = "application/json"


@dataclass(frozen=True)
class Row:
    """What a server sends, and what becomes of it; an ``error`` has these words."""

    name: str
    sent: Sequence[bytes]
    text: str = ""
    thought: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    reason: str = ""
    error: str = ""
    status: int | None = None
    again: bool = False
    overflow: bool = False
    pictures: int = 0
    kind: str = "text/event-stream"
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    door: int = 1


def event(data: Any, *, begin: str = "data: ", end: str = "\n\n") -> bytes:
    """Return an event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"{begin}{text}{end}".encode()


def chunk(
    reason: str | None = None, *, more: Mapping[str, Any] = {}, **said: Any
) -> dict[str, Any]:
    """Return a chunk of a chat completion."""
    choice = {"index": 0, "delta": said, "finish_reason": reason, **more}
    return {"id": "c", "choices": [choice]}


def spoken(text: str = WORDS, *more: Any, reason: str = "stop", **how: str) -> list[bytes]:
    """Return a stream that says a text word by word, then ``more``, and ends."""
    said = [
        chunk(content=f"{' ' if place else ''}{word}") for place, word in enumerate(text.split(" "))
    ]
    whole = [*said, *more, {**chunk(reason), "usage": USAGE}]
    return [*(event(one, **how) for one in whole), event("[DONE]", **how)]


def piece(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """Return a piece of a tool call."""
    function = {"name": name, "arguments": arguments}
    return {
        "type": "function",
        **more,
        "function": {k: v for k, v in function.items() if v is not None},
    }


def called(*pieces: dict[str, Any], reason: str = "tool_calls") -> list[bytes]:
    """Return a stream of pieces of tool calls, a chunk each."""
    said = [event(chunk(tool_calls=[one])) for one in pieces]
    return [event(chunk(content=None)), *said, event(chunk(reason)), DONE]


def argued(*pieces: Any, name: str = "list_files", reason: str = "tool_calls") -> list[bytes]:
    """Return a stream of one call with these pieces of arguments."""
    first, *rest = pieces
    later = [piece(None, one, index=0) for one in rest]
    return called(piece(name, first, index=0, id="a1"), *later, reason=reason)


def first(arguments: Any = WHERE, **more: Any) -> dict[str, Any]:
    """Return the first piece of a call that lists files, at place 0."""
    return piece("list_files", arguments, **{"index": 0, **more})


def later(arguments: Any, **more: Any) -> dict[str, Any]:
    """Return a later piece of the call at place 0."""
    return piece(None, arguments, **{"index": 0, **more})


def ended(reason: str = "stop", **said: Any) -> list[bytes]:
    """Return a stream of one chunk and its end."""
    return [event(chunk(**said)), event(chunk(reason))]


def failed(
    name: str,
    body: Any,
    error: str,
    status: int | None = None,
    *,
    overflow: bool = False,
    after: Sequence[bytes] = (),
) -> Row:
    """Return a failure that is said as a success; it is lasting where words came before it."""
    again = not (after or overflow or status == 402)
    sent, text = [*after, event(body), DONE], "half " if after else ""
    return Row(name, sent, text, error=error, status=status, again=again, overflow=overflow)


def begun(**block: Any) -> dict[str, Any]:
    """Return the other API's event that a block begins."""
    return {"type": "content_block_start", "index": 0, "content_block": block}


def delta(kind: str, **said: Any) -> dict[str, Any]:
    """Return the other API's event that says more of a block."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", **said}}


def claude(*said: Any, reason: str = "end_turn") -> list[bytes]:
    """Return a stream of the other API: events, or text of its first block."""
    named = [delta("text", text=one) if isinstance(one, str) else one for one in said]
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 9}}}
    block = [begun(type="text", text="")] if any(isinstance(one, str) for one in said) else []
    end = [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]
    return [event(one) for one in (start, *block, *named, *end)]


def used(*pieces: str, name: str = "list_files", reason: str = "tool_use") -> list[bytes]:
    """Return a stream of the other API that calls a tool with these pieces of input."""
    block = begun(type="tool_use", id="t", name=name, input={})
    return claude(block, *(delta("input_json", partial_json=one) for one in pieces), reason=reason)


def whole(text: str = WORDS) -> dict[str, Any]:
    """Return an answer that was not streamed."""
    message = {"role": "assistant", "content": text}
    return {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


DATA = "data:image/png;base64,iVBORw0KGgo="
PICTURE: dict[str, Any] = {"type": "image_url", "image_url": {"url": DATA}}
A, STOP = chunk(content="a"), event(chunk("stop"))
HALF, LAST = [event(chunk(content="half "))], chunk("stop", content="all")
LONG = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens"
SMILE = "日本 👨‍👩‍👧 é"
THEN = delta("text", text="a")
# As Azure begins.
NO_CHOICES = {"id": "", "choices": [], "prompt_filter_results": []}
MESSAGE = (
    b'{"type": "message", "content": [{"type": "text", "text": "alpha beta gamma"}],'
    b' "stop_reason": "end_turn", "usage": {"input_tokens": 1}}'
)
# Chunks that say nothing.
ODD: list[Any] = [
    [],
    7,
    {"choices": [7]},
    {"choices": [{"delta": 7}]},
    {"choices": [{"delta": {"content": 7, "tool_calls": [7, {"function": 7}], "reasoning": []}}]},
    {"choices": [{"delta": {"tool_calls": "a", "content": [7, {"type": "thinking"}]}}]},
    {"id": 7, "choices": [{"finish_reason": 7}]},
    {"usage": [], "choices": None},
]

FRAMING = [
    Row("one newline", spoken(end="\n"), WORDS),
    Row("one newline, all at once", [b"".join(spoken(end="\n"))], WORDS),
    Row("returns and newlines", spoken(end="\r\n\r\n"), WORDS),
    Row("returns", spoken(end="\r\r"), WORDS),
    Row("mixed ends", [*spoken(end="\r\n\n")[:2], *spoken(end="\r\r")[2:]], WORDS),
    Row("a mark of byte order", [b"\xef\xbb\xbf", *spoken()], WORDS),
    Row("no space", spoken(begin="data:"), WORDS),
    Row("ids and names", spoken(begin="id: 3\nretry: 1\nevent: message\ndata: "), WORDS),
    Row("a heartbeat", [*spoken()[:2], b"data: ping\n\n", *spoken()[2:]], WORDS),
    Row("an end of another kind", [*spoken()[:-1], b"data: END\n\n"], WORDS),
    Row("twice data", spoken(begin="data: data: "), WORDS),
    Row("comments", [b": OK\n\n", *spoken(begin=": x\n\ndata: ")], WORDS),
    Row("lines of data", [one.replace(b", ", b",\ndata: ") for one in spoken()], WORDS),
    Row("no blank line at the end", [*HALF, event(LAST, end="\n")], "half all"),
    Row("no end at the end", [*HALF, event(LAST, end="")], "half all"),
    Row("on one line", [b"".join(spoken(end="")) + b"\n\n"], WORDS),
    Row("on one line, without their names", [event(A, end="") + STOP.removeprefix(b"data: ")], "a"),
    Row("labelled as JSON", spoken(), WORDS, kind=JSON),
    Row("labelled as text", spoken(), WORDS, kind="text/plain; charset=utf-8"),
    Row("not labelled", spoken(), WORDS, kind=""),
    Row("lines of JSON", spoken(begin="", end="\n")[:-1], WORDS, kind="application/x-ndjson"),
    Row("lines of JSON, labelled as a stream", spoken(begin="", end="\r\n"), WORDS),
    Row("not streamed", [event(whole(), begin="", end="")], WORDS, kind=JSON),
    Row("not streamed, in lines", [json.dumps(whole(), indent=1).encode()], WORDS),
    Row("not streamed, as an event", [event(whole()), DONE], WORDS),
    Row("a list of chunks", [event([A, chunk("stop", content="b")], begin="")], "ab"),
    Row("gzip", [gzip.compress(b"".join(spoken()))], WORDS, headers={"content-encoding": "gzip"}),
    Row("a byte at a time", [bytes([b]) for b in b"".join(spoken(SMILE))], SMILE),
    *[
        Row(f"a bare {odd!r}", [event(A).replace(b'"a"', b'"' + odd + b'"'), STOP], read)
        for odd, read in ((b"a\tb", "a\tb"), (b"\xe6\x80b", "\ufffdb"))
    ],
    Row("an empty chunk first", [event(NO_CHOICES), *spoken()], WORDS),
    Row("no choices first", [event({"choices": None, "usage": None}), *spoken()], WORDS),
    Row("half", [*HALF], "half ", error="broke off"),
    Row("half, no end by its name", ended("null", content="half "), "half ", error="broke off"),
    Row("an end by another name", [event(chunk(more={"finishReason": "STOP"}, content="a"))], "a"),
    Row("an end without a reason", [*HALF, DONE], "half "),
    Row("an error behind the end", [*spoken()[:-1], event({"error": "not logged"})], WORDS),
    *[
        Row(
            f"whole, without an end: {text}",
            [sent],
            text,
            error="broke off",
            again=not text,
            kind=JSON,
        )
        for text in ("One", "")
        for sent in [event({"choices": [{"message": {"content": text}}]}, begin="", end="")]
    ],
    *[
        Row(f"odd: {odd}", [event(chunk(content="So")), event(odd), *ended(content=".")], "So.")
        for odd in ODD
    ],
    Row("a page", [b"<!doctype html>\n<html>Sign in</html>"], error="not as a model does"),
    Row("claude, one newline", [b"".join(claude("a", "b")).replace(b"\n\n", b"\n")], "ab", door=0),
    Row("claude, a byte at a time", [bytes([b]) for b in b"".join(claude(SMILE))], SMILE, door=0),
    Row("claude, no stop", claude("a")[:-1], "a", door=0),
    Row("claude, another server's end", [*claude("a")[:-1], DONE], "a", door=0),
    Row("claude, not streamed", [MESSAGE], WORDS, kind=JSON, door=0),
    Row("claude, no end", [b"".join(claude("a")).rstrip()], "a", door=0),
    Row("claude, no beginning", claude("a")[1:], "a", door=0),
    Row(
        "claude, a number as text",
        [one.replace(b'": 0', b'": "0"') for one in claude("a")],
        "a",
        door=0,
    ),
    Row(
        "claude, no number",
        [one.replace(b'"index": 0, ', b"") for one in claude("a", "b")],
        "ab",
        door=0,
    ),
    Row(
        "claude, one place for all",
        claude(begun(type="thinking", thinking=""), delta("thinking", thinking="Hm."), THEN),
        "a",
        "Hm.",
        door=0,
    ),
    Row(
        "claude, no block",
        [*claude()[:1], event(delta("text", text="a")), *claude()[1:]],
        "a",
        door=0,
    ),
]

BROKE = {"code": 502, "message": "upstream boom"}
BOOM = {"error": BROKE}
NESTED = {"message": "Failed.", "code": 502, "metadata": {"raw": json.dumps(BOOM)}}
BEHIND = {"message": "Provider returned error", "code": 502, "metadata": {"raw": "boom"}}
EXHAUSTED = {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}
LIMITED = {"code": 1302, "msg": "rate limited by vendor", "success": False}
BALANCE = {"status_code": 1008, "status_msg": "insufficient balance"}
REFUSED = {"object": "error", "message": LONG, "type": "BadRequestError", "code": 400}
FOUND = [{"loc": ["body"], "msg": LONG}]
INSPECTED = {"code": "DataInspectionFailed", "message": "It may be inappropriate content."}
PAGE = b"<!doctype html><title>Just a\n moment</title><p>secret"
FINE = {**A, "base_resp": {"status_code": 0, "status_msg": ""}}
FULL_WINDOW = {
    "error": {"code": 400, "type": "exceed_context_size_error", "message": "exceeds the context"}
}
TEMPERATURE = {"code": 400, "type": "invalid_request_error", "message": "temperature: unknown"}
ERROR, OWN = "event: error\ndata: ", "problem"
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}
ERRORS = [
    failed("in a choice", chunk("error", more=BOOM), "upstream boom", 502),
    failed("in a choice, after words", chunk("error", more=BOOM), "upstream boom", after=HALF),
    failed("beside choices", {**chunk("error"), **BOOM}, "upstream boom", after=HALF),
    Row(
        "words in one read", [b"".join([*HALF, event(BOOM), DONE])], "half ", error="upstream boom"
    ),
    failed("in a delta", chunk(**BOOM), "upstream boom", 502),
    failed("in capitals", {"Message": "upstream boom"}, "upstream boom"),
    failed("in JSON as text", {"error": NESTED}, "Failed. upstream boom"),
    failed("as an end", chunk("error"), "finish_reason: error"),
    failed("network_error", chunk("network_error"), "network_error", after=HALF),
    failed("malformed call", chunk("MALFORMED_FUNCTION_CALL"), "MALFORMED"),
    failed("a string", {"error": "model crashed", "message": "x"}, "model crashed"),
    failed("true", {"error": True, "message": "model crashed"}, "model crashed"),
    failed("overflow as an object", REFUSED, "4096", overflow=True),
    failed("overflow as detail", {"detail": LONG}, "4096", overflow=True),
    failed(
        "overflow as findings", {"detail": [{"loc": ["body"], "msg": LONG}]}, "4096", overflow=True
    ),
    failed("overflow as msg", {"code": 20015, "msg": LONG}, "4096", overflow=True),
    failed("detail", {"detail": "Model is overloaded"}, "overloaded", 529),
    failed("rate limit", LIMITED, "rate limited by vendor", 429),
    failed("empty account", {"choices": None, "base_resp": BALANCE}, "insufficient balance", 402),
    Row("a fine base_resp", [event(FINE), *spoken("b")], "ab"),
    Row("inspected", [event(INSPECTED)], error="inappropriate", status=400),
    *[
        Row(
            f"{code}: {words}",
            [sent],
            error=words,
            status=code,
            code=code,
            again=code > 500,
            kind=kind,
        )
        for code, words, sent, kind in (
            (400, "request: Just a\n moment", PAGE, "text/html"),
            (
                403,
                "said: Your region is not supported",
                b'{"error": "Your region is not supported"}',
                JSON,
            ),
            (
                404,
                "said: No endpoints match your policy",
                b'{"detail": "No endpoints match your policy"}',
                JSON,
            ),
            (
                503,
                "said: The model is still loading",
                b'{"message": "The model is still loading"}',
                JSON,
            ),
        )
    ],
    failed("a list", [{"error": EXHAUSTED}], "Resource exhausted", 429),
    Row(
        "a whole body",
        [b'{"error":{"message":"quota is gone","code":"insufficient_quota"}}'],
        error="quota is gone",
        status=402,
        kind=JSON,
    ),
    failed("behind a gateway", {"error": BEHIND}, "boom", 502),
    Row(
        "bare, after a stream",
        [*HALF, b'{"error": {"message": "engine died"}}\n'],
        "half ",
        error="engine died",
    ),
    failed("filtered", chunk("content_filter"), "declined", after=HALF),
    failed("sensitive", chunk("sensitive"), "declined", after=HALF),
    Row("named", [b'event: error\ndata: {"message": "boom"}\n\n'], error="boom", again=True),
    *[
        Row(f"an end: {given}", spoken(reason=given), WORDS, reason=meant)
        for given, meant in (
            *(("stop", "end_turn"), ("STOP", "end_turn"), ("eos", "end_turn")),
            *(("length", "max_tokens"), ("MAX_TOKENS", "max_tokens"), ("weather", "weather")),
        )
    ],
    failed("a code alone", {"error": {"code": "rate_limit_exceeded"}}, "rate_limit_exceeded", 429),
    failed("overflow after words", FULL_WINDOW, "exceeds", overflow=True, after=HALF),
    Row(
        "not streamed",
        [json.dumps(FULL_WINDOW).encode()],
        error="exceeds",
        overflow=True,
        kind=JSON,
    ),
    # It is not asked for again without what was refused: the words would come twice.
    failed("refused after words", {"error": TEMPERATURE}, "temperature", after=HALF),
    Row(
        "claude, an error",
        [*claude("half ")[:3], event(OVERLOADED)],
        "half ",
        error="overloaded",
        status=529,
        door=0,
    ),
    Row("claude, another server's", [event({"detail": LONG})], error="4096", overflow=True, door=0),
    *[
        Row(
            f"claude, {reason}",
            claude("half ", reason=reason),
            "half ",
            error=words,
            overflow=full,
            door=0,
        )
        for reason, words, full in (
            ("error", "error", False),
            ("refusal", "declined", False),
            ("model_context_window_exceeded", "did not fit", True),
        )
    ],
    *[
        Row(
            f"claude, {body}",
            [*claude("half ")[:3], event(body, begin=ERROR)],
            "half ",
            error=OWN,
            door=0,
        )
        for body in ("null", '{"error": []}')
    ],
    Row(
        "claude, another kind", [b'{"status": "ok"}'], error="Check the base URL", kind=JSON, door=0
    ),
]

EMPTY, CUT = "empty answer", "longest allowed length"
EMPTIES = [
    *[
        Row(name, [*sent, DONE], error=error, again=True)
        for name, error, sent in (
            ("nothing", EMPTY, ended(content="")),
            ("the end alone", EMPTY, []),
            ("blanks", EMPTY, ended(content=" \n")),
            ("only thoughts", EMPTY, ended(reasoning_content="Hm.")),
            ("thoughts to the limit", CUT, ended("length", reasoning="Hm.")),
            ("only tags", EMPTY, spoken("<think>Hm.</think>")[:-1]),
        )
    ],
    Row("claude, nothing", claude(), error=EMPTY, again=True, door=0),
]

ELSEWHERE = {"image_url": {"url": "https://x.org/a.png"}}
JPEG = {"type": "base64", "data": "/9j/4A=="}
DETAIL = {"type": "reasoning.text", "text": "Hm."}
CITED = {
    "citations": ["https://x.org/1"],
    "search_results": [{"url": "https://x.org/1", "title": "X"}],
}
NOTED = [{"type": "url_citation", "url_citation": {"url": "https://x.org/", "title": "A [b]"}}]
SO = {"type": "text", "text": "So."}
THOUGHTS = [
    {"type": "thinking", "thinking": one} for one in ("Hm.", [{"type": "text", "text": "Hm."}])
]
END_OF_ALL = {"message": {"content": "a", "reasoning": "Hm."}, "finish_reason": "stop"}
SHAPES = [
    Row("pictures", ended(content="Here", images=[PICTURE]), "Here", pictures=1),
    Row("a picture alone", ended(images=[PICTURE]), pictures=1),
    *[
        Row(f"a picture: {[*part]}", ended(content=[part]), pictures=1)
        for part in (
            PICTURE,
            {"b64_json": "iVBORw0KGgo="},
            {"type": "image", "source": JPEG},
            {"type": "output_image", "image_url": DATA},
        )
    ],
    *[
        Row(f"details: {[*said]}", [event(chunk(**said)), *spoken("So.")], "So.", "Hm.")
        for said in (
            {"reasoning_details": [{**DETAIL, "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm.", "index": 0}]},
            {"reasoning": "Hm.", "reasoning_details": [DETAIL]},
            {"reasoning_text": "Hm."},
            {"thinking": {"content": "Hm."}},
            {"reasoning_content": [{"type": "text", "text": "H"}, "m."]},
            {"thinking_blocks": THOUGHTS[:1]},
            {"content": [{"type": "reasoning", "text": "Hm."}]},
        )
    ],
    *[
        Row(f"text: {one}", ended(content=one), "So.")
        for one in ({"text": "So."}, ["So", "."], [{"type": "text", "text": {"value": "So."}}])
    ],
    *[
        Row(
            f"again as a whole: {[*last]}",
            [event(A), event({"choices": [{**last, **END_OF_ALL}]})],
            "a",
        )
        for last in ({}, {"delta": {}})
    ],
    Row("output_text", ended(content=[{"type": "output_text", "text": "So."}]), "So."),
    Row(
        "calls without a list",
        ended("tool_calls", tool_calls=piece("list_files", WHERE)),
        calls=LISTED,
    ),
    Row(
        "a picture elsewhere",
        ended(content=[ELSEWHERE]),
        "1. [https://x.org/a.png](<https://x.org/a.png>)",
    ),
    Row(
        "citations",
        [event({**chunk(content="So [1]."), **CITED}), STOP],
        "So [1].\n\n1. [X](<https://x.org/1>)",
    ),
    Row(
        "annotations",
        ended(content="See.", annotations=NOTED),
        "See.\n\n1. [A b](<https://x.org/>)",
    ),
    Row("a script as a source", [event({**A, "citations": ["javascript:alert(1)"]}), STOP], "a"),
    Row(
        "function_call",
        [
            event(chunk(function_call={"name": "list_files", "arguments": '{"path":'})),
            *ended("function_call", function_call={"arguments": '"."}'}),
        ],
        calls=LISTED,
    ),
    Row("refusal", ended(refusal="I can't."), "I can't."),
    Row("a message", [event(whole("Hi.")), DONE], "Hi."),
    *[Row(f"parts: {one}", ended(content=[one, SO]), "So.", "Hm.") for one in THOUGHTS],
    *[
        Row(
            f"thoughts: {name}",
            [
                *(event(chunk(**{name: said})) for said in ("\n", "\nHm. ")),
                event(chunk(reasoning="Well.", reasoning_content="Well.")),
                *spoken("So."),
            ],
            "So.",
            "Hm. Well.",
        )
        for name in ("reasoning", "reasoning_content")
    ],
    *[
        Row(name, [event({"choices": one}) for one in choices], said)
        for name, said, *choices in (
            (
                "no delta",
                "a",
                [{"delta": None, "message": {"content": "a"}, "finish_reason": "stop"}],
            ),
            (
                "the second place alone",
                "a",
                [{"index": 1, "delta": {"content": "a"}}],
                [{"index": 1, "delta": {}, "finish_reason": "stop"}],
            ),
            (
                "two answers",
                "ab",
                [
                    {"index": 0, "delta": {"content": "a"}},
                    {"index": 1, "delta": {"content": "X"}},
                ],
                [{"index": 1, "delta": {"content": "X"}, "finish_reason": "stop"}],
                [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}],
            ),
            (
                "completions",
                "ab",
                [{"index": 0, "text": "a"}],
                [{"index": 0, "text": "b", "finish_reason": "stop"}],
            ),
        )
    ],
]

CHANNELS = (
    "<|channel|>analysis<|message|>Hm.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>So.<|return|>"
)
TAGGED = {
    "a tag": ("<think>\nHm.\n</think>\n\nSo.", "Hm.", "So."),
    "another tag": ("<thinking>Hm.</thinking>\nSo.", "Hm.", "So."),
    "a thought": ("<thought>Hm.</thought>So.", "Hm.", "So."),
    "reasoning": ("<Reasoning>Hm.</Reasoning>So.", "Hm.", "So."),
    "brackets": ("[THINK]Hm.[/THINK]So.", "Hm.", "So."),
    "triangles": ("◁think▷Hm.◁/think▷So.", "Hm.", "So."),
    "channels": (CHANNELS, "Hm.", "So."),
    "no opening": ("Hm. Well.\n</think>\n\nSo.", "Hm. Well.", "So."),
    "no opening, with code": ("```\nx = 1\n```\nHm.</think>So.", "```\nx = 1\n```\nHm.", "So."),
    "the closing alone": ("</think>\n\nSo.", "", "So."),
    "two": ("<think>Hm.</think>So, <think>Well.</think> yes.", "Hm.¦Well.", "So, ¦yes."),
    "after text": ("So, <think>Hm.</think>yes.", "Hm.", "So, ¦yes."),
    "named": ("<think>They ask of `</think>`.</think>So.", "They ask of `</think>`.", "So."),
    "closed by another": ("<think>Hm.</thinking>So.", "Hm.", "So."),
    "a frame alone": ("<|channel|>final<|message|>So.<|return|>", "", "So."),
    "no opening, of paragraphs": ("Hm.\n\nWell, yes. </think>So.", "Hm.\n\nWell, yes. ", "So."),
    "unused tokens": ("<unused94>Hm.<unused95>So.", "Hm.", "So."),
    **{
        f"no tag: {text}": (text, "", text)
        for text in (
            "Write `<think>` and `</think>`.",
            "Like this:\n\n```\n<think>\nHm.\n</think>\n```\n",
            "So <think> is a tag.",
            "It ends with <|end|>.",
            "So.\n\nIt ends\nwith </think> there.\n\nYes.",
            "So <thi",
            "[x] a < b <b> [th",
        )
    },
}

INVALID = [
    ("cut", '{"path": "a.txt", "content": "half'),
    ("cut after an end", '{"content": "function() {}'),
    ("two calls", '{"path": "a"}{"path": "b"}'),
    ("a list", "[1]"),
    ("text", "list the files"),
    # Python reads it, and gives up where an input is too deep.
    ("no number", '{"start_line": NaN}'),
    ("deep", "[" * 100_000),
    ("deep objects", '{"a": ' * 100_000),
]
BEGIN, END = '{"path": ', '"."}'
HARMLESS = [
    ("null", {}, ("null",)),
    ("nothing", {}, ("",)),
    ("no word", {}, (None,)),
    ("an object", {"path": "."}, ({"path": "."},)),
    ("a string", {"path": "."}, (json.dumps(WHERE),)),
    ("a comma", {"path": "."}, ('{"path": ".",}',)),
    ("a token", {"path": "."}, (f"{WHERE}<|im_end|>",)),
    ("a list for nothing", {}, ("[]",)),
    ("a fence", {"path": "."}, (f"```json\n{WHERE}\n```",)),
    ("a newline", {"path": "a\nb"}, ('{"path": "a\nb"}',)),
    ("Python: None", {"path": ".", "deep": None}, ("{'path': '.', 'deep': None}",)),
    ("Python: True", {"path": ".", "deep": True}, ('{"path": ".", \'deep\': True}',)),
    ("Python: quotes", {"path": ".", "deep": "it's"}, ("{'path': '.', 'deep': \"it's\"}",)),
    ("escaped twice", {"path": "."}, ('{\\"path\\": \\".\\"}',)),
    ("a remark", {"path": "."}, (f"{WHERE} I will list them.",)),
    ("an escape", {"path": r"\d"}, (r'{"path": "\d"}',)),
    ("twice", {"path": "."}, (WHERE, WHERE)),
    ("the last piece twice", {"path": "."}, (BEGIN, END, END)),
    ("one end too many", {"path": "."}, (WHERE, "}")),
    ("empty first", {"path": "."}, ("{}", WHERE)),
    ("empty last", {"path": "."}, (WHERE, "{}")),
    ("as it was stored", {"path": "."}, (json.dumps({"_unparsed": WHERE}),)),
    ("half a letter", {"path": "é😀"}, ('{"path": "\\u00', "e9\\ud83d", '\\ude00"}')),
]
PARAMETERS = '<parameter name="path" string="true">.</parameter>'
INVOKED = f'<invoke name="list_files">{PARAMETERS}</invoke>'
SAID = '{"name": "list_files", "arguments": {"path": "."}}'
FULL = "<|tool▁calls▁begin|><|tool▁call▁begin|>{}<|tool▁call▁end|><|tool▁calls▁end|>"
FULL = FULL.replace("|", "\uff5c")
KIMI = "<|tool_call_begin|>functions.list_files:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
KEYED = "<tool_call>list_files\n<arg_key>path</arg_key>{}<arg_value>.</arg_value>{}</tool_call>"

# Calls as models of many makers write them; in the second list alone in their answers.
WRITTEN = [
    f"<tool_call>{SAID}</tool_call>",
    f"<tool_call>\n{SAID}\n",
    "<tool_call>{'name': 'list_files', 'arguments': {'path': '.'}}</tool_call>",
    '<tool_call>{"name": "list_files", "arguments": "{\\"path\\": \\".\\"}"}</tool_call>',
    '<function=list_files{"path": "."}</function>',
    '<function=list_files>{"path": "."}</function>',
    "<tool_call>\n<function=list_files>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>",
    '<function name="list_files"><param name="path">.</param></function>',
    f'<function_calls>\n<invoke name="list_files">\n{PARAMETERS}\n</invoke>\n</function_calls>',
    f"<minimax:tool_call>\n{INVOKED}\n</minimax:tool_call>",
    *[
        text.replace("<", f"<{mark}").replace(f"<{mark}/", f"</{mark}")
        for text, mark in (
            (f"<|tool|>{INVOKED}</|tool|>", "|DSML|"),
            (f"<tool>{INVOKED}</tool>", "\uff5cDSML\uff5c"),
        )
    ],
    KEYED.format("\n", "\n"),
    f"<|tool_calls_section_begin|>{KIMI.format(WHERE)}<|tool_calls_section_end|>",
    FULL.format(f"function<\uff5ctool▁sep\uff5c>list_files\n```json\n{WHERE}\n```"),
    FULL.format(f"list_files<\uff5ctool▁sep\uff5c>{WHERE}"),
    f"[TOOL_CALLS]list_files[ARGS]{WHERE}",
    f"[TOOL_CALLS]list_files{WHERE}",
    f"<|channel|>commentary to=functions.list_files <|constrain|>json<|message|>{WHERE}<|call|>",
]
ALONE = [
    SAID,
    f"[{SAID}]",
    f"```json\n{SAID}\n```",
    f"[TOOL_CALLS][{SAID}]",
    f"<|python_tag|>{SAID.replace('arguments', 'parameters')}",
    f"<|tool_call|>[{SAID}]",
    '{"type": "function", "function": {"name": "list_files", "parameters": {"path": "."}}}',
]
# What is said of calls, and is none.
NO_CALLS = (
    '`<tool_call>{"name": "list_files"}</tool_call>` calls it.',
    '<tool_call>{"name": "list_files", "arguments": {}}</tool_call> is how to call it.',
    '<tool_call>{"name": "fly", "arguments": {}}</tool_call>',
    '{"name": "list_files", "version": 1}',
    '{"name": "list_files"}',
    '[1, {"name": "list_files"}]',
    f"So:\n\n```json\n{SAID}\n```",
    f"{SAID} is a call.",
    "[TOOL_CALLS]",
    "A\uff5cB [1] <\uff5c [TOOL_CALLS] is a token.",
    KIMI.format('{"path": '),
)
NAMES = (
    *(" list_files ", "List_Files", "functions.list_files", "default_api.list_files"),
    *("default_api:list_files", "functions.list_files:0", "repo_browser.list_files"),
    *("list_files<|constrain|>json", "list_files()", "list-files", "listFiles"),
    "list_files<|channel|>commentary",
)
BOTH, FLY, LIMIT = (*LISTED, *LISTED), "functions.fly", "max_tokens"
BRACES, OTHER, UNREAD = (
    (("list_files", {name: read}),)
    for name, read in (("path", "{{"), ("path", "b"), ("_unparsed", ""))
)
NULL = {"index": 0, "id": "a", "function": {"name": "list_files", "arguments": None}}
# Until its arguments are whole, a name that comes with each piece names one call.
NAMED, TEXT = ("", '{"path": "{}', '"', "}"), (("list_files", {"path": "{}"}),)
CALLED = {"index": 0, "id": "a", "function": {"name": "list_files", "parameters": {"path": "."}}}
START = piece("list_", "", index=0, id="a")
FLAT: dict[str, Any] = {"name": "list_files", "arguments": WHERE}
GIVEN = WHERE, '{"path": "b"}'
CHOICE = {
    "finish_reason": "tool_calls",
    "message": {"content": None, "tool_calls": [piece("list_files", WHERE, id="z")]},
}
FAILED = {
    "message": "Failed to call a function.",
    "code": "tool_use_failed",
    "failed_generation": '<function=list_files{"path": "."}</function>',
}
USE = begun(type="tool_use", name="list_files", input={"path": "."})
BLOCK = USE["content_block"]
TWIN = begun(type="tool_use", name="list_files", input={"path": "."}, id="t")
BARE = begun(type="tool_use", name="list_files", id="t")
CALLS = [
    *[
        Row(f"arguments: {name}", argued(*given), calls=(("list_files", read),))
        for name, read, given in HARMLESS
    ],
    *[
        Row(f"claude: {name}", used(*given), calls=(("list_files", read),), door=0)
        for name, read, given in HARMLESS
        if all(isinstance(one, str) for one in given)
    ],
    *[
        Row(f"{name}, door {door}", sent, calls=(("list_files", {"_unparsed": raw}),), door=door)
        for name, raw in INVALID
        for door, sent in enumerate((used(raw), argued(raw)))
    ],
    Row("nothing before the limit", argued("", reason="length"), calls=UNREAD, reason=LIMIT),
    Row("whole at the limit", argued(WHERE, reason="length"), calls=LISTED, reason=LIMIT),
    Row(
        "claude, nothing before the limit",
        used(reason="max_tokens"),
        calls=UNREAD,
        reason=LIMIT,
        door=0,
    ),
    Row("braces that begin alike", argued("{", '"path": "', "{", "{", '"}'), calls=BRACES),
    Row(
        "repeated at the end",
        [
            event(chunk(tool_calls=[first(id="a")])),
            event(chunk("tool_calls", tool_calls=[first(id="a")])),
        ],
        calls=LISTED,
    ),
    *[
        Row(name, called(*pieces), calls=calls)
        for name, calls, *pieces in (
            ("all so far: pieces", LISTED, first('{"pa'), later('{"path": "'), later(WHERE)),
            ("all so far: twice", LISTED, first('{"path": "."'), later(WHERE), later(WHERE)),
            ("all so far: named", LISTED, first('{"pa', id="a"), first(id="a")),
            ("parameters", LISTED, CALLED),
            ("another id later", LISTED, first(BEGIN, id="a"), later(END, id="b")),
            ("an empty id later", LISTED, first(BEGIN, id="a"), later(END, id="")),
            ("two at one place", BOTH, first(id="a"), first(id="b")),
            ("two without ids", (*LISTED, *OTHER), first(), first('{"path": "b"}')),
            *[
                (
                    f"two with one id: {more}",
                    (*LISTED, *OTHER),
                    *[piece("list_files", one, id="a", **more) for one in GIVEN],
                )
                for more in ({"index": 0}, {})
            ],
            ("no function", LISTED, {"index": 0, "id": "a", "function": None, **FLAT}),
            ("args", LISTED, {"name": "list_files", "args": {"path": "."}}),
            ("two with one id", BOTH, first(id="a"), first(index=1, id="a")),
            ("a gap", BOTH, first(id="a"), first(index=2, id="b")),
            ("no places", BOTH, *[piece("list_files", WHERE, id=one) for one in "ab"]),
            (
                "no places, in parts",
                BOTH,
                piece("list_files", BEGIN, id="a"),
                piece(None, END),
                piece("list_files", WHERE, id="b"),
            ),
            (
                "in turns",
                (*LISTED, ("write_file", {})),
                first("", id="a"),
                piece("write_file", "", index=1, id="b"),
                later(BEGIN),
                piece(None, "{}", index=1),
                later(END),
            ),
            ("name and id in each piece", LISTED, first(BEGIN, id="a"), first(END, id="a")),
            ("null for no word", (("list_files", {}),), NULL),
            *[
                (
                    f"a name in each piece: {more}",
                    TEXT,
                    *[piece("list_files", one, **more) for one in NAMED],
                )
                for more in ({"index": 0}, {})
            ],
            (
                "a name in each piece, and calls after it",
                (*TEXT, *LISTED, ("write_file", {})),
                *[piece("list_files", one) for one in (*NAMED, BEGIN, END)],
                piece("write_file", "{}"),
            ),
            *[
                (f"place {one!r}", LISTED, first(BEGIN, index=one, id="a"), later(END, index=one))
                for one in (None, "0", 0.0)
            ],
            ("no id", LISTED, first()),
            (
                "a split name",
                LISTED,
                piece("list_", "", index=0, id="a"),
                piece("files", WHERE, index=0),
            ),
            ("a growing name", LISTED, START, first()),
            ("a late name", LISTED, later(BEGIN, id="a"), first(END)),
        )
    ],
    Row(
        "two in one piece",
        [event(chunk(tool_calls=[piece(one, "{}") for one in ("list_files", "write_file")])), STOP],
        calls=(("list_files", {}), ("write_file", {})),
    ),
    *[Row(f"name {name!r}", argued(WHERE, name=name), calls=LISTED) for name in NAMES],
    Row("claude, a name", used(WHERE, name="functions.list_files"), calls=LISTED, door=0),
    Row("an unknown name", argued(WHERE, name=FLY), calls=((FLY, {"path": "."}),)),
    Row("ended as an answer", argued(WHERE, reason="stop"), calls=LISTED, reason="tool_use"),
    Row(
        "in a message",
        [event({"choices": [CHOICE]})],
        calls=LISTED,
    ),
    *[
        Row(
            f"written: {one}", spoken(f"I look.\n{one}"), "I look.", calls=LISTED, reason="tool_use"
        )
        for one in WRITTEN
    ],
    *[Row(f"alone: {text}", spoken(text), calls=LISTED) for text in ALONE],
    *[
        Row(f"two: {text}", spoken(text), calls=BOTH)
        for text in (
            KIMI.format(WHERE) * 2,
            f"[{SAID}, {SAID}]",
            f"[TOOL_CALLS]list_files{WHERE}" * 2,
            KEYED.format("", "") * 2,
        )
    ],
    *[
        Row(f"claude: {name}", claude(*said, reason="tool_use"), calls=calls, door=0)
        for name, calls, *said in (
            ("no id", LISTED, USE),
            ("an empty id", LISTED, {**USE, "content_block": {**USE["content_block"], "id": ""}}),
            ("one id twice", BOTH, TWIN, {**TWIN, "index": 1}),
            ("one place twice", BOTH, begun(type="thinking", thinking=""), TWIN, USE),
            ("no input", LISTED, BARE, delta("input_json", partial_json=WHERE)),
            ("an object piecewise", LISTED, BARE, delta("input_json", partial_json={"path": "."})),
            ("a text for input", LISTED, {**USE, "content_block": {**BLOCK, "input": WHERE}}),
        )
    ],
    Row("claude, written", claude(f"<tool_call>{SAID}</tool_call>"), calls=LISTED, door=0),
    *[Row(f"no call: {text}", spoken(text), text) for text in NO_CALLS],
    Row(
        "written in a refusal",
        [json.dumps({"error": FAILED}).encode()],
        calls=LISTED,
        kind=JSON,
        code=400,
    ),
]


TABLES = {"framing": FRAMING, "errors": ERRORS, "empty": EMPTIES, "shapes": SHAPES, "calls": CALLS}


@pytest.mark.parametrize("table", TABLES)
async def test_an_answer_is_what_the_server_means(table: str, standin: Standin) -> None:
    """In events as it comes, and whole at the end; or an error with the server's own words."""
    providers = [door.provider(standin) for door in DOORS]
    wrong: dict[str, object] = {}
    for row in TABLES[table]:
        standin.then(Answer(row.sent, row.kind, row.code, row.headers))
        shown, output, failed_ = "", "", None
        last = events.ReplyCompleted((), "", condense.Usage())
        began: list[tuple[str, str]] = []
        try:
            async for one in stream(providers[row.door], request("Hi", tools=TOOLS)):
                match one:
                    case events.TextStreamed(said):
                        shown += said
                    case events.ToolUseStarted(id_, name):
                        began.append((id_, name))
                    case events.OutputStreamed(said):
                        output += said
                    case events.ReplyCompleted():
                        last = one
        except ProviderError as error:
            failed_ = error
        kept = text_of(last.content).strip()
        calls = [one for one in last.content if isinstance(one, condense.ToolUseBlock)]
        thoughts = [one.to_api().get("thinking") for one in last.content]
        pictures = sum(isinstance(one, condense.ImageBlock) for one in last.content)
        names = [(one.id, one.name) for one in calls]
        holds = {
            "error": bool(failed_) == bool(row.error),
            "words": row.error in str(failed_) if failed_ else True,
            "retry": (failed_ and failed_.retryable) in (None, row.again),
            "overflow": isinstance(failed_, ContextOverflow) == row.overflow,
            "status": row.status is None or (failed_ is not None and failed_.status == row.status),
            "seen": bool(row.calls) or shown.strip() == row.text.strip(),
            "kept": bool(row.error) or kept == row.text.strip(),
            "calls": [(one.name, one.input) for one in calls] == [*row.calls],
            "output": all(one.get("_unparsed", "") in output for _, one in row.calls),
            "ids": len({one.id for one in calls}) == len(calls) and began in ([], names),
            "pictures": pictures == row.pictures,
            "thought": row.thought in ("", *thoughts),
            "reason": last.stop_reason
            == (row.reason or ("tool_use" if row.calls else last.stop_reason)),
        }
        if not all(holds.values()):
            wrong[row.name] = [name for name, is_so in holds.items() if not is_so], failed_, last
    assert wrong == {}


@pytest.mark.parametrize("door", DOORS, ids=lambda one: one.name)
async def test_thinking_is_told_from_text_wherever_its_tags_are_cut(
    door: Door, standin: Standin
) -> None:
    """A letter at a time, in pieces, and whole; as it is shown and as it is kept."""
    provider, wrong = door.provider(standin), {}
    for name, (text, thought, answer) in TAGGED.items():
        for size in (1, 3, 1_000):
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            chat = [*(event(chunk(content=one)) for one in pieces), event(chunk("stop")), DONE]
            standin.then(Answer(chat if door is DOORS[1] else claude(*pieces)))
            shown = {"text": "", "thinking": ""}
            last = events.ReplyCompleted((), "", condense.Usage())
            async for one in stream(provider, request("Hi")):
                match one:
                    case events.StreamDiscarded():
                        shown = {"text": "", "thinking": ""}
                    case events.TextStreamed(said):
                        shown["text"] += said
                    case events.ThinkingStreamed(said):
                        shown["thinking"] += said
                    case events.ReplyCompleted():
                        last = one
            texts = [one.text for one in last.content if isinstance(one, condense.TextBlock)]
            thoughts = [
                one.data["thinking"]
                for one in last.content
                if isinstance(one, condense.OpaqueBlock)
            ]
            kept = "¦".join(thoughts), "¦".join(texts)
            seen = shown["thinking"].strip(), shown["text"].strip()
            meant = thought.replace("¦", "").strip(), answer.replace("¦", "").strip()
            if kept != (thought, answer) or seen != meant:
                wrong[name, size] = kept, seen
    assert wrong == {}
