"""Tool calls that a model writes as text, and names of tools as models spell them."""

import re
import uuid
from collections.abc import Collection, Iterator

import condense
from chatapp.agent.tool_arguments import LONGEST_ARGUMENTS, UNPARSED, read_arguments, read_value
from chatapp.providers.formats import listed

# More calls in one text would take long to find.
_MOST = 50
_SIGNS = re.compile(r"[\W_]")
_AROUND = re.compile(r"\A(?:\w+[.:/])+(?=[A-Za-z_])|(?:<\|.*|:\d+)\Z", re.DOTALL)
# The spellings of many models, and what stands for each in the one that is read.
_BAR = r"[|\uff5c‖]{1,2}"
_SPELLINGS = {
    rf"(?<=[</]){_BAR}DSML{_BAR}": "",
    r"(</?)invoke\b": r"\1function",
    r"<tool_call>\s*([\w.:-]+)\s*(?=<arg_key>|</tool_call>)": r"<function=\1>",
    r"<arg_key>\s*([\w-]+)\s*</arg_key>\s*<arg_value>": r"<parameter=\1>",
    r"</arg_value>": "</parameter>",
    rf"<{_BAR}tool[_▁]call[_▁]begin{_BAR}>(?:function<{_BAR}tool[_▁]sep{_BAR}>)?\s*([\w.:-]+)"
    rf"(?:\s|<{_BAR}tool[_▁]\w+{_BAR}>|```\w*)*(?=\{{)": r"<function=\1>",
    rf"(?:```\s*)?<{_BAR}(?:tool[_▁]call[_▁]end|call){_BAR}>": "</function>",
    r"\[TOOL_CALLS\]\s*([\w.:-]+)\s*(?:\[ARGS\])?\s*(?=\{)": r"<function=\1>",
    r"<\|channel\|>\w+ to=([\w.:-]+)(?:\s|<\|constrain\|>\w*)*<\|message\|>": r"<function=\1>",
}
_CALL = re.compile(
    r"""<(?P<tag>tool_call|function_call|tools?)>\s*(?P<json>\{.*?\})\s*(?:</(?P=tag)>|\Z)
    | <function(?:=|\sname=)"?(?P<name>[\w.:-]+)"?\s*+>?\s*+
    (?P<given>\{.*?\}|(?:<param(?:(?!</param).)*+</param(?:eter)?>\s*+)*+)\s*+
    (?:</function>|\Z|(?=<function|</tool_call>))
    | \A\s*+(?:```\w*\s|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>)?\s*+
    (?P<bare>\[?\s*+\{\s*"(?:name|type|id|function)".*[}\]])\s*+(?:```\s*+)?\Z""",
    re.DOTALL | re.VERBOSE,
)
_PARAMETER = re.compile(r'(?s)<param(?:eter)?(?:=|\sname=)"?([\w-]+)[^>]*>\n?(.*?)\n?</param')
_WRAPPING = re.compile(r"\s*</?[|\uff5c\w:▁]{1,40}>\s*|\s+\Z")


def known_name(name: str, tools: Collection[str]) -> str:
    """Return the known name of a misspelt tool, or the same if none fits."""
    spelled = [_SIGNS.sub("", one).lower() for one in (name, _AROUND.sub("", name.strip()))]
    meant = (one for one in tools if _SIGNS.sub("", one).lower() in spelled)
    return name if name in tools else next(meant, name)


def apart(block: condense.Block, tools: Collection[str]) -> list[condense.Block]:
    """Return a block, parted into text and calls if it ends with calls of known tools."""
    text = block.text if isinstance(block, condense.TextBlock) else ""
    text = text if len(text) <= LONGEST_ARGUMENTS else ""
    for spelling, read in _SPELLINGS.items():
        text = re.sub(spelling, read, text)
    found = [*_CALL.finditer(text)] if text.count("<function") + text.count("<tool") < _MOST else []
    before = text[: found[0].start()] if found else text
    made = [one for each in found for one in _calls(each, tools)]
    calls = [one for one in made if one.name in tools and UNPARSED not in one.input]
    is_end = not _WRAPPING.sub("", _CALL.sub("", text[len(before) :]))
    if not calls or len(calls) < len(made) or not is_end or before.count("`") % 2:
        return [block]
    before = _WRAPPING.sub("", before)
    return [*([condense.TextBlock(before)] if before.strip() else []), *calls]


def _calls(found: re.Match[str], tools: Collection[str]) -> Iterator[condense.ToolUseBlock]:
    """Yield the calls of a match; other JSON has no arguments that could be read."""
    given = found["json"] or found["bare"]
    for one in listed(read_value(given) if given else {"name": found["name"]}) or [{}]:
        said = next(iter(listed(one.get("function"))), one)
        lacking = found["given"] or (None if found["bare"] else "")
        inner = said.get("arguments", said.get("parameters", lacking))
        if isinstance(inner, str):
            inner = read_arguments(inner) if inner[:1] != "<" else dict(_PARAMETER.findall(inner))
        inner = inner if isinstance(inner, dict) else {UNPARSED: ""}
        name = known_name(str(said.get("name")), tools)
        yield condense.ToolUseBlock(f"call_{uuid.uuid4().hex[:24]}", name, inner)
