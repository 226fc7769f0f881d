"""Tool calls that a model writes as text, and names of tools as models spell them."""

import json
import re
import uuid
from collections.abc import Collection, Iterator

import condense
from chatapp.agent.tool_arguments import UNPARSED, read_arguments

_AROUND = re.compile(r"\A(?:(?:functions?|default_api|tools?)[.:/])+|(?:<\|.*|:\d+)\Z", re.DOTALL)
_CALL = re.compile(
    r"""
    <(?P<tag>tool_call|function_call|tools?)>\s*(?P<json>\{.*?\})\s*</(?P=tag)>
  | <function(?:=|\sname=)"?(?P<name>[\w.:-]+)"?\s*>?\s*
    (?P<given>\{.*?\}|(?:<param(?:(?!</param).)*</param(?:eter)?>\s*)*)\s*(?:</function>|\Z)
  | <\|tool_call_begin\|>\s*(?P<id>[\w.:-]+)\s*<\|tool_call_argument_begin\|>(?P<args>.*?)
    <\|tool_call_end\|>
  | \[TOOL_CALLS\]\s*(?P<tool>[\w.:-]+)(?:\[ARGS\])?\s*(?P<values>\{.*\})
    """,
    re.DOTALL | re.VERBOSE,
)
_PARAMETER = re.compile(r"<param(?:eter)?(?:=|\sname=)\"?([\w-]+)\"?>\n?(.*?)\n?</param", re.DOTALL)
_WRAPPING = re.compile(r"</?[|\w]{1,40}>|\s")


def known_name(name: str, tools: Collection[str]) -> str:
    """Return the name of the tool that is meant, or the same where none is."""
    bare = _AROUND.sub("", name.strip())
    meant = [one for one in tools if _letters(one) in (_letters(name), _letters(bare))]
    return next(iter(meant), name) if name not in tools else name


def apart(block: condense.Block, tools: Collection[str]) -> Iterator[condense.Block]:
    """Yield a block; where a text ends with calls of known tools, what comes before, and these."""
    text = block.text if isinstance(block, condense.TextBlock) and tools else ""
    found = [*_CALL.finditer(text)]
    calls = [call for one in found for call in _calls(one, tools)]
    start = found[0].start() if found else 0
    before = text[:start]
    is_end = not _WRAPPING.sub("", _CALL.sub("", text[start:]))
    if not calls or len(calls) < len(found) or not is_end or before.count("`") % 2:
        yield block
        return
    if before := _WRAPPING.sub(lambda one: one[0] if one[0].isspace() else "", before).strip():
        yield condense.TextBlock(before)
    yield from calls


def _calls(found: re.Match[str], tools: Collection[str]) -> Iterator[condense.ToolUseBlock]:
    said = read_arguments(found["json"] or "")
    named = said.get("name") or found["name"] or found["id"] or found["tool"]
    given = found["given"] or found["args"] or found["values"] or ""
    if found["json"]:
        inner = next((said[key] for key in ("arguments", "parameters", "input") if key in said), {})
        given = inner if isinstance(inner, str) else json.dumps(inner)
    arguments = dict(_PARAMETER.findall(given)) if given[:1] == "<" else read_arguments(given)
    name = known_name(str(named), tools)
    if name in tools and UNPARSED not in arguments:
        yield condense.ToolUseBlock(f"call_{uuid.uuid4().hex[:24]}", name, arguments)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
