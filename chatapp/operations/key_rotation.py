"""Key rotation: all stored secrets, encrypted anew with the newest key."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import batched
from typing import Any

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db import DatabaseError, models, transaction

import condense
from chatapp.models.errors import DecryptionFailed
from chatapp.models.fields import EncryptedField, is_encrypted, renew

log = logging.getLogger(__name__)

# Rows that one transaction takes: others write between two. A start looks at as many.
ROWS_AT_ONCE = 100

type Column = tuple[type[models.Model], Any]
# The place of a secret, for a sentence: ``what`` it is, of which ``kind`` and ``row``.
type Place = dict[str, object]


@dataclass
class Rotation:
    """The result of a rotation: secrets encrypted anew, and the places of unreadable ones."""

    renewed: int = 0
    unreadable: list[Place] = field(default_factory=list)


def rotate() -> Rotation:
    """Encrypt the values of older keys with the newest key; done again, it changes nothing."""
    done = Rotation()
    for model, column in encrypted_columns():
        rows = model._base_manager  # noqa: SLF001 - Django's documented API
        for pks in batched(rows.order_by("pk").values_list("pk", flat=True), ROWS_AT_ONCE):
            with transaction.atomic():
                # Writes of the server wait meanwhile, and use the newest key.
                for row in rows.select_for_update().filter(pk__in=pks):
                    value = _renewed(row, column, done)
                    if value != column.value_from_object(row):
                        rows.filter(pk=row.pk).update(**{column.attname: value})
    return done


def find_unreadable(first: int | None = None) -> Iterator[Place]:
    """Yield the places of secrets that no key opens, in the first rows or in all."""
    found = Rotation()
    for model, column in encrypted_columns():
        rows = model._base_manager.order_by("pk")[:first]  # noqa: SLF001 - as above
        for row in rows.iterator(chunk_size=ROWS_AT_ONCE):
            _renewed(row, column, found)
    yield from found.unreadable


def warn_of_unreadable() -> None:
    """Log a warning if no key opens one of the oldest secrets; read few rows for that."""
    # Other parts say of a damaged database what helps.
    with suppress(DatabaseError):
        for place in find_unreadable(ROWS_AT_ONCE):
            log.warning(
                "the %(what)s of %(kind)s %(row)s can't be read with this SECRET_KEY: put the "
                "former key back, or into SECRET_KEY_FALLBACKS",
                place,
            )


def encrypted_columns() -> Iterator[Column]:
    """Yield each column with secrets: those of the type for them, and of second factors."""
    for model in apps.get_models():
        for column in model._meta.concrete_fields:  # noqa: SLF001 - as above
            if isinstance(column, EncryptedField):
                yield model, column
    # Some values of its JSON are encrypted.
    yield Authenticator, Authenticator._meta.get_field("data")  # noqa: SLF001 - as above


def _renewed(row: models.Model, column: Any, done: Rotation) -> Any:
    """Return a row's value, its secrets encrypted with the newest key; count them."""

    def one(text: str) -> str:
        try:
            new = renew(text)
        except DecryptionFailed:
            kind, what = column.model._meta.verbose_name, column.name.removeprefix("encrypted_")  # noqa: SLF001 - as above
            done.unreadable.append({"what": what, "kind": kind, "row": row.pk})
            return text
        done.renewed += new != text
        return new

    value = column.value_from_object(row)
    if isinstance(column, EncryptedField):
        return one(value) if value else value
    return condense.each_text(value, lambda text: one(text) if is_encrypted(text) else text)
