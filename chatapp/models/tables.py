"""Tables: what is stored of each model, Django's own included, as rows and keys."""

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, cast

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import models

from chatapp.models.database import execute, is_shared

type Column = "models.Field[Any, Any]"

_LAST_VALUE = """
    SELECT last_value FROM pg_sequences
    WHERE to_regclass(format('%%I.%%I', schemaname, sequencename))
    = to_regclass(pg_get_serial_sequence(%s, %s))
"""


@dataclass(frozen=True)
class Table:
    """The table of a model in the database that is in use, as migrations of its ``app`` make it.

    The ``key`` is one of its ``columns``, which are in their order.
    """

    model: type[models.Model]
    name: str
    app: str
    columns: list[Column]
    key: Column

    @property
    def is_made_by_django(self) -> bool:
        """Whether `migrate` fills it."""
        return self.model in {ContentType, Permission}

    def count(self) -> int:
        """Return how many rows there are."""
        return cast(int, execute(f'SELECT count(*) FROM "{self.name}"')[0][0])  # noqa: S608 - a name

    def last_key(self) -> int | None:
        """Return the largest number that was ever a key, that of a deleted row too; or None."""
        if not isinstance(self.key, models.AutoField):
            return None
        if is_shared():
            given = execute(_LAST_VALUE, self.name, self.key.column)
        else:
            given = execute("SELECT seq FROM sqlite_sequence WHERE name = %s", self.name)
        there = execute(f'SELECT max("{self.key.column}") FROM "{self.name}"')  # noqa: S608 - names
        return max([one for (one,) in (*given, *there) if one is not None], default=None)

    def go_on_from(self, key: int) -> None:
        """Have rows to come get larger keys than this."""
        if is_shared():
            sql = "SELECT setval(pg_get_serial_sequence(%s, %s), %s)"
            execute(sql, self.name, self.key.column, key)
            return
        execute("DELETE FROM sqlite_sequence WHERE name = %s", self.name)
        execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", self.name, key)


def tables() -> list[Table]:
    """Return the table of each model that we make it of, after those that its rows name."""
    own = {one: one._meta for one in apps.get_models(include_auto_created=True)}  # noqa: SLF001 - Django's documented API
    made = {
        model: Table(model, one.db_table, one.app_label, [*one.concrete_fields], one.pk)
        for model, one in own.items()
        if one.managed and not one.proxy
    }
    named = {
        model: {column.related_model for column in table.columns} - {None, model}
        for model, table in made.items()
    }
    return [made[one] for one in TopologicalSorter(named).static_order()]
