"""What servers of known vendors refuse, each refusal with the public report that quotes it.

A rule is a pure function from a request's body to the server's sentence, "" where it takes the
request. They come on top of the rules of the API, of which a vendor takes some ``keys`` more.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.standin.chat_rules import violations

Body = Mapping[str, Any]
Check = Callable[[Body], str]

REASONING = ("reasoning_content", "reasoning", "reasoning_details")


def _replies(body: Body, *, calling: bool = True) -> Iterator[tuple[int, Body]]:
    for index, message in enumerate(body["messages"]):
        if message["role"] == "assistant" and (message.get("tool_calls") or not calling):
            yield index, message


def needs(field: str, sentence: str) -> Check:
    """Return a rule that each reply with a tool call has a field, and not an empty one."""
    return lambda body: next(
        (sentence.format(index) for index, one in _replies(body) if not one.get(field)), ""
    )


def takes_none(sentence: str) -> Check:
    """Return a rule that no reply says what its model thought."""

    def check(body: Body) -> str:
        found = [(i, k) for i, one in _replies(body, calling=False) for k in one if k in REASONING]
        return sentence.format(index=found[0][0], key=found[0][1]) if found else ""

    return check


def at_most(name: str, most: int, sentence: str) -> Check:
    """Return a rule for a parameter's range."""
    return lambda body: sentence if (body.get(name) or 0) > most else ""


def lacks(name: str, sentence: str) -> Check:
    """Return a rule that a parameter isn't known."""
    return lambda body: sentence if name in body else ""


def no_null(sentence: str) -> Check:
    """Return a rule that every message has text."""
    return lambda body: sentence if any(one["content"] is None for one in body["messages"]) else ""


def images(most: int, sentence: str) -> Check:
    """Return a rule for the number of images."""
    return lambda body: sentence if json.dumps(body).count('"image_url": {') > most else ""


def schemas(words: str, sentence: str) -> Check:
    """Return a rule that no tool's schema has a keyword."""

    def check(body: Body) -> str:
        found = re.search(words, json.dumps(body.get("tools") or ()))
        return sentence.format(found[0].strip('"')) if found else ""

    return check


def alternates(body: Body) -> str:
    """Refuse what a template of Gemma's or Mistral's refuses (vllm#6862, adk-python#1373)."""
    roles = [one["role"] for one in body["messages"] if one["role"] not in {"system", "tool"}]
    wrong = any((role == "user") != (place % 2 == 0) for place, role in enumerate(roles))
    return "Conversation roles must alternate user/assistant/user/assistant/..." if wrong else ""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor's server: the field in which its models think, and what it refuses.

    ``signature`` is that of a thinking block on the other door, None where it sends none.
    """

    name: str
    field: str
    checks: tuple[Check, ...]
    keys: frozenset[str] = frozenset()
    status: int = 400
    signature: str | None = None

    def refusal(self, body: Body) -> list[str]:
        """Return why it would refuse a request for a chat completion, first of all."""
        plain = [
            {key: value for key, value in message.items() if key not in self.keys}
            for message in body.get("messages", ())
        ]
        own = [*filter(None, (check(body) for check in self.checks))]
        return own or violations({**body, "messages": plain})


def _short_ids(body: Body) -> str:
    ids = [call["id"] for _, one in _replies(body) for call in one["tool_calls"]]
    return IDS if any(len(one) != 9 for one in ids) else ""


def _few_tools(body: Body) -> str:
    return ARRAY if len(body.get("tools", ())) > 2 else ""


CONTENT, DETAILS, ALL = "reasoning_content", "reasoning_details", frozenset(REASONING)
# What they say, word for word.
BACK = "The `reasoning_content` in the thinking mode must be passed back to the API."
RANGE = "Invalid max_tokens value, the valid range of max_tokens is [1, 800]"
MISSING = (
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index "
    "{}"
)
UNSUPPORTED = (
    "'messages.{index}' : for 'role:assistant' the following must be satisfied"
    "[('messages.{index}' : property '{key}' is unsupported)]"
)
EXTRA = "body.messages.{index}.assistant.{key}: Extra inputs are not permitted"
IDS = "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9."
PRESERVED = (
    "Provider returned error Models require reasoning details to be preserved in each request: "
    "reasoning_details is missing."
)
FIELD = (
    'Invalid JSON payload received. Unknown name "{}" at '
    "'tools[0].function_declarations[0].parameters': Cannot find field."
)
ONE_IMAGE = "At most 1 image(s) may be provided in one request."
NO_TOOLS = "registry.ollama.ai/m:1b does not support tools"
NULL = "Invalid 'content': 'content' field must be a string or an array of objects."
SAMPLERS = "Failed to initialize samplers: failed to parse grammar"
INSTEAD = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
ARRAY = (
    "Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array "
    "with length 3 instead."
)

VENDORS = (
    # anomalyco/opencode#25356; we0-dev/we0#56
    Vendor("deepseek", CONTENT, (needs(CONTENT, BACK), at_most("max_tokens", 800, RANGE)), ALL),
    # earendil-works/pi#4178, theopenco/llmgateway#2093: not an empty one either
    Vendor("kimi", CONTENT, (needs(CONTENT, MISSING),), ALL),
    # VicBilibily/GCMP#171: MiMo, whose words are those of DeepSeek
    Vendor("mimo", CONTENT, (needs(CONTENT, BACK),), ALL),
    # janhq/jan#8136
    Vendor("groq", "reasoning", (takes_none(UNSUPPORTED),), ALL),
    # charmbracelet/crush#1590
    Vendor("mistral", CONTENT, (takes_none(EXTRA), _short_ids), ALL, 422),
    # LibreChat-AI/agents#37: a model of Google's behind the gateway
    Vendor("openrouter", DETAILS, (needs(DETAILS, PRESERVED),), ALL),
    # router-for-me/CLIProxyAPI#97, openswarm-ai/openswarm#24
    Vendor("gemini", "", (schemas(r'"(\$schema|additionalProperties|anyOf)"', FIELD),)),
    # vllm-project/vllm#17092; its templates: vllm-project/vllm#6862
    Vendor("vllm", "reasoning", (images(1, ONE_IMAGE), alternates), ALL),
    # ollama/ollama: server/routes.go, "does not support tools"
    Vendor("ollama", "", (lacks("tools", NO_TOOLS),)),
    # lmstudio-ai/lmstudio-bug-tracker#261
    Vendor("lm studio", "", (no_null(NULL),)),
    # ggml-org/llama.cpp#27580
    Vendor("llama.cpp", CONTENT, (schemas('"pattern"', SAMPLERS),), ALL),
    # openai/openai-python#2046; zed-industries/zed#42393
    Vendor("azure", "", (lacks("max_tokens", INSTEAD), _few_tools)),
)


def _unthought(body: Body) -> str:
    """Refuse a call without a thought (OEvortex/aether#31)."""
    for message in body["messages"]:
        kinds = {block["type"] for block in message["content"] if isinstance(block, dict)}
        if message["role"] == "assistant" and "tool_use" in kinds and "thinking" not in kinds:
            return "The `content[].thinking` in the thinking mode must be passed back to the API."
    return ""


def _marked(body: Body) -> str:
    """Refuse marks for a cache (routatic/proxy#53)."""
    found = '"cache_control"' in json.dumps(body)
    return "Extra inputs are not permitted, field: 'messages[0].cache_control'" if found else ""


def _many_images(body: Body) -> str:
    """Refuse large images among many (microsoft/vscode#297841); each of them is large here."""
    many = json.dumps(body).count('"type": "image"') > 20
    where = "messages.8.content.0.image.source.base64.data: "
    said = "At least one of the image dimensions exceed max allowed size for many-image requests"
    return f"{where}{said}: 2000 pixels" if many else ""


LIMITED = Vendor("limits of images", "", (_many_images,), signature="x")

# The other API, as these vendors speak it: QuantumNous/new-api#4763 (no signature, an empty one),
# NousResearch/hermes-agent#16149 (one of their own).
MESSAGES = (
    Vendor("deepseek without signature", "", (_unthought, _marked)),
    Vendor("deepseek with an empty one", "", (_unthought,), signature=""),
    Vendor("deepseek with its own", "", (_unthought,), signature="9f1c"),
)
