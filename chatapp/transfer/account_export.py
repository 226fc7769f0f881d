"""Exports of an account: one archive with each conversation and all that its user has set."""

import zipfile
from typing import IO, Any

from django.contrib.auth.models import User
from django.db import models

from chatapp.models import Conversation
from chatapp.models.audit import column_to_json
from chatapp.providers import request_bytes
from chatapp.transfer.record_export import write_record

# What opens something is shown to nobody again.
SECRETS = ("encrypted_", "digest")
SET_BY_USER = ("profiles", "mcp_servers", "saved_commands", "condensing_prompts", "api_tokens")


def write_account(user: User, file: IO[bytes]) -> None:
    """Write a ZIP archive: ``account.json``, and each conversation as docs/export.md has it.

    Deleted ones lie in a folder of their own; keys and tokens are in none.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("account.json", request_bytes.encode(_account(user)))
        for conversation in Conversation.objects.filter(owner=user).iterator():
            folder = "deleted" if conversation.deleted_at else "conversations"
            with archive.open(f"{folder}/{conversation.pk}.json", "w") as entry:
                entry.writelines(write_record(conversation))


def _account(user: User) -> dict[str, Any]:
    """Return who a user is and all that they have set."""
    rows = {name: [*map(_row, getattr(user, name).all())] for name in SET_BY_USER}
    who = {"name": user.username, "email": user.email, "joined": column_to_json(user.date_joined)}
    return {"user": who, "preferences": _row(user.preferences), **rows}


def _row(row: models.Model) -> dict[str, Any]:
    columns = row._meta.concrete_fields  # noqa: SLF001 - Django's documented API
    return {
        one.name: column_to_json(one.value_from_object(row))
        for one in columns
        if not one.name.startswith(SECRETS)
    }
