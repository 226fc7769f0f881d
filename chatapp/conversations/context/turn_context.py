"""The settings and the context of a turn, as they were when it began.

Its model reads a system prompt first and, with each message, environment details: the time, files,
the to-do list, the context's size.
"""

import itertools
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolSpec
from chatapp.agent.prompts import ABOUT, BROKEN, CLOSING, PROJECT, SYSTEM_PROMPT
from chatapp.conversations.context.condense_requests import NO_REQUEST, CondenseRequest
from chatapp.conversations.toolbox.toolbox import folder_of, offered
from chatapp.models import (
    Conversation,
    Message,
    Preferences,
    Profile,
    ToolRun,
    Turn,
    errors,
    message_store,
)
from chatapp.models.accounts import preferences_of
from chatapp.models.calls import pace_of
from chatapp.project.sentences import zone_named
from chatapp.tools.update_todo_list import SPEC, read_items
from chatapp.tools.workspace import Workspace

NO_PROFILE = condense.noop("This conversation has no profile. Choose one in its header.")

PROJECT_FILE = "AGENTS.md"

# Characters: they go along with every request.
LONGEST_PROJECT_FILE = 32_000

# The latest calls that are looked at: a rewind may have taken some back.
LATEST_CALLS = 5

# Entries of the workspace's folder; the agent can list the rest.
MOST_FILES = 60


@dataclass(frozen=True, slots=True)
class TodoList:
    """Items, each with its state: "x" done, "-" in progress, " " to do."""

    items: Sequence[tuple[str, str]]

    @property
    def done(self) -> int:
        """The number of items that are done."""
        return sum(state == "x" for state, _text in self.items)

    @property
    def current(self) -> str:
        """The item in progress, or else the first open one; "" if all are done."""
        texts = dict(reversed(self.items))
        return texts.get("-") or texts.get(" ", "")


def read_todo(conversation: Conversation) -> TodoList | None:
    """Return the latest list of a conversation, None without one."""
    runs = ToolRun.objects.filter(turn__conversation=conversation.pk, name=SPEC.name)
    good = runs.filter(is_error=False).exclude(finished_at=None).order_by("-pk")[:LATEST_CALLS]
    return next(filter(None, map(_call_of, good)), None)


def _call_of(run: ToolRun) -> TodoList | None:
    """Return the list that a run was called with, None if its call was taken back."""
    said = Message.objects.filter(turn=run.turn_id, role=Message.Role.ASSISTANT, rewind_parent=None)
    for row in said.filter(created_at__lte=run.started_at).order_by("-seq")[:LATEST_CALLS]:
        for call in message_store.to_engine(row).tool_uses:
            if call.id == run.call_id and isinstance(call.input, dict):
                try:
                    return TodoList(read_items(str(call.input.get("todos", ""))))
                except ToolError:
                    return None
    return None


def describe_surroundings(conversation: Conversation, zone: str, preferences: Preferences) -> str:
    """Return the surroundings to send with a message now, "" if its owner wants none."""
    if not preferences.environment_details:
        return ""
    now = timezone.now().astimezone(place := zone_named(zone))
    known = read_todo(conversation) if conversation.last_seq and conversation.has_todo else None
    todo = known.items if known else ()
    profile, used = conversation.answering, conversation.measured_tokens
    context = ""
    if profile and used is not None:
        window = f"{profile.context_window:,} tokens were in use after the last call."
        context = f"About {used:,} of {window}"
    parts = {
        "Current time": f"{now:%A, %Y-%m-%d %H:%M} ({place}, UTC{now:%:z})",
        "Files in the workspace": _list_files(folder_of(conversation)) or "none",
        "To-do list": "\n".join([f"[{state}] {text}" for state, text in todo]),
        "Context window": context,
    }
    told = "\n".join([f"# {name}\n{text}" for name, text in parts.items() if text])
    return f"<environment_details>\n{CLOSING.sub(BROKEN, told)}\n</environment_details>"


def _list_files(folder: Path) -> str:
    """Return the first entries of a folder, one a line; "" if it does not exist."""
    if not folder.is_dir():
        return ""
    found = []
    with suppress(ToolError):
        found = [*itertools.islice(Workspace(folder).walk(recursive=False), MOST_FILES + 1)]
    lines = [f"{one.path}/" if one.kind == "folder" else one.path for one in found[:MOST_FILES]]
    if len(found) > MOST_FILES:
        lines.append("[and more: list the folder]")
    return "\n".join(lines)


ConfigurationChange = Callable[[condense.Configuration], condense.Configuration]


def budget_for(
    profile: Profile, preferences: Preferences, history: Sequence[condense.Message] = ()
) -> condense.Budget:
    """Return the window, the reserve and the threshold in force for a profile.

    It is that of a new conversation, unless there is a ``history``.
    """
    new = Conversation(pk=None, owner_id=profile.owner_id)
    terms = TurnSettings(conversation=new, profile=profile, preferences=preferences)
    return terms.budget(history)


def configuration_for(profile: Profile, preferences: Preferences) -> condense.Configuration:
    """Return the configuration of user and server; its strategies are names to be loaded."""
    chosen = preferences.strategy or settings.CONDENSE_STRATEGY
    rungs = condense.ladder_from(chosen, clear=preferences.clear_tool_output)
    asked, wanted = profile.find_contradictions, preferences.find_contradictions
    checks = settings.CONDENSE_DEFAULT_HOOKS and bool(wanted if asked is None else asked)
    policy = condense.Policy(finds_contradictions=checks)
    if preferences.stop_when_full and rungs[-1] != chosen:
        # A small window leaves only truncation.
        policy = replace(policy, small_window=0)
        rungs = condense.ladder_from(chosen, clear=preferences.clear_tool_output, alone=True)
    named = profile.condensing_prompt
    own = condense.PerProfile({profile.name: profile.threshold})
    adaptive = (condense.Adaptive(),) if preferences.adaptive else ()
    made = condense.Configuration(
        strategies=rungs,
        policy=policy,
        thresholds=(own, *adaptive, condense.Fixed(preferences.threshold)),
        buffer=settings.CONDENSE_BUFFER / 100,
        automatic=preferences.auto_condense,
        prompt=named.text if named else preferences.condensing_prompt,
    )
    if not settings.CONDENSE_CONFIGURATION:
        return made
    change: ConfigurationChange = import_string(settings.CONDENSE_CONFIGURATION)
    changed = change(made)
    mine = [one if one in made.thresholds else _operators(one) for one in changed.thresholds]
    return replace(changed, thresholds=tuple(mine))


def _operators(resolve: condense.Resolver) -> condense.Resolver:
    """Return a resolver that marks the operator's percentages as such, unlike the user's."""

    def resolved(query: condense.ThresholdQuery) -> condense.Threshold | None:
        found = resolve(query)
        if found is None or found.source == "adaptive":
            return found
        return condense.Threshold(found.percent, "operator")

    return resolved


@dataclass(frozen=True, kw_only=True)
class TurnSettings:
    """The settings of a conversation's next turn."""

    conversation: Conversation
    profile: Profile
    preferences: Preferences

    @property
    def writer(self) -> Profile:
        """The profile that writes summaries: the one that answers, unless it names another."""
        return self.profile.summaries_by or self.profile

    @cached_property
    def whose(self) -> dict[str, str]:
        """The ids of user and conversation for the engine, "" for none."""
        of: Any = self.conversation
        return {"user": str(of.owner_id or ""), "conversation": str(of.pk or "")}

    @property
    def tokens_kept(self) -> int | None:
        """Tokens of newest messages to keep word for word; None counts messages."""
        return self.profile.tokens_kept or self.preferences.tokens_kept

    @property
    def condenses_idle(self) -> bool:
        """True if condensing while idle is allowed, whenever that is cheaper."""
        wanted = self.preferences
        return wanted.condense_idle and not (wanted.review_automatic or self.conversation.put_off)

    @cached_property
    def folder(self) -> Path:
        """The path of the chosen workspace, as it is at the first use."""
        return folder_of(self.conversation)

    @cached_property
    def system(self) -> str:
        """The system prompt; it stays as it is at the first use.

        The owner's words about themselves are part of it, and the workspace's AGENTS.md without
        closing tags. It is the same for each turn, byte for byte, while that file is.
        """
        told = self.conversation.system_prompt or self.profile.system_prompt or SYSTEM_PROMPT
        if about := self.preferences.about_me.strip():
            told = f"{told}\n\n{ABOUT.format(text=about)}"
        text = ""
        if self.folder.is_dir():
            with suppress(ToolError):
                text = Workspace(self.folder).read_text(PROJECT_FILE).strip()
        if not text:
            return told
        if len(text) > LONGEST_PROJECT_FILE:
            rest = f"[The rest of {PROJECT_FILE} is left out here: read the file.]"
            text = f"{text[:LONGEST_PROJECT_FILE]}\n{rest}"
        return f"{told}\n\n" + PROJECT.format(text=CLOSING.sub(BROKEN, text))

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may call."""
        return offered(self.conversation, self.profile)

    @cached_property
    def configuration(self) -> condense.Configuration:
        """The configuration of condensing by user and server."""
        return configuration_for(self.profile, self.preferences)

    def budget(self, history: Sequence[condense.Message] = ()) -> condense.Budget:
        """Return the window, the reserve and the threshold in force."""
        profile, asked = self.profile, {"history": history, **self.whose}
        return self.configuration.budget(
            profile.context_window, profile.output_limit, profile=profile.name, **asked
        )


def terms_with(conversation: Conversation, profile: Profile) -> TurnSettings:
    """Return the settings of a conversation's next turn, answered by this profile."""
    preferences = preferences_of(conversation.owner)
    return TurnSettings(conversation=conversation, profile=profile, preferences=preferences)


@dataclass(slots=True)
class CondenseRequests:
    """Requests to condense that were made during a turn and have not begun; the latest counts."""

    awaited: CondenseRequest | None = None
    heard: set[uuid.UUID] = field(default_factory=set)

    def ask(self, request: CondenseRequest) -> bool:
        """Have it begin after the step; return False if it was made before."""
        if request.nonce in self.heard:
            return False
        self.heard.add(request.nonce)
        self.awaited = request
        return True

    def take(self) -> CondenseRequest | None:
        """Return the condensation to begin now, None if none waits."""
        request, self.awaited = self.awaited, None
        return request


@dataclass(frozen=True, kw_only=True)
class TurnContext(TurnSettings):
    """The settings of a running turn; changes since come too late, but for spending limits."""

    turn: Turn
    question: condense.Message | None = None  # began it, unless it took the place of another
    request: CondenseRequest = NO_REQUEST  # of a turn that only condenses
    zone: str = ""  # time zone of the last person who wrote, "" if unknown
    requests: CondenseRequests = field(default_factory=CondenseRequests, compare=False, repr=False)

    @property
    def asks_title(self) -> bool:
        """True if the model is to name the conversation after this turn, its first."""
        first = self.turn.at_seq == 0 and self.turn.origin == Turn.Origin.SENT
        wanted = self.preferences.name_conversations
        return first and wanted and self.profile.spec.names_conversations


# The runs of this process by their turns, each while it is used: viewers need not read all anew.
known_runs: WeakValueDictionary[uuid.UUID, TurnContext] = WeakValueDictionary()


def read_run(
    conversation: Conversation,
    *,
    turn: Turn,
    question: condense.Message | None = None,
    request: CondenseRequest = NO_REQUEST,
) -> TurnContext:
    """Return the context of a run in a conversation as it is now; raise Refused if none begins."""
    if conversation.deleted_at:
        raise errors.Refused(condense.noop("This conversation was deleted."))
    profile = _answering(conversation, turn)
    if profile is None:
        raise errors.Refused(NO_PROFILE)
    known_runs[turn.pk] = run = TurnContext(
        conversation=conversation,
        profile=profile,
        preferences=preferences_of(conversation.owner, conversation.preferences),
        turn=turn,
        question=question,
        request=request,
        zone=turn.zone,
    )
    return run


def _answering(conversation: Conversation, turn: Turn | None) -> Profile | None:
    """Return the profile that answers; a turn may have another than its conversation."""
    if turn is None or turn.profile_id in {None, conversation.profile_id}:
        return conversation.answering
    return turn.profile


def read_terms(conversation_id: uuid.UUID, turn: str = "") -> TurnSettings | None:
    """Return the settings of a turn, or of the next one; None without a profile."""
    fresh = message_store.read_conversation(conversation_id)
    running = Turn.objects.filter(pk=turn).first() if turn else None
    if (profile := _answering(fresh, running)) is None:
        return None
    profile.pace = pace_of(profile.pk)
    preferences = preferences_of(fresh.owner, fresh.preferences)
    return TurnSettings(conversation=fresh, profile=profile, preferences=preferences)
