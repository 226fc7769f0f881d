"""The admin: accounts can be changed there, the record only be looked at."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin

from chatapp.models import Condensation, Conversation, Message, ModelCall, Profile

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    # Generic for the type checker only.
    ModelAdmin = admin.ModelAdmin


class RecordAdmin(ModelAdmin):
    """Shows rows and changes none: the record is only ever written by the application."""

    def has_add_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Refuse."""
        return False


@admin.register(Conversation)
class ConversationAdmin(RecordAdmin):
    """Conversations by owner."""

    list_display = ("__str__", "owner", "last_seq", "updated_at", "deleted_at")
    search_fields = ("title", "owner__username")


@admin.register(Message)
class MessageAdmin(RecordAdmin):
    """Messages with their tags."""

    list_display = ("__str__", "conversation", "position", "tokens", "hidden", "created_at")
    list_filter = ("role", "hidden")
    list_select_related = ("conversation",)


@admin.register(Condensation)
class CondensationAdmin(RecordAdmin):
    """Every attempt to make a context smaller."""

    list_display = ("__str__", "conversation", "trigger", "tokens_before", "tokens_after", "cost")
    list_filter = ("status", "kind", "trigger")
    list_select_related = ("conversation",)


@admin.register(ModelCall)
class ModelCallAdmin(RecordAdmin):
    """Every request to a model."""

    list_display = ("__str__", "conversation", "tokens_input", "tokens_output", "cost", "error")
    list_filter = ("purpose", "model")
    list_select_related = ("conversation",)


@admin.register(Profile)
class ProfileAdmin(RecordAdmin):
    """Profiles without their keys."""

    list_display = ("name", "owner", "provider", "model", "context_window")
    exclude = ("encrypted_key",)
