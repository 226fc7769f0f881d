"""Slash commands, built in and people's own; the blocks of commands and paths in a message."""

from dataclasses import dataclass
from difflib import get_close_matches

from django.contrib.auth.models import User
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _lazy

import condense
from chatapp.agent.annotated_blocks import command_block
from chatapp.agent.async_tasks import compute
from chatapp.agent.errors import ToolError
from chatapp.conversations.composer.attachments import Expansion
from chatapp.conversations.composer.mentions import added_by, missing_in
from chatapp.conversations.context.sizes import COUNTER
from chatapp.conversations.conversations import check_message, start_conversation
from chatapp.conversations.embedding.vectors import embed_question
from chatapp.conversations.toolbox.history_search import with_subject
from chatapp.conversations.toolbox.toolbox import folder_of, workspace_of
from chatapp.models import Conversation
from chatapp.models.database import reading
from chatapp.models.errors import Refused, Unclear
from chatapp.project.languages import in_words
from chatapp.project.sentences import in_a_row
from chatapp.project.sentences import translate as _
from chatapp.tools.command_syntax import SlashCommand, called_in, commands_in, read_command
from chatapp.tools.workspace import Workspace

# Paths that a sentence names.
MOST_PATHS_NAMED = 3


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A command that the page itself carries out."""

    name: str
    description: Promise
    hint: Promise | str = ""
    # True if it also works before there is a conversation.
    anywhere: bool = False


BUILT_IN = (
    BuiltIn(
        "condense",
        _lazy("Condense the context now. Add what the summary must keep."),
        _lazy("[what to keep]"),
    ),
    BuiltIn("rewind", _lazy("Go back to before your last message. You see first what it hides.")),
    BuiltIn(
        "clear",
        _lazy("Start a new conversation with the same profile and workspace. This one stays."),
    ),
    BuiltIn("export", _lazy("Download this conversation as JSON, with its hidden messages.")),
    BuiltIn("help", _lazy("Show everything you can type here."), anywhere=True),
)
RESERVED = frozenset(one.name for one in BUILT_IN)
# The share of letters that a misspelt name has in common with the one that is meant.
ALIKE = 0.7
# Names that these commands have in other programs.
NAMES_ELSEWHERE = {
    **dict.fromkeys(("compact", "compress", "smol", "summarize"), "condense"),
    **dict.fromkeys(("new", "reset"), "clear"),
    "undo": "rewind",
}


def built_in(text: str) -> tuple[str, str]:
    """Return a command that a conversation's page carries out, and its arguments; or "" twice."""
    name, arguments = called_in(text) or ("", "")
    is_one = name in RESERVED and (not arguments or name == "condense")
    return (name, arguments) if is_one else ("", "")


def own_commands(conversation: Conversation) -> dict[str, SlashCommand]:
    """Return the commands of the owner and of the workspace, by name.

    No command replaces a built-in one, and no command of the workspace one of the owner's.
    """
    found = commands_in(Workspace(folder_of(conversation)))
    allowed = {one.name: one for one in found if one.name not in RESERVED}
    return allowed | saved_commands(conversation.owner)


def saved_commands(owner: User) -> dict[str, SlashCommand]:
    """Return the commands of a user, by name; they are there in every conversation."""
    rows = owner.saved_commands.exclude(name__in=RESERVED)
    return {row.name: read_command(row.name, row.text) for row in rows}


async def expand(
    conversation: Conversation, text: str, *, strict: bool, replaces: int | None = None
) -> Expansion:
    """Return the blocks for the command and the paths in a message, which may replace another.

    An unclear command or path is text, or raises Unclear if ``strict``. Raises Refused if the
    message is too long.
    """
    check_message(text, alone=False)
    blocks: list[condense.Block] = []
    if text.lstrip().startswith("/"):
        blocks += await reading(_directive_in)(conversation, text, strict=strict)
    if "@" in text:
        blocks += await reading(_mentioned_in)(conversation, text, strict=strict)
    contents: list[condense.Content] = [text, tuple(blocks)]
    tokens, forgets = await compute(
        contents,
        lambda: (sum(map(COUNTER.count, contents)), condense.find_forget_requests(text)),
    )
    if conversation.has_meanings or forgets:
        asked = text if forgets else await reading(with_subject)(conversation, text, replaces)
        await embed_question(conversation.pk, asked, unasked=True)
    return Expansion(text, tuple(blocks), tokens)


def _directive_in(conversation: Conversation, text: str, *, strict: bool) -> list[condense.Block]:
    name, arguments = called_in(text) or ("", "")
    if not name:
        return []
    own = own_commands(conversation)
    if command := own.get(name):
        return [command_block(name, command.directive(arguments))]
    if not strict:
        return []
    if any(built_in(text)):
        words = _("/{name} is a command. Reload the page and type it again.", name=name)
        raise Refused(words)
    if name in RESERVED:
        words = _("/{name} takes nothing after it. Send it again to send it as text.", name=name)
    elif near := get_close_matches(NAMES_ELSEWHERE.get(name, name), [*RESERVED, *own], 1, ALIKE):
        words = _(
            "There is no command /{name}, but there is /{other}. Send it again to send it as text.",
            name=name,
            other=near[0],
        )
    else:
        words = _("There is no command /{name}. Send it again to send it as text.", name=name)
    raise Unclear(words)


def _mentioned_in(conversation: Conversation, text: str, *, strict: bool) -> list[condense.Block]:
    try:
        return [*added_by(Workspace(workspace_of(conversation)), text, strict=strict)]
    except (Refused, ToolError) as error:
        if not strict:
            return []
        why = in_words(str(error))
        words = _("{why} Nothing was sent. Send it again to send the path as text.", why=why)
        raise Unclear(words) from error


async def missing_from(conversation: Conversation, text: str) -> str:
    """Return a sentence on the paths in a message that lead nowhere, "" without any."""
    read = reading(lambda: missing_in(Workspace(folder_of(conversation)), text))
    missing = await read()
    named = in_a_row([f"@{path}" for path in missing[:MOST_PATHS_NAMED]])
    if len(missing) > MOST_PATHS_NAMED:
        return _("The workspace has no {paths} and others: it was sent as text.", paths=named)
    return _("The workspace has no {paths}: it was sent as text.", paths=named) if named else ""


def begin_again(*, conversation: Conversation) -> Conversation:
    """Return a new conversation with the profile and the workspace of another, which stays.

    Raises Refused if the owner may not read that workspace any more.
    """
    workspace_of(conversation, make=False)
    return start_conversation(
        owner=conversation.owner,
        profile=conversation.profile,
        workspace=conversation.workspace or conversation.pk.hex,
    )
