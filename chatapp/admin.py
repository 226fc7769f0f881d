"""The admin: accounts can be changed there, the record only be looked at."""

from typing import Any

from django.contrib import admin

from chatapp.models import Condensation, Conversation, Message, ModelCall, Profile


class RecordAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # Django's takes no model here
    """Shows rows and changes none: the record is only ever written by the application."""

    list_select_related = ("conversation",)

    def has_add_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Refuse."""
        return False

    has_change_permission = has_delete_permission = has_add_permission


admin.site.register(
    Conversation,
    RecordAdmin,
    list_display=("__str__", "owner", "last_seq", "updated_at", "deleted_at"),
    search_fields=("title", "owner__username"),
    list_select_related=False,
)
admin.site.register(
    Message,
    RecordAdmin,
    list_display=("__str__", "conversation", "position", "tokens", "hidden", "created_at"),
    list_filter=("role", "hidden"),
)
admin.site.register(
    Condensation,
    RecordAdmin,
    list_display=("__str__", "conversation", "trigger", "tokens_before", "tokens_after", "cost"),
    list_filter=("status", "kind", "trigger"),
)
admin.site.register(
    ModelCall,
    RecordAdmin,
    list_display=("__str__", "conversation", "tokens_input", "tokens_output", "cost", "error"),
    list_filter=("purpose", "model"),
)
# Profiles without their keys.
admin.site.register(
    Profile,
    RecordAdmin,
    list_display=("name", "owner", "provider", "model", "context_window"),
    list_select_related=False,
    exclude=("encrypted_key",),
)
