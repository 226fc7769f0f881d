"""Tool calls that a model writes as text, and names of tools as models spell them."""

import re
import uuid
from collections.abc import Collection

import condense
from chatapp.agent.tool_arguments import UNPARSED, read_arguments
from chatapp.providers import request_bytes

# More calls in one text would take long to find.
_MOST = 50
_SIGNS = re.compile(r"[\W_]")
_AROUND = re.compile(r"\A(?:\w+[.:/])+(?=[A-Za-z_])|(?:<\|.*|:\d+)\Z", re.DOTALL)
_CALL = re.compile(
    r"""<(?P<tag>tool_call|function_call|tools?)>\s*(?P<json>\{.*?\})\s*</(?P=tag)>
    | <function(?:=|\sname=)"?(?P<name>[\w.:-]+)"?\s*>?\s*
    (?P<given>\{.*?\}|(?:<param(?:(?!</param).)*</param(?:eter)?>\s*)*)\s*(?:</function>|\Z)""",
    re.DOTALL | re.VERBOSE,
)
_PARAMETER = re.compile(r"<param(?:eter)?(?:=|\sname=)\"?([\w-]+)\"?>\n?(.*?)\n?</param", re.DOTALL)
_WRAPPING = re.compile(r"\s*</?[|\w]{1,40}>\s*|\s+\Z")


def known_name(name: str, tools: Collection[str]) -> str:
    """Return the name of the tool that is meant, or the same if none is."""
    spelled = [_SIGNS.sub("", one).lower() for one in (name, _AROUND.sub("", name.strip()))]
    meant = (one for one in tools if _SIGNS.sub("", one).lower() in spelled)
    return name if name in tools else next(meant, name)


def apart(block: condense.Block, tools: Collection[str]) -> list[condense.Block]:
    """Return a block, parted into text and calls if it ends with calls of known tools."""
    text = block.text if isinstance(block, condense.TextBlock) else ""
    found = [*_CALL.finditer(text)] if text.count("<function") + text.count("<tool") < _MOST else []
    before = text[: found[0].start()] if found else text
    calls: list[condense.Block] = []
    for one in found:
        said, given = read_arguments(one["json"] or ""), one["given"] or ""
        name = known_name(str(said.get("name", one["name"])), tools)
        if inner := said.get("arguments") or said.get("parameters"):
            given = inner if isinstance(inner, str) else request_bytes.encode(inner).decode()
        given = dict(_PARAMETER.findall(given)) if given[:1] == "<" else read_arguments(given)
        if name in tools and UNPARSED not in given:
            calls.append(condense.ToolUseBlock(f"call_{uuid.uuid4().hex[:24]}", name, given))
    is_end = not _WRAPPING.sub("", _CALL.sub("", text[len(before) :]))
    if not calls or len(calls) < len(found) or not is_end or before.count("`") % 2:
        return [block]
    before = _WRAPPING.sub("", before)
    return [*([condense.TextBlock(before)] if before.strip() else []), *calls]
