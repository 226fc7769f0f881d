"""A message's blocks, made ready to show."""

import itertools
import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

import condense
from chatapp.agent import events
from chatapp.agent.annotated_blocks import is_environment
from chatapp.markdown import render_markdown
from chatapp.models import Message, Question, ToolRun
from chatapp.tools import tool_specs
from chatapp.tools.long_outputs import kept_name
from chatapp.tools.mcp.servers import SEPARATOR
from chatapp.transcript.message_parts import (
    Asked,
    HiddenBy,
    NotePart,
    Part,
    TextPart,
    ToolCard,
    attached_part,
)

LiveTools = Mapping[str, events.ToolStarted | events.ToolFinished]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call, why and where its result was cleared, and how long it took."""

    result: condense.ToolResultBlock
    cleared: HiddenBy | None = None
    seconds: float | None = None


# By the call's block as ``id`` tells it: some servers give the same ids in every reply.
Answers = Mapping[int, Answer]

# Characters of a call's input and of its result on the page; the rest is fetched on request.
SHOWN = 10_000

RUN_COMMAND = "run_command"

# The arguments that say most about a call, the first present wins.
_MAIN_ARGUMENTS = ("path", "file_path", "pattern", "command", "query", "url", "question")


def parts_of(
    message: condense.Message,
    answers: Answers,
    live: LiveTools,
    asked: Mapping[int, Asked],
    denied: Collection[int] = (),
) -> Iterator[Part]:
    """Yield the message's parts; tool results are shown in the cards of their calls.

    ``asked`` is what a person is asked about a call, by its place among the message's calls;
    ``denied`` are the places of those that a person did not allow.
    """
    places = itertools.count()
    around = []
    for index, block in enumerate(message.blocks):
        if attached := attached_part(index, block):
            yield attached
            continue
        match block:
            case condense.TextBlock(text) if is_environment(block):
                around.append(NotePart(_("Environment details"), text))
            case condense.TextBlock(text):
                if text.strip():
                    yield TextPart(render_markdown(text))
            case condense.ToolUseBlock():
                question = asked.get(place := next(places))
                card = _card(block, answers.get(id(block)), live.get(block.id), question)
                yield replace(card, state="denied") if place in denied else card
            case condense.ImageBlock():
                yield NotePart(_("Image"))
            case condense.OpaqueBlock(data):
                yield _note(data)
    yield from around


def unfinished_parts(draft: str) -> Iterator[Part]:
    """Yield what was written of a reply that broke off, in its order."""
    for block in json.loads(draft):
        match block:
            case {"type": "text", "text": str(text)} if text.strip():
                yield TextPart(render_markdown(text))
            case {"type": "thinking", "text": str(text)}:
                yield NotePart(_("Thinking"), text)
            case {"type": "tool_use", "name": str(name), "text": str(text)}:
                label = _("A call of %(tool)s was being written; it never ran.")
                yield NotePart(label % {"tool": name}, text)


def _note(data: Mapping[str, Any]) -> NotePart:
    match data:
        case {"type": "thinking", "thinking": str(text)}:
            return NotePart(_("Thinking"), text)
        case {"type": "compaction", "content": str(text)}:
            return NotePart(_("Summary, signed by the provider"), text)
        case {"type": str(name)}:
            return NotePart(name.replace("_", " ").capitalize())
    return NotePart(_("Unknown content"))


def _card(
    call: condense.ToolUseBlock,
    answer: Answer | None,
    live: events.ToolStarted | events.ToolFinished | None,
    asked: Asked | None,
) -> ToolCard:
    text, state = _outcome(answer, live)
    took = live.seconds if isinstance(live, events.ToolFinished) else None
    written = input_text(call) if call.input else ""
    return ToolCard(
        id=call.id,
        name=call.name,
        argument=main_argument(call.input),
        input=written[:SHOWN],
        result=text[:SHOWN],
        state="asked" if asked else state,
        size=len(text),
        cut_input=len(written) > SHOWN,
        cut_result=len(text) > SHOWN,
        seconds=answer.seconds if answer and took is None else took,
        since=live.since if isinstance(live, events.ToolStarted) else None,
        whole=kept_name(text) if _may_be_cut(call.name) else "",
        cleared=answer.cleared if answer else None,
        asked=asked,
    )


def _may_be_cut(tool: str) -> bool:
    """Whether a tool's long results are kept whole: a command's, and those of MCP servers."""
    return tool == RUN_COMMAND or SEPARATOR in tool


def _outcome(
    answer: Answer | None, live: events.ToolStarted | events.ToolFinished | None
) -> tuple[str, str]:
    """Return a card's text and state; what is stored goes before what is live."""
    if answer is not None:
        return result_text(answer.result), "failed" if answer.result.is_error else "done"
    match live:
        case events.ToolStarted(output=output):
            return output, "running"
        case events.ToolFinished(text=text, is_error=is_error):
            return text, "failed" if is_error else "done"
    return "", "unanswered"


def asked_of(question: Question) -> Asked:
    """Return a question as its card shows it."""
    spec = tool_specs().get(question.tool)
    return Asked(
        pk=question.pk,
        wants_words=question.kind == Question.Kind.ANSWER,
        access=spec.access if spec else "",
        text=question.text,
        suggestions=question.suggestions,
        lines=[(kind_of_line(line), line) for line in question.shown.splitlines()],
    )


def kind_of_line(line: str) -> str:
    """Return what a line of a difference is: "file", "place", "added", "removed" or "same"."""
    if line.startswith(("--- ", "+++ ", "diff --git ", "index ")):
        return "file"
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")


def input_text(call: condense.ToolUseBlock) -> str:
    """Return a call's arguments as people read them."""
    return json.dumps(call.input, indent=2, ensure_ascii=False)


def result_text(result: condense.ToolResultBlock) -> str:
    """Return what a tool answered; an image is named."""
    if result.content is None or isinstance(result.content, str):
        return result.content or ""
    return "\n".join(
        block.text if isinstance(block, condense.TextBlock) else f"[{_('Image')}]"
        for block in result.content
    )


def main_argument(arguments: Any) -> str:
    """Return the one argument that says most about a call, on one line."""
    if not isinstance(arguments, dict):
        return ""
    named = [arguments[name] for name in _MAIN_ARGUMENTS if name in arguments]
    texts = [value for value in (*named, *arguments.values()) if isinstance(value, str)]
    return " ".join(texts[0].split())[:120] if texts else ""


# By turn and call: when each run began, and how many seconds it took.
_Runs = Mapping[tuple[uuid.UUID | None, str], Sequence[tuple[datetime, float]]]


def find_answers(
    messages: Sequence[Message],
    said: Sequence[condense.Message],
    cleared: Mapping[tuple[int, str], HiddenBy],
    live: LiveTools,
) -> Answers:
    """Return what came of the calls of this page, whose messages are given as rows and as said.

    How long a call took that is ``live`` is known there.
    """
    pairs = condense.pair_calls(said).answered
    runs = _find_runs({messages[one.called_at].turn_id for one in pairs if one.call.id not in live})
    answers: dict[int, Answer] = {}
    for one in pairs:
        called, answered = messages[one.called_at], messages[one.answered_at]
        # The same id may come again in a later reply of the turn.
        took = [
            seconds
            for began, seconds in runs.get((called.turn_id, one.call.id), ())
            if called.created_at <= began <= answered.created_at
        ]
        reason = cleared.get((answered.pk, one.call.id))
        answers[id(one.call)] = Answer(one.result, reason, took[0] if took else None)
    return answers


def _find_runs(turns: set[uuid.UUID | None]) -> _Runs:
    if not turns:
        return {}
    found: defaultdict[tuple[uuid.UUID | None, str], list[tuple[datetime, float]]]
    found = defaultdict(list)
    for run in ToolRun.objects.filter(turn__in=turns - {None}).exclude(finished_at=None):
        if run.finished_at:
            seconds = (run.finished_at - run.started_at).total_seconds()
            found[run.turn_id, run.call_id].append((run.started_at, seconds))
    return found
