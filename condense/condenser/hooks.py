"""Hooks: an application's own steps around a condensation, and those that are there by default.

No hook can break one: a hook that raises is logged and noted with the attempt, and the rest goes on
without it. By default ledger and files follow a summary, and validators judge a model's text. A
summary of fewer than ``BRIEF`` characters needs no sections, and may be shorter than the ledger.
"""

import asyncio
import logging
import os
import re
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from condense.budget.situation import Addition, Reduction, Situation, Verdict
from condense.condenser.log import Event
from condense.errors import CondenseError, Vetoed, panics_as_errors
from condense.facts.ledger import parse_ledger, render
from condense.facts.receipt import receipt
from condense.facts.texts import plain_text
from condense.folded_files.files_read import files_read
from condense.folded_files.results import Folded
from condense.folded_files.sections import LIMIT, fold_files
from condense.folded_files.workspace import Ignore
from condense.messages import Block, Message, TextBlock
from condense.prompts import BESIDE_LEDGER, CONDENSE, load_prompt
from condense.reduction.carryover import facts_of
from condense.sentences import noop, say

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a run; hooks may read its ``situation`` and change the rest."""

    situation: Situation
    strategies: tuple[str, ...]  # names of the rungs in their order
    prompt: str  # the user's
    focus: str  # the user's
    prompt_key: str  # prompt if the user has none


@dataclass(frozen=True, slots=True)
class Veto:
    """The answer of a ``before`` hook that stops a run; ``reason`` is a sentence for people."""

    reason: str


ShouldCondense = Callable[[Situation], Awaitable[bool | None]]
Before = Callable[[Plan], Awaitable[Plan | Veto | None]]
After = Callable[[Situation, Reduction], Awaitable[Sequence[Block] | Addition]]
OnError = Callable[[Situation, CondenseError], Awaitable[Veto | None]]
Validator = Callable[[Situation, Reduction], Awaitable[Verdict]]
Listener = Callable[[Event], None]
PromptChoice = Callable[[Situation], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """All hooks of a condenser, each kind called in order.

    ``should_condense`` is asked before the threshold decides, and answers in its place unless that
    is None; not if automatic condensing is off, or a request is too long anyway. ``before`` may
    change the plan, with None for "as it is", or return a Veto. ``after`` returns blocks for the
    model to read after the summary, or an Addition to say something on record too; the blocks are
    left out if the context would hardly shrink with them.
    """

    should_condense: tuple[ShouldCondense, ...] = ()
    before: tuple[Before, ...] = ()
    after: tuple[After, ...] = ()
    validators: tuple[Validator, ...] = ()  # judge the result that is then applied
    on_error: tuple[OnError, ...] = ()  # after a failed attempt; may veto the next rung
    listeners: tuple[Listener, ...] = ()  # get each event, and must return at once

    def __add__(self, others: "Hooks") -> "Hooks":
        """Return these and then the others; a hook in both is called once."""
        both: dict[str, tuple[Any, ...]] = {}
        for kind in fields(self):
            ours, theirs = getattr(self, kind.name), getattr(others, kind.name)
            both[kind.name] = (*ours, *[hook for hook in theirs if hook not in ours])
        return Hooks(**both)


@dataclass(frozen=True, slots=True)
class HookRun:
    """The hooks during one run, and their failures, as sentences for the record."""

    hooks: Hooks
    troubles: list[str] = field(default_factory=list)

    async def should_condense(self, situation: Situation) -> bool | None:
        """Return the first answer of a hook, None if the threshold is to decide."""
        for hook in self.hooks.should_condense:
            with self._guarded(hook):
                answer = await hook(situation)
                if answer is not None:
                    return bool(answer)
        return None

    async def on_error(self, situation: Situation, error: CondenseError) -> Veto | None:
        """Return the first veto against a further rung."""
        for hook in self.hooks.on_error:
            with self._guarded(hook):
                answer = await hook(situation, error)
                if isinstance(answer, Veto):
                    return answer
        return None

    async def plan(
        self, situation: Situation, strategies: tuple[str, ...], choose: PromptChoice | None
    ) -> Plan:
        """Return the run's plan with the hooks' changes; raise Vetoed for a veto."""
        # The key of a prompt that does not exist is noted, and the key before it is used. The
        # default prompt leaves out the ledger's facts if a ledger is attached.
        key = BESIDE_LEDGER if attach_ledger in self.hooks.after else CONDENSE
        if choose:
            with self._guarded(choose):
                key = self._known(choose(situation)) or key
        plan = Plan(
            situation=situation,
            strategies=strategies,
            prompt=situation.prompt,
            focus=situation.focus,
            prompt_key=key,
        )
        for hook in self.hooks.before:
            answer: Plan | Veto | None = None
            with self._guarded(hook):
                answer = await hook(plan)
            if isinstance(answer, Veto):
                raise Vetoed(answer.reason)
            plan = answer if isinstance(answer, Plan) else plan
        return replace(plan, prompt_key=self._known(plan.prompt_key) or key)

    def _known(self, key: str) -> str:
        """Return the key of a prompt; note a key without a prompt and return ""."""
        try:
            return key if key and load_prompt(key) else ""
        except LookupError as error:
            self.troubles.append(str(error))
            return ""

    async def addition(
        self, hook: After, situation: Situation, reduction: Reduction
    ) -> Addition | None:
        """Return the addition of an ``after`` hook, None if it failed."""
        made: Addition | None = None
        with self._guarded(hook):
            added = await hook(situation, reduction)
            addition = added if isinstance(added, Addition) else Addition(blocks=tuple(added))
            kinds = {type(block) for block in addition.blocks}
            if not kinds <= {*get_args(Block)}:
                raise TypeError(noop("it returned something that is no content block"))
            made = addition
        return made  # noqa: RET504 - the guard may have kept it None

    async def judged(self, situation: Situation, reduction: Reduction) -> Reduction:
        """Return the reduction with the validators' verdicts, and with the hooks' failures."""
        verdicts: list[Verdict] = []
        for hook in self.hooks.validators:
            with self._guarded(hook):
                verdict = await hook(situation, reduction)
                verdicts.append(replace(verdict, name=verdict.name or name_of(hook)))
        notes = (*reduction.notes, *self.troubles)
        return replace(reduction, verdicts=tuple(verdicts), notes=notes)

    def tell(self, event: Event) -> None:
        """Send an event to the listeners."""
        for listener in self.hooks.listeners:
            with self._guarded(listener):
                listener(event)

    @contextmanager
    def _guarded(self, hook: object) -> Iterator[None]:
        try:
            with panics_as_errors():
                yield
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            # Unless only something that the hook waited for was cancelled.
            if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                raise
            log.warning("the hook %s failed", name_of(hook), exc_info=True)
            reason = str(error) or type(error).__name__
            self.troubles.append(
                say("The hook {name} failed: {reason}", name=name_of(hook), reason=reason)
            )


def name_of(hook: object) -> str:
    """Return the name of a hook, for the record."""
    return str(getattr(hook, "__qualname__", type(hook).__qualname__))


# Characters for each token of the window: all of Roo Code's 50,000 in the 200,000 tokens that most
# models had when it chose them, where they take some 7 %, and as much of a smaller window.
PER_TOKEN_OF_WINDOW = 0.25

FACTS = noop("the facts of the hidden messages, copied by rule")
FILES = noop("the signatures of files that were read")
# Characters of the hidden messages: twice the length of the prompt that asks for the sections.
BRIEF = 8_000  # characters
# A heading as prompts ask for it and models write it: numbered, with hashes, bold, or both; its
# subject may follow on its line, after a colon.
_HEADING = re.compile(
    r"^ {0,3}(?:#{1,6}|\d{1,2}[.)]|\*\*)[ *]*[^\s\d*#][^\n:]{1,80}(?::|$)", re.MULTILINE
)
_SECTION = re.compile(r"^ {0,3}(\d{1,2})[.)] +([^:\n]{2,80}):", re.MULTILINE)
_FORM = re.compile(r"<summary>\n([^<]{1,5000})</summary>")
# A model that leaves out every second section did not follow the form.
LEAST_SECTIONS_SHARE = 0.5
# In the languages that most models answer in; a refusal says nothing else, so it is short.
_REFUSAL = re.compile(
    r"\b(?:I(?: am|\Wm) (?:sorry|unable|not able)|I (?:cannot|can\Wt|won\Wt)|as an AI\b"
    r"|(?:es )?tut mir leid|ich kann (?:das|dies|dir|Ihnen)?\b[^.]{0,40}\bnicht"
    r"|je suis désolé|je ne peux pas|lo siento|no puedo|sinto muito|não posso|mi dispiace|non posso"
    r"|к сожалению|я не могу)"
    r"|对不起|抱歉|無法|无法|申し訳|できません|죄송|할 수 없|آسف|لا أستطيع",
    re.IGNORECASE,
)
REFUSAL, REFUSAL_START = 400, 60  # characters
# Prose shrinks to two fifths under DEFLATE, code to a fourth; a text that shrinks to less than an
# eighth says each thing several times.
DENSITY = 1 / 8
DENSITY_FROM = 400  # characters; below that the ratio says little
# Places of a summary that are looked for in the hidden text, their length, and a copy's share.
PROBES, PROBE, COPIED = 40, 60, 0.9
# With fewer than half of the changed files, or of the rules, it does not replace the messages.
LEAST_READABLE_SHARE = 0.5
FEWEST = 3  # facts of a kind; a share of fewer is chance
MISSING_NAMED = 20  # missing facts, for the repair
_KEPT_KINDS = ("edited_files", "constraints")


async def attach_ledger(situation: Situation, reduction: Reduction) -> Addition:
    """Return the facts that a model's summary hides, copied by rule.

    They take 4 % of the window at most, of a small one up to a tenth. A ledger that is itself the
    summary, and a truncation's marker, carry theirs already.
    """
    if reduction.kind != "condensed" or not reduction.prompt:
        return Addition()
    facts = await facts_of(reduction.hidden_among(situation.effective), situation)
    return Addition(blocks=facts, what=FACTS)


@dataclass(frozen=True, slots=True)
class AttachFoldedFiles:
    """Adds the hidden files' signatures to a summary, and a record of them.

    ``root`` is the workspace, neither a link nor behind one; ``ignore`` returns True for paths that
    are not shown, in place of its ``.rooignore``. The last read comes first. All of them take
    50,000 characters at most, less in a window under 200,000 tokens, and a third of the tokens
    gained. A truncation gets none.
    """

    root: str | os.PathLike[str]
    ignore: Ignore | None = None

    async def __call__(self, situation: Situation, reduction: Reduction) -> Addition:
        """Return one block for each file; nothing if no file was read."""
        if reduction.kind != "condensed":
            return Addition()
        hidden = reduction.hidden_among(situation.effective)
        paths = await asyncio.to_thread(files_read, hidden)
        if not paths:
            return Addition()
        # A character for each token gained: code has three or four in one, so two thirds stay.
        gained = reduction.tokens_before.value - reduction.tokens_after.value
        of_window = int(situation.budget.window * PER_TOKEN_OF_WINDOW)
        room = max(0, min(LIMIT, of_window, gained))
        folded = await asyncio.to_thread(self.fold, paths, room)
        return Addition(blocks=tuple(map(TextBlock, folded.sections)), folded=folded, what=FILES)

    def fold(self, paths: Sequence[str], limit: int) -> Folded:
        """Return the signatures of these files of the workspace, up to ``limit`` characters."""
        return fold_files(paths, self.root, limit=limit, ignore=self.ignore)


async def has_sections(situation: Situation, reduction: Reduction) -> Verdict:
    """Reject a summary with fewer than half of the sections that its prompt's form has."""
    form = _FORM.search(reduction.prompt)
    titles: dict[str, str] = {}
    for number, title in _SECTION.findall(reduction.prompt if form else ""):
        titles.setdefault(number, title)
    shown, asked = _SECTION.findall(form[1]) if form else [], list(titles.values())
    # A prompt may number other things, and show no form of them.
    is_asked = shown and titles.get("1") == shown[0][1]
    if not is_asked or await asyncio.to_thread(_is_brief, situation, reduction):
        return Verdict(name=noop("sections"))
    found = len(_HEADING.findall(reduction.summary))
    score = min(1.0, found / len(asked))
    if score >= LEAST_SECTIONS_SHARE:
        return Verdict(name=noop("sections"), score=score)
    missing = [one for one in asked if one.casefold() not in reduction.summary.casefold()]
    issue = say(
        "It has {found} of {asked} sections; missing: {missing}",
        found=found,
        asked=len(asked),
        missing="; ".join(missing),
    )
    return Verdict(name=noop("sections"), score=score, issues=(issue,), rejects=True)


async def is_no_refusal(_: Situation, reduction: Reduction) -> Verdict:
    """Reject an answer that declines to summarise."""
    text = reduction.summary.strip()
    refuses = len(text) <= REFUSAL and _REFUSAL.search(text[:REFUSAL_START])
    issues = (noop("It declines to summarise"),) if refuses else ()
    return Verdict(name=noop("refusal"), issues=issues, rejects=bool(refuses))


async def repeats_nothing(situation: Situation, reduction: Reduction) -> Verdict:
    """Reject a summary that repeats one phrase, or only copies the messages it replaces.

    An earlier summary may be copied: the next one is asked to keep its words.
    """
    hidden = [one for one in reduction.hidden_among(situation.effective) if not one.is_summary]
    issues = await asyncio.to_thread(_repetitions, reduction.summary, hidden)
    return Verdict(name=noop("repetition"), issues=tuple(issues), rejects=bool(issues))


async def outweighs_ledger(situation: Situation, reduction: Reduction) -> Verdict:
    """Reject a summary shorter than the ledger that comes with it for free.

    The words of people and replies in a ledger do not count: they are copied whole.
    """
    texts = [block.text for block in reduction.message.blocks if isinstance(block, TextBlock)]
    ledgers = [ledger for ledger in map(parse_ledger, texts) if ledger]
    facts = sum(
        [len(render(replace(ledger, rules=(), requests=(), last_reply=""))) for ledger in ledgers]
    )
    is_short = len(reduction.summary) < facts
    is_short = is_short and not await asyncio.to_thread(_is_brief, situation, reduction)
    issues = (noop("It is shorter than the list of facts beside it"),) if is_short else ()
    return Verdict(name=noop("length"), issues=issues, rejects=is_short)


async def keeps_facts(situation: Situation, reduction: Reduction) -> Verdict:
    """Reject a reduction that keeps few of the changed files, or of the user's rules."""
    hidden = reduction.hidden_among(situation.effective)
    found = await asyncio.to_thread(receipt, hidden, [reduction.message])
    tallies = [tally for kind, tally in found.tallies.items() if kind in _KEPT_KINDS]
    score = min([tally.score for tally in tallies if tally.total >= FEWEST], default=1.0)
    if score >= LEAST_READABLE_SHARE:
        return Verdict(name=noop("facts"), score=score)
    gone = found.of("lost", "changed", "recoverable")
    missing = [one.text for one in gone if one.kind in _KEPT_KINDS][:MISSING_NAMED]
    issue = say("It leaves out: {missing}", missing="; ".join(missing))
    return Verdict(name=noop("facts"), score=score, issues=(issue,), rejects=True)


DEFAULT_VALIDATORS = (has_sections, is_no_refusal, repeats_nothing, outweighs_ledger, keeps_facts)


def _repetitions(summary: str, hidden: Sequence[Message]) -> list[str]:
    issues, data = list[str](), summary.encode()
    if len(summary) >= DENSITY_FROM and len(zlib.compress(data)) < DENSITY * len(data):
        issues.append(noop("It says the same over and over"))
    # One by one: to split or search a long history in one go holds up all threads.
    sources = [" ".join(plain_text([one]).split()) for one in hidden]
    text = " ".join(summary.split())
    step = max(PROBE, len(text) // PROBES)
    probes = [text[at : at + PROBE] for at in range(0, len(text) - PROBE + 1, step)]
    copied = sum([any(probe in source for source in sources) for probe in probes])
    if len(text) >= DENSITY_FROM and copied > COPIED * len(probes):
        issues.append(noop("It repeats the text it should summarise"))
    return issues


def _is_brief(situation: Situation, reduction: Reduction) -> bool:
    return len(plain_text(reduction.hidden_among(situation.effective))) < BRIEF
