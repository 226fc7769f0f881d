"""Annotated blocks: files, images and surroundings next to a person's words in a message.

A message may also consist of one pinned rule or quote, and no words.

Each block names its kind under ``condense.BESIDE``, for the page; the model reads a file between
two tags that nothing in it can end.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import condense

FILE, IMAGE, COMMAND = "file", "image", "command"
RULE, QUOTE = "rule", "quote"

FORGOT = (
    "[The user has had {count} passages of this conversation forgotten. They are left out, marked "
    "[…], of all that you read. Do not guess what they said, and do not bring it up.]"
)
FORGOT_NOTHING = (
    "[The user asks to forget something, in words that name no passage, or too many: nothing is "
    "forgotten yet. If you know its sentence, quote it, to be sent again as “Forget: …”.]"
)
_TAGGED = re.compile(r"<([\w-]+)[^\n]*>\n(.*)\n</\1>", re.DOTALL)


def environment_block(text: str) -> condense.TextBlock:
    """Return the surroundings of a message at its sending, as the model reads them."""
    return condense.TextBlock(text, {condense.BESIDE: {"kind": condense.ENVIRONMENT}})


def file_block(name: str, text: str, **facts: object) -> condense.TextBlock:
    """Return a file as the model reads it; ``facts`` are for the page."""
    shown = html.escape(" ".join(name.split()))
    shown += f'" encoding="{facts["encoding"]}' if "encoding" in facts else ""
    return _tagged("file", f' name="{shown}"', text, {"kind": FILE, "name": name, **facts})


def image_block(name: str, image: condense.ImageBlock, **facts: object) -> condense.ImageBlock:
    """Return an image with its name; ``facts`` are for the page."""
    said = {"kind": IMAGE, "name": name, **facts}
    return condense.ImageBlock(image.source, {**image.extra, condense.BESIDE: said})


def command_block(name: str, directive: str) -> condense.TextBlock:
    """Return a command's directive as a block, which every condensation keeps."""
    return condense.TextBlock(directive, {condense.BESIDE: {"kind": COMMAND, "name": name}})


def result_block(
    call: condense.ToolUseBlock, content: condense.Content, *, is_error: bool, words: str = ""
) -> condense.ToolResultBlock:
    """Return the result of a call, marked with the ``words`` of it that the user said."""
    mark = {condense.USER_WORDS: words} if words else {}
    return condense.ToolResultBlock(call.id, content, is_error, mark)


def rule_block(text: str) -> condense.TextBlock:
    """Return a rule of the user's own as the model reads it, word for word."""
    return _tagged("pinned_rule", "", text, {"kind": RULE})


def quote_block(text: str, role: str, seq: int) -> condense.TextBlock:
    """Return a passage of message ``seq`` as the model reads it, word for word."""
    said = {"kind": QUOTE, "role": role, "seq": seq}
    return _tagged("pinned_quote", f' from="{role}"', text, said)


def forgotten_block(
    passages: Sequence[tuple[int, str]], renamed: tuple[str, ...] = ()
) -> condense.TextBlock:
    """Return the block of a message that forgets passages of other messages.

    ``renamed`` is the old and the new title, where the old one contained a passage.
    """
    places = [{"seq": seq, "text": text} for seq, text in passages]
    said = {"kind": condense.FORGOTTEN, "passages": places}
    return condense.TextBlock(
        FORGOT.format(count=len(passages)) if passages else FORGOT_NOTHING,
        {condense.BESIDE: said | ({"renamed": [*renamed]} if renamed else {})},
    )


def forgotten_by(content: Any) -> Iterator[tuple[int, str]]:
    """Yield (message number, passage) for each passage that a stored message forgets."""
    for block in content if isinstance(content, list) else ():
        match block:
            case {condense.BESIDE: {"kind": condense.FORGOTTEN, "passages": [*passages]}}:
                for passage in passages:
                    match passage:
                        case {"seq": int(seq), "text": str(text)} if text:
                            yield seq, text


def renamed_by(content: Any) -> tuple[str, str]:
    """Return the old and the new title if a stored message renames, two empty texts if not."""
    for block in content if isinstance(content, list) else ():
        match block:
            case {condense.BESIDE: {"kind": condense.FORGOTTEN, "renamed": [str(old), str(new)]}}:
                return old, new
    return "", ""


def forgets(message: condense.Message) -> bool:
    """Return True if the message asks to forget something."""
    return any(kind_of(block) == condense.FORGOTTEN for block in message.blocks)


def has_rules(content: condense.Content) -> bool:
    """Return True if a block of the content is a rule of the user's own."""
    return not isinstance(content, str) and any(stands_for(block) == RULE for block in content)


def as_claimed(content: condense.Content) -> condense.Content:
    """Return the content with its rules marked as claimed by an imported file only."""
    if isinstance(content, str):
        return content
    said = {condense.BESIDE: {"kind": RULE, "claimed": True}}
    return tuple(
        condense.TextBlock(block.text, said)
        if isinstance(block, condense.TextBlock) and stands_for(block) == RULE
        else block
        for block in content
    )


def is_claimed(block: condense.Block) -> bool:
    """Return True if only an imported file claims that this is a rule of the user's own."""
    return condense.beside_of(block).get("claimed") is True


def stands_for(block: condense.Block) -> str:
    """Return RULE or QUOTE for a pinned rule or quote, "" for any other block."""
    kind = kind_of(block)
    return kind if kind in (RULE, QUOTE) else ""


def stands_alone(message: condense.Message) -> bool:
    """Return True for a message that is only a pinned rule or quote, and no part of the talk."""
    return len(message.blocks) == 1 and bool(stands_for(message.blocks[0]))


def kind_of(block: condense.Block) -> str:
    """Return the kind of an annotated block, such as FILE; "" for a person's own words."""
    kind = condense.beside_of(block).get("kind")
    return kind if isinstance(kind, str) else ""


def recalled_in(blocks: Iterable[condense.Block]) -> list[condense.TextBlock]:
    """Return those of a message's blocks that have recalled passages."""
    texts = (one for one in blocks if isinstance(one, condense.TextBlock))
    return [one for one in texts if kind_of(one) == condense.RECALLED]


def text_of(block: condense.Block) -> str:
    """Return a block's text, without the tags of a file or the surroundings; "" without text."""
    said = block.text if isinstance(block, condense.TextBlock) else ""
    # A block of an imported file that only uses the name has no tags, and is shown whole.
    tagged = _TAGGED.fullmatch(said)
    return tagged[2] if tagged else said


def attached(message: condense.Message) -> Iterator[condense.Block]:
    """Yield a message's attachments: files, and images of every origin.

    Mentioned files are read again when the words are sent again, and are no attachments.
    """
    for block in message.blocks:
        is_mentioned = "mention" in condense.beside_of(block)
        if not is_mentioned and (kind_of(block) == FILE or isinstance(block, condense.ImageBlock)):
            yield block


def names_of(blocks: Iterable[condense.Block]) -> str:
    """Return the names of attachments, separated by commas."""
    return ", ".join(str(condense.beside_of(block).get("name", "")) for block in blocks)


def _tagged(name: str, attributes: str, text: str, said: dict[str, object]) -> condense.TextBlock:
    """Return a text between two tags that do not occur in it, so that nothing in it ends them."""
    lowered, tag, number = text.casefold(), name, 1
    while f"</{tag}" in lowered:
        number += 1
        tag = f"{name}-{number}"
    written = f"<{tag}{attributes}>\n{text}\n</{tag}>"
    return condense.TextBlock(written, {condense.BESIDE: said})
