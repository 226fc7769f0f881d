"""Names of conversations: a session that the client names, and digests of a history."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chatapp.gateway.dialects import Dialect, RequestFacts
from chatapp.models import HistoryLink
from chatapp.records.transfer.record_rows import WRONG
from chatapp.records.transfer.source_texts import fields, texts_in
from chatapp.records.transfer.transcripts import Block

# Headers that name a session, the surest first; the body's own name comes after the first two.
_SUREST = ("x-palimpsest-conversation", "x-claude-code-session-id")
_NAMING = (
    "session-id", "session_id", "thread-id", "x-opencode-session", "x-session-affinity",
    "x-session-id", "x-openwebui-chat-id", "x-grok-session-id", "x-grok-conv-id", "x-amp-thread-id",
    "helicone-session-id", "x-litellm-session-id",
)  # fmt: skip
_OTHER = re.compile(r"x-(?!parent-)[\w-]+-session-id")
# A part of a session that is a conversation of its own.
_AGENTS = ("x-claude-code-agent-id", "thread-id")
# A sub-agent's session names the one that it works for.
_PARENT = "x-parent-session-id"
LONGEST_SESSION_NAME = 200
# From this share on two requests are of the same agent.
ALIKE = 0.5
# Beginnings of clients' requests for a summary or suggestion, and other signs of one.
_SUMMARY = re.compile(
    r"\s*(?:CRITICAL: Respond with TEXT ONLY|Your task is to create a detailed summary of the"
    r"|You are performing a CONTEXT CHECKPOINT COMPACTION|Provide a detailed prompt for continuing"
    r"|The current conversation is rapidly running out of context|\*Briefly\* summarize this"
    r"|Here is the conversation so far:\s*<conversation>"
    r"|(?P<goes_on>\[SUGGESTION MODE|The user stepped away))"
)
_KIND = re.compile(r'"request_kind": *"(?!turn")')


@dataclass(frozen=True, slots=True)
class Name:
    """The session of a request, "" without one; that of a sub-agent has its parent's too."""

    session: str = ""
    parent: str = ""


def name_of(headers: Mapping[str, str], told: RequestFacts) -> Name:
    """Return the session that a request belongs to."""
    surest = [headers.get(one, "") for one in _SUREST]
    others = [value for one, value in headers.items() if _OTHER.fullmatch(one)]
    found = (*surest, told.session, *[headers.get(one, "") for one in _NAMING], *others)
    session = _short(next(filter(None, found), ""))
    agent = next(filter(None, [headers.get(one) for one in _AGENTS]), session)
    if agent != session:
        return Name(_short(f"{session}/{agent}"), session)
    return Name(session, headers.get(_PARENT, ""))


def asks_aside(
    headers: Mapping[str, str], told: RequestFacts
) -> Literal["", "summary", "suggestion"]:
    """Return the purpose of a request that a client makes for its own use, "" for any other."""
    last = next((one for one in reversed(told.items) if _role(one) != "system"), None)
    is_trigger = fields(last).get("type") == "compaction_trigger"
    begins = next(filter(None, map(_SUMMARY.match, texts_in(last))), None)
    if begins and begins["goes_on"]:
        return "suggestion"
    is_other = _KIND.search(headers.get("x-codex-turn-metadata", ""))
    return "summary" if told.is_summary or is_trigger or begins or is_other else ""


def _role(item: object) -> str:
    return str(fields(item).get("role"))


def is_of_system(item: object) -> bool:
    """Return True for an item with a system prompt's authority."""
    return _role(item) in {"system", "developer"}


def _short(name: str) -> str:
    """Return a name as it is stored."""
    return hashlib.sha256(name.encode()).hexdigest() if len(name) > LONGEST_SESSION_NAME else name


@dataclass(frozen=True, slots=True)
class DigestedMessage:
    """A message of a history, with a digest of it and all before it."""

    role: str
    content: list[Block]
    digest: bytes
    is_told: bool = False  # with a system prompt's authority: it comes and goes, and has no digest


@dataclass(frozen=True, slots=True)
class RequestHistory:
    """The messages of a request. ``places`` has each item's message by its index, -1 for none."""

    entries: Sequence[DigestedMessage]
    places: Sequence[int]
    odd: int = 0


def root_of(owner: int, dialect: str) -> bytes:
    """Return the digest before a user's first message."""
    return hashlib.sha256(f"{owner} {dialect}".encode()).digest()


def read_history(
    told: RequestFacts, dialect: Dialect, *digests: bytes, follows: bool = False
) -> RequestHistory:
    """Return the messages of a request; with ``follows`` they are behind a stored answer.

    The ``digests`` are that before all messages, and those of the first ones that are stored.
    """
    transcript, places, of_system = dialect.transcript(), list[int](), set[int]()
    odd, silent, stored = 0, list[int](), iter(digests)
    for number, item in enumerate(told.items):
        known, problems = len(transcript.messages), len(transcript.problems)
        said = [len(one["content"]) for one in transcript.messages[-1:]]
        is_told = is_of_system(item)
        try:
            transcript.take(number + 1, item)
        except WRONG:
            odd += 1
        # An empty message lacks nothing; what comes before all messages is the prompt.
        if fields(item).get("content", True) and not is_told:
            odd += len(transcript.problems) > problems
        made = len(transcript.messages)
        places.append(made - 1 if made > known or (made and not is_told) else -1)
        # A message without words, such as sealed thinking, belongs to the next one.
        silent.append(number)
        if made > known or said != [len(one["content"]) for one in transcript.messages[-1:]]:
            for one in silent:
                places[one] = places[-1] if places[one] >= 0 else -1
            silent.clear()
        if is_told:
            of_system.update(range(known, made))
    entries, digest = list[DigestedMessage](), next(stored)
    if follows:
        entries.append(DigestedMessage("assistant", [], digest))
        places = [one + 1 if one >= 0 else one for one in places]
    for number, message in enumerate(transcript.messages):
        if number not in of_system:
            behind = HistoryLink.digest_behind(digest, message["role"], message["content"])
            digest = next(stored, behind)
        entries.append(
            DigestedMessage(message["role"], message["content"], digest, number in of_system)
        )
    return RequestHistory(entries, places, odd)


def are_alike(one: RequestFacts, other: RequestFacts) -> bool:
    """Return True if two requests are of the same agent, by its prompt's lines and its tools."""
    here, there = ({*told.system.splitlines(), *told.tools} for told in (one, other))
    likeness = len(here & there) / len(here | there) if here or there else 1
    return bool(one.tools) == bool(other.tools) and likeness >= ALIKE
