"""The templates and values of sentences that were stored before these had a place.

The texts stay as they are: the audit chain has digests of them. A text that none of the templates
makes stays English. It may be repeated after it was cut off.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from string import Formatter
from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from condense import noop

BATCH = 500
COLUMNS = {
    "backgrounddraft": ("proposal",),
    "condensation": ("error", "notes"),
    "importrun": ("left_out", "refusal"),
    "modelcall": ("error",),
    "review": ("proposal",),
    "source": ("problems",),
    "turn": ("error",),
}
# Where sentences stand in a column of JSON.
KEYS = {"error", "issues", "notes", "reason", "refusal"}
# Values of these names are sentences, or several of them with commas between.
SENTENCES = {"advice", "error", "floor", "issue", "lacking", "problem", "reason", "what", "why"}
LISTS = {"check", "checks"}
DEPTH = 4
# What begins a sentence that is nothing but values.
CHECKS = {"contradictions", "facts", "length", "refusal", "repetition", "sections"}
REASONS = {
    "An answer failed:", "System prompts are not imported:", "Nobody known has said it:",
    "It is not shown in ChatGPT:", "Another message has the same id.",
}
# What only version 0.1.0 said is translated as long as these are marked.
FORMER = (
    noop("A first summary was rejected, and written again: {lacking}"),
    noop("Checked: {checks}"),
    noop("It copies what it should summarise"),
    noop("The summary was rejected: {issue}"),
    noop("{name} rejects it"),
)
# Those with the most words of their own come first.
TEMPLATES = (
    '“{name}” is too long: it has {count:,} characters, and a message can have {limit:,}. Upload it to the workspace, where the agent can read it in parts.',
    'This message takes about {tokens:,} tokens, and your pins already take {before:,}. Pins may take {most:,}: {percent:.0%} of the window of {window:,}.',
    'This text takes about {tokens:,} tokens, and your pins already take {before:,}. Pins may take {most:,}: {percent:.0%} of the window of {window:,}.',
    'The budget of this conversation is spent: {spent} of {limit}. You can raise it in the conversation’s settings, or go on in another conversation.',
    'Your files take {used} MB, and each user may keep {most:,} MB. Remove some from the files of a conversation, or ask an operator for more room.',
    'Your budget for this month is spent: {spent} of {limit}. Ask an operator of this server for more, or wait for the next month.',
    'system prompt {system:,} + tools {tools:,} + pinned {pinned:,} + newest message {newest:,} tokens, and {limit:,} are allowed',
    'The history would hardly get smaller: {before:,} → {after:,} tokens beside system prompt and tools, and {share} have to go',
    '{host} redirects to another address. Your key and conversation were not sent there. Enter the final address in Profiles.',
    'Your budget for this month is spent: {spent} of {limit}. You can raise it in Settings, or wait for the next month.',
    'The model would not see message {seq} word for word, and it is pinned. Unpin it, or first undo what hides it.',
    'You asked to wait; condensing could not wait: the next request ({tokens:,} tokens) would not fit in {room:,}.',
    'The provider could not be reached at {host}. Check the network, and the base URL in Profiles.',
    'The context is full, and truncation is off: {floor}. Allow it in the settings. {advice}',
    'Thinking that is not sent any more, since what stood before it changed: {count} blocks.',
    'profileThresholds names the profile {id}, which the file does not hold: its id is used.',
    'The provider does not know the model {model}. Check it, and the base URL, in Profiles.',
    '“{name}” has {width:,} by {height:,} pixels. Models take up to {limit:,} a side.',
    'The MCP server {name} was changed or removed just now. Try again in a moment.',
    "“{name}” can't be attached. Save it as PNG, PDF, .docx, .xlsx, .pptx or text.",
    '“{name}” is locked with a password. Save it without one, and attach it again.',
    'There are {count} parts of the summary: merging two of them failed. {error}',
    'Search in messages is out of order. “{program} rebuild_search” repairs it.',
    'The history did not fit into one call and was summarised in {count} parts.',
    '{host} answered, but not as a model does. Check the base URL in Profiles.',
    "{percent:.0%} of this conversation's budget is spent: {spent} of {limit}.",
    '{percent:.0%} of your budget for this month is spent: {spent} of {limit}.',
    '“{name}” is too large: images of up to {limit} MB can be sent to a model.',
    'The context would still be too large: {after:,} tokens, {most:,} allowed',
    'Nothing more can be hidden to make the context fit: {floor}. {advice}',
    '{lost:,} of {total:,} characters were not imported, such as “{text}”.',
    '{name} is {value:.40}, not a number from {least} to {most}: not used.',
    '“{name}” has no text, only pictures of pages. Attach those as images.',
    'Message {seq} is not what it was when it was pinned. Unpin it first.',
    'It is too long for one message, and was imported in parts: {count}.',
    'The context would hardly get smaller: {before:,} → {after:,} tokens',
    '{reason} The cost of {count:,} calls is unknown and not included.',
    "“{name}” can't be read, so the figures of condensing are missing.",
    'Its database is damaged: “{program} check_integrity” says where.',
    'The context would not get smaller: {before:,} → {after:,} tokens',
    '{reason} The cost of {count:,} call is unknown and not included.',
    "“{name}” can't be read. Open it, save it again, and attach that.",
    'The file is of no form that is known here: that is “{form}”.',
    'It said nothing for {seconds} s, so the call was cancelled.',
    'The context would soon be too large again: {after:,} tokens',
    'A first summary was rejected, and written again: {lacking}',
    "The prompt does not fit the model's context window: {said}",
    '{path} is outside the workspace; paths are relative to it.',
    'A first summary was refused, and written again: {lacking}',
    'The link {path} does not lead to a file in the workspace.',
    "The {what}'s images ({count}) did not fit and are hidden.",
    'The file is damaged: {section} is not what it has to be.',
    'The name {name} has characters that no file should have.',
    '{error} It asks to try again in about {count:,} minutes.',
    'No condensation, truncation or clearing is {id!r} here.',
    'Stopped after {limit} steps, the limit set in Settings.',
    'The file goes on for {most} MB without another message.',
    'The image has {size}; images up to {most} can be shown.',
    'It has {found} of {asked} sections; missing: {missing}',
    'The provider has a problem of its own (HTTP {status}).',
    'The server could not save this; nothing changed. {why}',
    '{error} It asks to try again in about {count:,} hours.',
    '{name} belongs to version control; nothing is written.',
    '{name} failed three times in a row, in the same way.',
    '“{name}” is missing: it has what the model was sent.',
    '“{name}” takes too long to read. Attach fewer pages.',
    'The refused summary was used, as you chose: {issue}',
    'The {what} did not fit whole; its middle is hidden.',
    "A part's summary is as long as the part:\n{summary}",
    'This is {size}; files over {most} are not written.',
    '{path} has {size}; files over {most} are not read.',
    'It answers with HTTP {status}. Check the headers.',
    'It was to be written again, which failed: {error}',
    'Item {number} of {section} is named, and missing.',
    'The server could not save what was written. {why}',
    'The server for embeddings gave no answer: {error}',
    'The summary says “{said}”, the facts say “{fact}”',
    'The file is nested more than {most} levels deep.',
    'The server could not read what is stored. {why}',
    'There is no provider {name}; there are {known}.',
    'Item {number} of {section} has another number.',
    "The environment's details are missing: {error}",
    '{name} is none of the values that it can have.',
    'A hook planned the strategy {name!r}: {error}',
    'The strategy {name} would lose what is pinned',
    'There is no room left on the disk for {path}.',
    'For lack of room this was left out: {what}.',
    'The file is not JSON from here on ({said}).',
    'No message {message!r} is in this history.',
    'The server is not allowed to write {path}.',
    'The model declined to answer this. {said}',
    'The path {path} contains a NUL character.',
    'The server is not allowed to read {path}.',
    '{path} is not a file that can be written.',
    'A message can name at most {most} files.',
    'The provider refused the request: {said}',
    'what it names of {section} is no number.',
    '{path} is kept from the model by {file}.',
    "Message {number} stands where it can't.",
    'The strategy {name} failed unexpectedly',
    '{path} is neither a file nor a folder.',
    'It did not answer within {seconds} s.',
    'Item {number} of {section}: {problem}',
    'No rewind {id!r} is in this history.',
    'The prompt is not on record: {error}',
    "A budget's {name} can't be {value}.",
    'Condensing API call failed: {error}',
    'It has ended with exit code {code}.',
    'The answer held no summary:\n{text}',
    'The file is longer than {most} MB.',
    'The line is longer than {most} MB.',
    'There is no file or folder {path}.',
    'It refuses the connection: {said}',
    'The summary was rejected: {issue}',
    '{error} The provider said: {said}',
    'The MCP server {name}: {problem}',
    'The hook {name} failed: {reason}',
    'The summary was refused: {issue}',
    '{name} is not what it has to be.',
    '{path} is a folder, not a file.',
    'It could not be reached. {why}',
    '{problem} It said last: {said}',
    '“{name}” is not in the export.',
    "It can't be imported: {kind}.",
    'The path {path} is too long.',
    '“{name}” is a damaged image.',
    'Message {number}: {problem}',
    '{path} is not a text file.',
    '“{name}” is a damaged PDF.',
    'The check failed: {error}',
    'what the hook {name} adds',
    'It leaves out: {missing}',
    'Checks passed: {checks}',
    'It is not pinned. {why}',
    '“{name}” is too large.',
    "{path} can't be used.",
    '{path} is not a path.',
    '“{name}” is damaged.',
    '{check} {share:.0%}',
    '{name} is missing.',
    '“{name}” is empty.',
    'Checked: {checks}',
    '{name} refuses it',
    '{name} rejects it',
    '{reason} “{text}”',
    '{check}: {issue}',
)


class Template:
    """Finds the values that a text was made of."""

    def __init__(self, template: str) -> None:
        self.template = template
        parts = [*Formatter().parse(template)]
        self.fields = [(name, spec or "", how) for _text, name, spec, how in parts if name]
        texts = [text for text, _name, _spec, _how in parts]
        self.beginning, *self.gaps = texts if len(texts) > len(self.fields) else [*texts, ""]
        self.has_words = any(map(str.isalpha, "".join(texts)))

    def values_in(self, text: str) -> dict[str, Any] | None:
        """Return the values that make this text of the template, None if none do.

        Each ends where the text after it is next. A name at the beginning has no blanks: other
        people's sentences would look like ours.
        """
        if not text.startswith(self.beginning):
            return None
        found, at = {}, len(self.beginning)
        for number, ((name, spec, how), gap) in enumerate(zip(self.fields, self.gaps, strict=True), 1):
            end = len(text) - len(gap) if number == len(self.fields) else text.find(gap, at)
            if end < at or not text.startswith(gap, end):
                return None
            value = text[at:end]
            if not at and name not in SENTENCES and " " in value:
                return None
            found[name] = read(value, spec, how)
            at = end + len(gap)
        if not self.has_words and not {found.get("check"), found.get("reason")} & (CHECKS | REASONS):
            return None
        is_same = None not in found.values() and self.template.format(**found) == text
        return found if is_same else None


def read(value: str, spec: str, how: str | None) -> Any:
    """Return the value that is written so, None if none is."""
    with suppress(ValueError, SyntaxError):
        if spec == "," and re.fullmatch(r"-?[0-9,]{1,20}", value):
            return int(value.replace(",", ""))
        if spec == ".0%" and re.fullmatch(r"[0-9]{1,9}%", value):
            return int(value[:-1]) / 100
        if how == "r":
            meant = ast.literal_eval(value) if value[:1] in {"'", '"'} else None
            return meant if isinstance(meant, str) else None
        return None if spec in {",", ".0%"} else value
    return None


KNOWN = [*map(Template, TEMPLATES)]


def made_of(text: str, depth: int = DEPTH) -> dict[str, Any] | None:
    """Return the template and the values of a text, None if no template makes it."""
    for one in KNOWN if depth else ():
        if (values := one.values_in(text)) is not None:
            made = {name: nested(name, values[name], depth) for name in values}
            return {"template": one.template, "values": made}
    return None


def nested(name: str, value: Any, depth: int) -> Any:
    """Return a value as JSON; a sentence becomes its template and values, also in a list."""
    if name == "checks":
        return [nested("check", one, depth) for one in value.split(", ")]
    if name not in SENTENCES and name != "check":
        return value
    return made_of(value, depth - 1) or {"template": value, "values": {}}


def texts_in(value: Any, *, is_said: bool = True) -> Iterator[str]:
    """Yield the sentences in the value of a column."""
    match value:
        case str() if is_said:
            yield value
        case list():
            for one in value:
                yield from texts_in(one, is_said=is_said)
        case dict():
            for name, one in value.items():
                yield from texts_in(one, is_said=name in KEYS)


def convert(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Note what the sentences of all rows were made of."""
    for name, columns in COLUMNS.items():
        model: Any = apps.get_model("chatapp", name)
        rows = model.objects.filter(sentences__isnull=True)
        # A sentence of a call is rare among calls, and there may be millions of them.
        rows = (rows.exclude(error="") if columns == ("error",) else rows).order_by("pk")
        batch = [*rows.values_list("pk", *columns)[:BATCH]]
        while batch:
            for pk, *values in batch:
                made = {text: made_of(text) for text in texts_in(values)}
                if any(made.values()):
                    rows.filter(pk=pk).update(sentences=[*filter(None, made.values())])
            batch = [*rows.filter(pk__gt=batch[-1][0]).values_list("pk", *columns)[:BATCH]]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("chatapp", "0072_sentences")]
    operations = [migrations.RunPython(convert, migrations.RunPython.noop)]
