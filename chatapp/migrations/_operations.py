"""Operations that keep nobody waiting while processes run; on SQLite they are Django's own.

A migration with one of them has ``atomic = False``. Each may be repeated after it was cut off.
"""

from collections.abc import Callable
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def _change(editor: Any, model: type[models.Model], index: models.Index, *, add: bool) -> None:
    """Make an index anew or remove it; PostgreSQL does so concurrently, outside a transaction."""
    if editor.connection.vendor != "postgresql" or editor.connection.in_atomic_block:
        editor.execute(f'DROP INDEX IF EXISTS "{index.name}"')
        if add:
            editor.add_index(model, index)
        return
    with editor.connection.cursor() as cursor:
        # It waits for transactions that are open, and holds nobody up meanwhile.
        cursor.execute("SELECT current_setting('lock_timeout')")
        (limit,) = cursor.fetchone()
        cursor.execute("SET lock_timeout = 0")
        # One that was cut off has left an index that is not valid.
        cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{index.name}"')
        if add:
            editor.add_index(model, index, concurrently=True)
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [limit])


class AddIndex(migrations.AddIndex):
    """Makes an index while others write."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        _change(schema_editor, to_state.apps.get_model(app_label, self.model_name), self.index, add=True)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        _change(schema_editor, from_state.apps.get_model(app_label, self.model_name), self.index, add=False)


class RemoveIndex(migrations.RemoveIndex):
    """Removes an index while others write."""

    def _run(self, app_label: str, editor: Any, state: Any, *, add: bool) -> None:
        index = state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
        _change(editor, state.apps.get_model(app_label, self.model_name), index, add=add)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(app_label, schema_editor, from_state, add=False)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(app_label, schema_editor, to_state, add=True)


def on(vendor: str, *statements: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    """Return what runs statements on one kind of database, and does nothing on others."""

    def run(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        if schema_editor.connection.vendor == vendor:
            for statement in statements:
                schema_editor.execute(statement)

    return run
