"""Chosen parts: messages in a row, one tool's output or one summary, as a person picked them."""

from dataclasses import replace
from typing import override

from condense.budget.situation import Chosen, Gauge, Kind, Reduction, Situation
from condense.errors import NothingToCondense
from condense.facts.texts import one_line
from condense.history.boundaries import pair_calls, require_enough, safe_cuts, unread_tail
from condense.messages import Tags, TextBlock, content_to_api
from condense.prompts import condense_instruction, load_prompt, repair_instruction
from condense.reduction.strategy import (
    ByModel,
    Split,
    Strategy,
    carrying_reduction,
    instruction,
    make_reduction,
    opening,
    with_written,
)
from condense.sentences import noop
from condense.summaries.summarizer import Kit
from condense.summaries.writer import Writer
from condense.tokens.counters import TokenCount

CONDENSED_NAME_CHARS = 60  # characters of a tool's name
CONDENSED_TEXT = "[Tool output condensed: the summary of 1 result stands in its place]"
CONDENSED_LINE = "[Output of {name}, {size:,} characters, condensed. What it said:]\n{summary}"


class ChosenMessages(ByModel):
    """Hides messages in a row behind a summary, which takes the place of the last of them.

    If messages before them stay visible, the summary is a marker: a real summary has nothing
    visible before it.
    """

    name = "chosen_messages"
    label = noop("chosen messages")
    description = noop("A summary stands for the messages that a person chose.")

    @override
    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction, which says that the conversation goes on behind the messages."""
        return f"{super().prompt_for(alone(situation))}\n\n{load_prompt('range')}"

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call where these messages can't be hidden together.
        """
        effective, ids = situation.effective, situation.chosen.ids if situation.chosen else ()
        places = [place for place, one in enumerate(effective) if one.id in ids]
        unread = unread_tail(effective)
        if not places or len(places) != len(ids):
            raise NothingToCondense(noop("Some of the chosen messages are hidden already"))
        start, end = places[0], places[-1] + 1
        cuts = safe_cuts(effective)
        if end - start != len(places) or start not in cuts or end not in cuts:
            raise NothingToCondense(
                noop("The chosen messages would part a tool call from its result")
            )
        if end > unread:
            raise NothingToCondense(noop("The model has not read all of the chosen messages"))
        hidden, kept = effective[start:end], (*effective[:start], *effective[end:])
        require_enough(effective, hidden)
        split, gauge = Split(hidden, kept, effective[unread:]), Gauge(situation, kit.counter)
        return await _hide_part(self, split, gauge, kit, instruction(self, split, gauge, kit))


class FromOriginals(ByModel):
    """Puts a summary in place of another one, written from all messages behind that one.

    An earlier summary among them is read as its own originals: no summary is summarised.
    """

    name = "from_originals"
    label = noop("from all originals")
    description = noop("A summary is written again from all the messages that it stands for.")

    @override
    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction, with that for a part if messages stay before the summary."""
        about = super().prompt_for(alone(situation))
        is_part = _picked_at(situation) > 0
        return f"{about}\n\n{load_prompt('range')}" if is_part else about

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation; raise NothingToCondense if the chosen summary is hidden."""
        at, effective = _picked_at(situation), situation.effective
        if at < 0:
            raise NothingToCondense(noop("This summary is hidden from the model already"))
        unread = effective[unread_tail(effective) :]
        split = Split(effective[at : at + 1], (*effective[:at], *effective[at + 1 :]), unread)
        gauge = Gauge(situation, kit.counter)
        prompt = repair_instruction(self.prompt_for(situation), kit.lacking)
        return await _hide_part(self, split, gauge, kit, prompt)


def _picked_at(situation: Situation) -> int:
    """Return the index of the first chosen message, -1 if none is visible."""
    ids = situation.chosen.ids if situation.chosen else ()
    return next((at for at, one in enumerate(situation.effective) if one.id in ids), -1)


def alone(situation: Situation) -> Situation:
    """Return the situation with the size of the chosen part, which sets the summary's length."""
    tokens = sum([one.tokens or len(one.text) // 4 for one in situation.picked])
    return replace(situation, tokens=TokenCount(tokens))


async def _hide_part(
    strategy: Strategy, split: Split, gauge: Gauge, kit: Kit, prompt: str
) -> Reduction:
    """Return the reduction that replaces a part in the middle of a history by a summary."""
    written = await Writer(gauge, kit).write(gauge.situation.picked, prompt)
    tags, head = Tags(condense_id=kit.new_id()), opening(written.summary)
    if split.hidden[0].id != gauge.situation.effective[0].id:
        tags = Tags(truncation_id=tags.condense_id)
        head = opening(written.summary, "range_preface")
    made = carrying_reduction(strategy, split, gauge, kit, (head,), tags=tags)
    return with_written(made, written, prompt, kit)


class ChosenResult(ByModel):
    """Replaces the result of one tool call by a summary; its message stays."""

    name = "chosen_result"
    label = noop("chosen tool output")
    description = noop("A summary stands in place of one tool's output.")
    kind: Kind = "cleared"

    @override
    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction; the user's own prompt is about conversations."""
        return condense_instruction(load_prompt("result"), situation.focus)

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a clearing; raise NothingToCondense before any call if there is no output."""
        chosen, effective = situation.chosen or Chosen(()), situation.effective
        answers = [
            one
            for one in pair_calls(effective).answered
            if one.call.id == chosen.call and effective[one.answered_at].id in chosen.ids
        ]
        if not answers:
            raise NothingToCondense(noop("This output is hidden from the model already"))
        answer = answers[0]
        if answer.answered_at >= unread_tail(effective):
            raise NothingToCondense(noop("The model has not read this output yet"))
        gauge, message = Gauge(situation, kit.counter), effective[answer.answered_at]
        prompt = repair_instruction(self.prompt_for(situation), kit.lacking)
        shown = message.with_content((answer.result,))
        written = await Writer(gauge, kit).write((shown,), prompt)
        size = len(str(content_to_api(answer.result.content or "")))
        name = one_line(answer.call.name, CONDENSED_NAME_CHARS)
        line = CONDENSED_LINE.format(name=name, size=size, summary=written.summary)
        tags = Tags(clear_id=kit.new_id(), cleared={message.id: {answer.call.id: line}})
        content = (TextBlock(CONDENSED_TEXT),)
        made = make_reduction(self, (message,), content, tags, gauge=gauge, kit=kit)
        return with_written(made, written, prompt, kit)
