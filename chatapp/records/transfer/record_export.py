"""Exports: a conversation as a file, with all its records, and an account's archive."""

import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from chatapp.models import Conversation, Source
from chatapp.models.audit import column_to_json
from chatapp.models.fields import read_sentences
from chatapp.project.languages import in_words, reader
from chatapp.providers import request_bytes
from chatapp.records.maintenance import audit_check
from chatapp.records.transfer import FORMAT
from chatapp.records.transfer.record_rows import empty
from chatapp.records.transfer.record_tables import MESSAGES_KEY, TABLES, Table, renamed
from chatapp.records.transfer.request_records import write_requests

BATCH = 200
# In an account's record: values that open something are shown to nobody again.
SECRETS = ("encrypted_", "digest")
SET_BY_USER = ("profiles", "mcp_servers", "saved_commands", "condensing_prompts", "api_tokens")

# By section: the number in the file of each row, by its key.
Numbers = Mapping[str, Mapping[Any, int]]


def write_record(conversation: Conversation) -> Iterator[bytes]:
    """Yield JSON as docs/export.md describes it: messages, and all records about them.

    Rows that are added meanwhile are no part of it. Stored sentences are in it as they are stored,
    in English, and once more in the reader's language.
    """
    words = dict[str, str]()
    numbers = {table.section: _numbers(table, conversation) for table in TABLES}
    names = {str(pk): str(seq) for pk, seq in numbers[MESSAGES_KEY].items()}
    head = {
        "format": FORMAT,
        "exported_at": column_to_json(timezone.now()),
        "conversation": {
            "id": str(conversation.pk),
            "title": conversation.title,
            "created_at": column_to_json(conversation.created_at),
            "system_prompt": conversation.system_prompt,
            "named_window": conversation.named_window,
        },
    }
    yield request_bytes.encode(head)[:-1]
    for table in TABLES:
        yield f',\n"{table.section}":['.encode()
        for index, item in enumerate(_items(table, conversation, numbers, names)):
            yield (b",\n" if index else b"\n") + request_bytes.encode(item)
            words |= _in_words(item)
        yield b"]"
    if words:
        told = [{reader().language: said, "en": stored} for stored, said in words.items()]
        yield b',\n"words":' + request_bytes.encode(told)
    for section, items in write_requests(conversation, numbers["calls"], names).items():
        yield f',\n"{section}":'.encode() + request_bytes.encode(items)
    # Those that the conversation came with, and its own.
    source = Source.objects.filter(conversation=conversation).first()
    chains = [*(source.chains if source else ()), audit_check.chain_of(conversation)]
    yield b',\n"chains":' + request_bytes.encode(chains) + b"}\n"


def _in_words(item: Mapping[str, Any]) -> dict[str, str]:
    """Return a row's stored sentences with their translations, if these differ."""
    known = read_sentences(item.get("sentences"))
    stored = filter(None, (item.get("error"), *item.get("notes", ())))
    return {one: said for one in stored if (said := in_words(known.get(one, one))) != one}


def _numbers(table: Table, conversation: Conversation) -> dict[Any, int]:
    """Return the number that each row has in the file: a message its own, the others from 1."""
    rows = table.rows_of(conversation)
    if table.section == MESSAGES_KEY:
        return dict(rows.values_list("pk", "seq"))
    return {pk: number for number, pk in enumerate(rows.values_list("pk", flat=True), 1)}


def _items(
    table: Table, conversation: Conversation, numbers: Numbers, names: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows as items: without empty values, and with numbers for keys."""
    if not (known := numbers[table.section]):
        return
    rows = table.rows_of(conversation).values("pk", *table.columns, *table.references)
    for row in rows.iterator(chunk_size=BATCH):
        if row["pk"] not in known:
            continue
        told = {} if table.section == MESSAGES_KEY else {"number": known[row["pk"]]}
        for name, column in table.columns.items():
            value = column_to_json(row[name])
            if value != empty(column):
                told[name] = value
        for name, section in table.references.items():
            if (number := numbers[section].get(row[name])) is not None:
                told[name] = number
        yield renamed(told, names)


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
    """Return a user's name and all of their settings."""
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
