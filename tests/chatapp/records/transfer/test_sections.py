"""Every record of a conversation is part of its file, or left out for a reason."""

from django.apps import apps

from chatapp.models import Conversation
from chatapp.records.transfer.record_tables import TABLES

# Chains, where they came from, and requests have sections of their own; snapshots of files, what
# waits to be sent or applied, what is asked of a turn, links to read, and the names by which a
# program's requests find it are this server's.
LEFT_OUT = {
    *("AuditEntry", "Source", "Fragment", "Manifest", "Checkpoint", "QueuedMessage", "Share"),
    *("Conversation", "TurnRequest", "BackgroundDraft", "DraftPiece", "MessageMeaning", "Meanings"),
    *("ClientConversation", "HistoryLink"),
}


# Columns of records that are: what follows from others, where it runs, snapshots of files, what
# the engine goes on with, and whether somebody here has said that a file's rules are theirs.
COLUMNS_LEFT_OUT = {
    "messages": {"results", "holds_results", "claimed"},
    "turns": {"nonce", "owner", "attempt", "offered_at", "doing", "zone"},
    "rewinds": {"files_before"},
    "condensations": {"owner"},
    "calls": {"owner"},
    "reviews": {"proposal", "typed"},
}


def test_a_column_is_written_unless_it_is_left_out_for_a_reason() -> None:
    """So no process, key or path of this server is in a file that somebody gives away."""
    for table in TABLES:
        own = {one.name for one in table.model._meta.concrete_fields if not one.is_relation}
        left_out = own - {table.model._meta.pk.name} - {*table.columns, *table.references}
        assert left_out == COLUMNS_LEFT_OUT.get(table.section, set())


def test_what_belongs_to_a_conversation_is_exported() -> None:
    """A new model has to be placed here or there."""
    belonging = {Conversation}
    models = [*apps.get_app_config("chatapp").get_models()]
    for _ in models:
        belonging |= {
            model
            for model in models
            if any(
                field.related_model in belonging and not field.null
                for field in model._meta.concrete_fields
                if field.is_relation
            )
        }
    written = {table.model for table in TABLES}
    assert {model.__name__ for model in belonging - written} == LEFT_OUT
