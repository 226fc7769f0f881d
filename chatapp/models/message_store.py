"""The only place that turns rows into ``condense.Message`` and back."""

import uuid
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count, F, Max, Q, Sum, prefetch_related_objects
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import as_claimed
from chatapp.models import (
    Conversation,
    Message,
    ModelCall,
    Preferences,
    Profile,
    Turn,
    message_index,
)
from chatapp.models.database import (
    SqlStatement,
    StatementFunction,
    clock,
    insert,
    is_shared,
    next_key,
    only,
    row_locks,
    select,
    together,
)

_TAG_NAMES = (
    "condense_id", "condense_parent", "truncation_id", "truncation_parent", "clear_id",
    "rewind_parent",
)  # fmt: skip

# Messages of a long history from which figures are computed; those before them are added up.
NEWEST, STAND_IN = 500, "beyond"

# Two conditions, since each has an index.
_HIDES = (
    "EXISTS (SELECT 1 FROM chatapp_message WHERE conversation_id = c.id "
    "AND {} IS NOT NULL AND NOT undone AND rewind_parent IS NULL)"
)
_HAS_HIDDEN = f"({_HIDES.format('condense_id')} OR {_HIDES.format('truncation_id')}) AS has_hidden"
_IS_CLIENTS = (
    "EXISTS (SELECT 1 FROM chatapp_clientconversation WHERE conversation_id = c.id AND is_open) "
    "AS is_clients"
)


def to_engine(
    row: Message, *, whole: bool = False, tags: condense.Tags | None = None
) -> condense.Message:
    """Return a stored message for the engine; a damaged one says that it is damaged.

    Forgotten passages are left out, unless ``whole``, for pages. With ``tags`` the row's own are
    not read.
    """
    content: condense.Content
    try:
        content = condense.content_from_api(row.content)
    except condense.InvalidMessage:
        content = condense.noop("[This message is damaged: what it said can't be read.]")
    message = condense.Message(
        role="user" if row.role == Message.Role.USER else "assistant",
        content=as_claimed(content) if row.claimed else content,
        id=str(row.pk),
        seq=row.seq,
        position=row.position,
        tags=tags or _tags_of(row),
        tokens=row.tokens,
    )
    return message if whole else condense.without_forgotten(message, row.forgotten or ())


def _tags_of(row: Message) -> condense.Tags:
    # As the engine writes them; a row just made still holds the values it was given.
    given = {name: getattr(row, name) for name in _TAG_NAMES}
    ids: dict[str, Any] = {name: uuid.UUID(str(one)).hex for name, one in given.items() if one}
    return condense.Tags(
        **ids,
        cleared=row.cleared,
        undone=row.undone,
        pinned=bool(row.pinned),
        unbound=bool(row.unbound),
    )


_WHOLE = (
    "SELECT c.*, u.*, p.*, f.*{} FROM chatapp_conversation c JOIN auth_user u ON u.id = c.owner_id "
    "LEFT JOIN chatapp_profile p ON p.id = c.profile_id "
    "LEFT JOIN chatapp_preferences f ON f.owner_id = c.owner_id WHERE {}"
)
# Further facts for a new turn. Most turns have no other one, and no to-do list.
_FOR_TURN = (
    f", {_HAS_HIDDEN}, {_IS_CLIENTS}, "  # noqa: S608 - conditions of our own
    "EXISTS (SELECT 1 FROM chatapp_turn WHERE conversation_id = c.id "
    "AND nonce = %s) AS is_known, (SELECT origin FROM chatapp_turn WHERE conversation_id = c.id "
    "AND finished_at IS NULL) AS runs, EXISTS (SELECT 1 FROM chatapp_queuedmessage WHERE "
    "conversation_id = c.id AND (nonce = %s OR (gone_at IS NULL AND 'succeeded' = (SELECT status "
    "FROM chatapp_turn WHERE conversation_id = c.id ORDER BY started_at DESC, id DESC LIMIT 1)))) "
    "AS has_queued, "
    "NOT u.is_active OR EXISTS (SELECT 1 FROM chatapp_deletion WHERE user_id = u.id) "
    "AS is_closing, (SELECT COUNT(*) FROM chatapp_turn t JOIN chatapp_conversation o "
    "ON o.id = t.conversation_id WHERE t.finished_at IS NULL AND o.id != c.id "
    "AND o.owner_id = c.owner_id) AS others, "
    "EXISTS (SELECT 1 FROM chatapp_toolrun r JOIN chatapp_turn t ON t.id = r.turn_id "
    "WHERE t.conversation_id = c.id AND r.name = 'update_todo_list') AS has_todo"
)


_OWN = (
    "SELECT c.*, u.*, EXISTS (SELECT 1 FROM chatapp_meanings WHERE conversation_id = c.id "
    "AND LENGTH(centre) > 0) AS has_meanings FROM chatapp_conversation c "
    "JOIN auth_user u ON u.id = c.owner_id "
    "WHERE c.id = %s AND c.owner_id = %s AND c.deleted_at IS NULL"
)


def whole(where: str, *values: Any, more: str = "") -> SqlStatement:
    """Return a statement for conversations with their owners, profiles and the profiles' rows."""
    kinds = {"owner": User, "profile": Profile, "preferences": Preferences}
    read = select.query(Conversation, _WHOLE.format(more, where), *values, **kinds)

    def take(*found: Any) -> list[Conversation]:
        rows: list[Conversation] = read.take(*found)
        for row in rows:
            if profile := row.profile:
                profile.owner = row.owner
                # The event loop's thread could not read these; most profiles have none of them.
                if profile.origin_id or profile.summaries_by_id or profile.condensing_prompt_id:
                    writer = ("summaries_by__owner", "summaries_by__origin__owner")
                    named = ("origin__owner", *writer, "condensing_prompt")
                    prefetch_related_objects([profile], *named)
        return rows

    return replace(read, take=take)


def read_conversation(pk: uuid.UUID) -> Conversation:
    """Return a conversation as it is now, with its owner, its profile and the profile's rows."""
    row: Conversation
    ((row,),) = together(whole("c.id = %s", pk))
    return row


def lock_for_turn(pk: uuid.UUID, nonce: uuid.UUID) -> Conversation:
    """Lock a conversation until the commit, and return it for the turn with this nonce.

    Until then no turn of its owner begins or ends, unless the owner is an operator.
    """
    member = "id = (SELECT owner_id FROM chatapp_conversation WHERE id = %s) AND NOT is_superuser"
    # Locked first, so that the rows are read as the last transaction left them.
    locks = (*row_locks(Conversation, pk), *row_locks(User, pk, where=member))
    more = f"{_FOR_TURN}, {clock()} AS moment"
    read = whole("c.id = %s", nonce, nonce, pk, more=more)
    row: Conversation
    *_locks, key, (row,) = together(*locks, next_key(Message), read)
    row.next_message, row.moment = key, row.moment if is_shared() else timezone.now()
    return row


@StatementFunction
def find_own(pk: uuid.UUID, owner_id: int | None) -> SqlStatement:
    """Return a user's conversation and its owner as they are now, None without one."""
    read = select.query(Conversation, _OWN, pk, owner_id, owner=User)
    return replace(read, take=lambda *found: next(iter(read.take(*found)), None))


def put_off(conversation: Conversation, on: bool) -> None:
    """Have the next condensation that would begin by itself wait for one turn, or not."""
    Conversation.objects.filter(pk=conversation.pk).update(put_off=on)
    conversation.put_off = on


def is_put_off(conversation_id: uuid.UUID) -> bool:
    """Return True while the next automatic condensation is put off."""
    return Conversation.objects.filter(pk=conversation_id, put_off=True).exists()


def read_effective(conversation_id: uuid.UUID) -> tuple[condense.Message, ...]:
    """Return the effective history in reading order; the cost depends on visible messages only."""
    rows = effective_rows(conversation_id)
    return condense.effective_history([to_engine(row) for row in rows])


def read_outline(conversation_id: uuid.UUID) -> tuple[tuple[condense.Message, ...], dict[str, int]]:
    """Return the effective history for figures: one message stands for all but the newest.

    That one has the id STAND_IN and the tokens of all older messages. The second value has their
    ``count``, and their numbers as people count them, without the stand-in. Older messages cost no
    more than a sum over an index.
    """
    newest = effective_rows(conversation_id, NEWEST + 1)[::-1]
    if len(newest) <= NEWEST:
        return condense.effective_history([*map(to_engine, newest)]), {}
    visible = Message.objects.filter(conversation=conversation_id, hidden=False)
    older = visible.span(upper=(newest[1].position, newest[1].seq))
    made = [*older.made_by_engine().in_reading_order()]
    history = condense.effective_history([*map(to_engine, made + newest[1:])])
    start = tuple([one for one in history[:1] if one.is_summary])
    rest = older.written().span(*[one.order for one in start])
    sums = {"results_hidden": Sum("results"), "tokens": Sum("tokens"), "seq": Max("seq")}
    shown = Count("seq", filter=Q(holds_results=False))
    beyond = rest.aggregate(count=Count("seq"), messages_hidden=shown, **sums)
    if not beyond["count"]:
        return history, {}
    beyond["messages_hidden"] -= 1
    stand_in = condense.Message("user", "…", STAND_IN, beyond["seq"], tokens=beyond["tokens"])
    return (*start, stand_in, *history[len(start) :]), beyond


@StatementFunction
def effective_rows(conversation_id: uuid.UUID, newest: int = 0) -> SqlStatement:
    """Return the effective history's rows in reading order, or so many, the ``newest`` first."""
    # Neither database knows how few are visible here, and both would read all: PostgreSQL takes the
    # index with this order.
    is_file = connection.vendor == "sqlite"
    visible = "INDEXED BY message_visible WHERE hidden = 0" if is_file else "WHERE NOT hidden"
    last = f"position DESC, seq DESC, tokens DESC LIMIT {newest}"
    sql = (
        f"SELECT * FROM chatapp_message {visible} AND conversation_id = %s "  # noqa: S608 - a condition of our own
        f"ORDER BY {last if newest else 'position, seq'}"
    )
    return select.query(Message, sql, conversation_id)


@StatementFunction
def searched_rows(
    conversation_id: uuid.UUID, seqs: Collection[int], until: int, most: int, least: int
) -> SqlStatement:
    """Return rows, without their tags, that a search may read, in the order of their numbers.

    They are hidden, or stand up to the position ``until``, and have at most ``most`` tokens. The
    user's with at most ``least`` tokens are included that follow the next message.
    """
    near = ", ".join(map(str, seqs))
    both = ", ".join(map(str, {seq + 1 for seq in seqs}.union(seqs)))
    sql = (
        "SELECT id, seq, position, role, content, tokens, created_at, claimed, forgotten "  # noqa: S608 - numbers
        f"FROM chatapp_message WHERE conversation_id = %s AND seq IN ({both}) "
        f"AND (seq IN ({near}) OR (role = 'user' AND tokens <= {least:d})) "
        "AND (hidden OR position <= %s) AND tokens <= %s AND condense_id IS NULL "
        "AND truncation_id IS NULL AND clear_id IS NULL AND (rewind_parent IS NULL OR rewind_parent"
        # A message that a client has replaced is hidden only from that client.
        " IN (SELECT id FROM chatapp_rewind WHERE conversation_id = %s AND cause = 'replaced')) "
        "ORDER BY seq"
    )
    return select.query(Message, sql, conversation_id, until, most, conversation_id)


@StatementFunction
def row_and_next(conversation_id: uuid.UUID, seq: int) -> SqlStatement:
    """Return a message and the one that was written after it, if any, with their turns and calls.

    ``has_rewinds`` is True if the conversation has any, ``has_more_calls`` if its turn has others.
    """
    sql = (
        "SELECT m.*, t.*, c.*, "
        "EXISTS (SELECT 1 FROM chatapp_rewind WHERE conversation_id = m.conversation_id) "
        "AS has_rewinds, "
        "EXISTS (SELECT 1 FROM chatapp_modelcall o WHERE o.turn_id = m.turn_id "
        "AND (o.message_id IS NULL OR o.message_id != m.id)) AS has_more_calls "
        "FROM chatapp_message m LEFT JOIN chatapp_turn t ON t.id = m.turn_id "
        "LEFT JOIN chatapp_modelcall c ON c.message_id = m.id "
        "WHERE m.conversation_id = %s AND m.seq >= %s ORDER BY m.seq LIMIT 2"
    )
    return select.query(Message, sql, conversation_id, seq, turn=Turn, call=ModelCall)


def append_message(
    conversation_id: uuid.UUID,
    message: condense.Message,
    *,
    tokens: int,
    turn: Turn | None = None,
    stop_reason: str = "",
    measured: tuple[int, int] | None = None,
) -> Message:
    """Store a message of about ``tokens`` tokens at the end.

    ``measured`` is kept as by ``remember_measurement``: the key of a profile, and the number of
    tokens with this message.
    """
    # Within another transaction it is part of that, and needs no savepoint.
    with transaction.atomic(savepoint=False):
        seq, key = together(next_seq.query(conversation_id, measured), next_key(Message))
        row = new_row(
            conversation_id, message, seq, key, tokens=tokens, turn=turn, stop_reason=stop_reason
        )
        together(*storing(row))
    return row


def new_row(
    conversation_id: uuid.UUID, message: condense.Message, seq: int, key: int | None, **columns: Any
) -> Message:
    """Return a message as a row that is not stored yet."""
    own = {**columns_of(message), **columns, "seq": seq, "position": seq}
    return Message(pk=key, conversation_id=conversation_id, **own)


def storing(row: Message) -> list[SqlStatement]:
    """Return the statements that store a new row and index it."""
    return [insert.query(row), *message_index.additions([row])]


def columns_of(message: condense.Message) -> dict[str, Any]:
    """Return a message of the engine as columns of a row."""
    results = len(message.tool_results)
    return {
        "role": message.role,
        "content": condense.content_to_api(message.content),
        "results": results,
        "holds_results": 0 < results == len(message.blocks),
    }


def count_seen(history: Iterable[condense.Message]) -> dict[str, int]:
    """Count messages in memory as ``MessageQuerySet.count_seen`` counts those that are stored."""
    history = list(history)
    said = [message for message in history if not (message.is_summary or message.is_marker)]
    results = [len(message.tool_results) for message in said]
    held = [count for count, one in zip(results, said, strict=True) if 0 < count == len(one.blocks)]
    return {
        "messages_hidden": len(said) - len(held),
        "results_hidden": sum(results),
        "condensations_hidden": len(history) - len(said),
    }


@StatementFunction
def next_seq(
    conversation_id: uuid.UUID, measured: tuple[int, int] | None = None, title: str = ""
) -> SqlStatement:
    """Return the number of the next message; the row is locked until the commit.

    It keeps ``measured`` with that message, see ``append_message``, and a title.
    """
    sql = (
        "UPDATE chatapp_conversation SET last_seq = last_seq + 1, revision = revision + 1, "  # noqa: S608 - columns of our own
        f"updated_at = %s{_MEASURED if measured else ''}{', title = %s' if title else ''} "
        "WHERE id = %s RETURNING last_seq"
    )
    kept = (measured[0], measured[1], measured[0]) if measured else ()
    values = (timezone.now(), *kept, *filter(None, [title]), conversation_id)
    return SqlStatement(sql, values, only)


# A measurement for another profile than the chosen one is not kept.
_MEASURED = (
    ", measured_tokens = CASE WHEN profile_id = %s THEN %s ELSE measured_tokens END"
    ", measured_seq = CASE WHEN profile_id = %s THEN last_seq + 1 ELSE measured_seq END"
)


def remember_measurement(
    conversation_id: uuid.UUID, profile_id: int, tokens: int, seq: int
) -> None:
    """Keep the provider's word: messages up to ``seq``, system and tools are ``tokens`` long.

    It says nothing once another profile was chosen.
    """
    chosen = Conversation.objects.filter(pk=conversation_id, profile=profile_id)
    chosen.update(measured_tokens=tokens, measured_seq=seq)


def note_window(conversation_id: uuid.UUID, profile_id: int, window: int) -> None:
    """Keep the window that the provider named, unless another profile was chosen since."""
    chosen = Conversation.objects.filter(pk=conversation_id, profile=profile_id)
    chosen.update(named_window=window)


def mark_changed(conversation_id: uuid.UUID) -> None:
    """Count a change of the effective history; earlier measurements no longer hold."""
    Conversation.objects.filter(pk=conversation_id).update(
        revision=F("revision") + 1, measured_tokens=None, measured_seq=None
    )


def note_record(conversation_id: uuid.UUID) -> None:
    """Count a new row of the record that leaves the effective history as it is."""
    Conversation.objects.filter(pk=conversation_id).update(revision=F("revision") + 1)


def usage_columns(usage: condense.Usage) -> dict[str, int]:
    """Return a call's usage as the columns of ``ModelCall``."""
    return {f"tokens_{name}": value for name, value in usage.counts.items()}
