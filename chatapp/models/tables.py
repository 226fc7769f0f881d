"""Tables: what is stored of each model, Django's own included, as rows and keys."""

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, cast

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models.options import Options

from chatapp.models.database import execute, is_shared

type Column = "models.Field[Any, Any]"

_LAST_VALUE = """
    SELECT last_value FROM pg_sequences
    WHERE to_regclass(format('%%I.%%I', schemaname, sequencename))
    = to_regclass(pg_get_serial_sequence(%s, %s))
"""


@dataclass(frozen=True)
class Table:
    """The table of a model, in the database that is in use."""

    model: type[models.Model]

    @property
    def is_ours(self) -> bool:
        """Whether migrations of the model make it, and no other model's."""
        return self._own.managed and not self._own.proxy

    @property
    def _own(self) -> "Options[models.Model]":
        return self.model._meta  # noqa: SLF001 - Django's documented API

    @property
    def name(self) -> str:
        """Its name."""
        return self._own.db_table

    @property
    def app(self) -> str:
        """The app whose migrations make it."""
        return self._own.app_label

    @property
    def columns(self) -> list[Column]:
        """Its columns, in their order."""
        return [*self._own.concrete_fields]

    @property
    def key(self) -> str:
        """The column of its primary key."""
        return cast(str, self._own.pk.column)

    @property
    def is_made_by_django(self) -> bool:
        """Whether `migrate` fills it."""
        return self.model in {ContentType, Permission}

    def count(self) -> int:
        """Return how many rows there are."""
        return cast(int, execute(f'SELECT count(*) FROM "{self.name}"')[0][0])  # noqa: S608 - a name

    def is_empty(self) -> bool:
        """Whether there is no row."""
        return not execute(f'SELECT 1 FROM "{self.name}" LIMIT 1')  # noqa: S608 - a name

    def last_key(self) -> int | None:
        """Return the largest number that was ever a key, that of a deleted row too; or None."""
        if not isinstance(self._own.pk, models.AutoField):
            return None
        if is_shared():
            given = execute(_LAST_VALUE, self.name, self.key)
        else:
            given = execute("SELECT seq FROM sqlite_sequence WHERE name = %s", self.name)
        there = execute(f'SELECT max("{self.key}") FROM "{self.name}"')  # noqa: S608 - names
        return max([one for (one,) in (*given, *there) if one is not None], default=None)

    def go_on_from(self, key: int) -> None:
        """Have rows to come get larger keys than this."""
        if is_shared():
            execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", self.name, self.key, key)
            return
        execute("DELETE FROM sqlite_sequence WHERE name = %s", self.name)
        execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", self.name, key)


def tables() -> list[Table]:
    """Return the table of each model that we make it of, after those that its rows name."""
    own = [Table(one) for one in apps.get_models(include_auto_created=True)]
    named = {
        one.model: [
            column.related_model
            for column in one.columns
            if column.related_model not in {None, one.model}
        ]
        for one in own
        if one.is_ours
    }
    return [Table(one) for one in TopologicalSorter(named).static_order() if one]
