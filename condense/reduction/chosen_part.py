"""Chosen parts: messages in a row, one tool's output or one summary, as a person picked them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import override

from condense.budget.situation import Chosen, Gauge, Kind, Reduction, Situation
from condense.errors import NothingToCondense
from condense.facts.texts import one_line
from condense.history.boundaries import (
    AnsweredCall,
    pair_calls,
    require_enough,
    safe_cuts,
    unread_tail,
)
from condense.messages import Message, Tags, TextBlock, content_to_api
from condense.prompts import condense_instruction, load_prompt, repair_instruction
from condense.reduction.recap import HEADING, Recap, Split, opening, with_written
from condense.reduction.strategy import ByModel, Kit, make_reduction
from condense.tokens.counters import TokenCount

NAME = 60  # characters of a tool's name
CONDENSED_TEXT = "[Tool output condensed: the summary of 1 result stands in its place]"
LINE = "[Output of {name}, {size:,} characters, condensed. What it said:]\n{summary}"


class ChosenMessages(ByModel):
    """Hides messages in a row behind a summary, which stands where the last of them stood.

    What stands before them stays in sight, so behind that a marker stands for them: before a
    summary nothing is.
    """

    name = "chosen_messages"
    label = "chosen messages"
    description = "A summary stands for the messages that a person chose."

    @override
    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction, which says that the conversation goes on behind the messages."""
        return f"{super().prompt_for(alone(situation))}\n\n{load_prompt('range')}"

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call where these messages can't be hidden together.
        """
        split = _split(situation)
        gauge = Gauge(situation, kit.counter)
        return await _Part(situation, split, gauge, kit).summarise(self)


def _split(situation: Situation) -> Split:
    effective, ids = situation.effective, situation.chosen.ids if situation.chosen else ()
    places = [place for place, one in enumerate(effective) if one.id in ids]
    unread = unread_tail(effective)
    if not places or len(places) != len(ids):
        raise NothingToCondense("Some of the chosen messages are hidden already")
    start, end = places[0], places[-1] + 1
    cuts = safe_cuts(effective)
    if end - start != len(places) or start not in cuts or end not in cuts:
        raise NothingToCondense("The chosen messages would part a tool call from its result")
    if end > unread:
        raise NothingToCondense("The model has not read all of the chosen messages")
    hidden = effective[start:end]
    require_enough(effective, hidden)
    return Split(hidden, (*effective[:start], *effective[end:]), effective[unread:])


class FromOriginals(ByModel):
    """Puts a summary in place of another one, written from all that is behind that one.

    An earlier summary among that is read as what it stood for: nothing is retold of a retelling.
    """

    name = "from_originals"
    label = "from all originals"
    description = "A summary is written again from all the messages that it stands for."

    @override
    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction for so many messages, from the midst where they are."""
        about = super().prompt_for(alone(situation))
        is_part = situation.picked_at > 0
        return f"{about}\n\n{load_prompt('range')}" if is_part else about

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation; raise NothingToCondense where that summary is not visible."""
        at, effective = situation.picked_at, situation.effective
        if at < 0:
            raise NothingToCondense("This summary is hidden from the model already")
        unread = effective[unread_tail(effective) :]
        split = Split(effective[at : at + 1], (*effective[:at], *effective[at + 1 :]), unread)
        part = _Part(situation, split, Gauge(situation, kit.counter), kit)
        prompt = repair_instruction(self.prompt_for(situation), kit.lacking)
        written = await part.writer.write(situation.picked, prompt)
        return await part.reduction(self, written, prompt)


def alone(situation: Situation) -> Situation:
    """Return the situation as small as what was chosen: how long a summary should be goes by it."""
    tokens = sum([one.tokens or len(one.text) // 4 for one in situation.picked])
    return replace(situation, tokens=TokenCount(tokens))


class _Part(Recap):
    """Writes what the model reads instead of a part from the midst of a history."""

    @property
    @override
    def opening(self) -> str:
        preface = f"{HEADING}\n{load_prompt('range_preface')}"
        return preface if self._follows_others else opening()

    @override
    def tags(self) -> Tags:
        made = self.kit.new_id()
        return Tags(truncation_id=made) if self._follows_others else Tags(condense_id=made)

    @property
    def _follows_others(self) -> bool:
        return self.split.hidden[0].id != self.situation.effective[0].id


class ChosenResult(ByModel):
    """Has a summary stand in place of what one tool returned; its message stays."""

    name = "chosen_result"
    label = "chosen tool output"
    description = "A summary stands in place of one tool's output."
    kind: Kind = "cleared"

    @override
    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction; the user's own prompt is about conversations."""
        return condense_instruction(load_prompt("result"), situation.focus)

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a clearing; raise NothingToCondense before any call where there is no output."""
        answer = _answer(situation)
        effective, gauge = situation.effective, Gauge(situation, kit.counter)
        message = effective[answer.answered_at]
        shown: Sequence[Message] = (message.with_content((answer.result,)),)
        recap = Recap(situation, Split((), effective, ()), gauge, kit)
        prompt = recap.instruction(self)
        written = await recap.writer.write(shown, prompt)
        size = len(str(content_to_api(answer.result.content or "")))
        name = one_line(answer.call.name, NAME)
        line = LINE.format(name=name, size=size, summary=written.summary)
        tags = Tags(clear_id=kit.new_id(), cleared={message.id: {answer.call.id: line}})
        content = (TextBlock(CONDENSED_TEXT),)
        made = make_reduction(self, (message,), content, tags, gauge=gauge, kit=kit)
        return with_written(made, written, prompt, kit)


def _answer(situation: Situation) -> AnsweredCall:
    chosen, effective = situation.chosen or Chosen(()), situation.effective
    for one in pair_calls(effective).answered:
        if one.call.id == chosen.call and effective[one.answered_at].id in chosen.ids:
            if one.answered_at >= unread_tail(effective):
                raise NothingToCondense("The model has not read this output yet")
            return one
    raise NothingToCondense("This output is hidden from the model already")
