"""Every record of a conversation is part of its file, or left out for a reason."""

from django.apps import apps

from chatapp.exchange.tables import TABLES
from chatapp.models import Conversation

# Chains, where they came from, and requests have sections of their own; snapshots of files, what
# waits to be sent, and links to read are this server's.
LEFT_OUT = {
    *("AuditEntry", "Source", "Fragment", "Manifest", "Checkpoint", "QueuedMessage", "Share"),
    "Conversation",
}


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
