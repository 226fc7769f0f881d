from collections.abc import Callable

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# SQLite's own index of words. It keeps no text: what a message says is worked out of its content.
# Markers of truncations and clearings are left out: nobody sees their text.
# A migration that makes the table of messages anew drops these triggers and has to make them again.
MAKE_TABLE = """
CREATE VIRTUAL TABLE chatapp_message_index
USING fts5(text, content='', tokenize='unicode61 remove_diacritics 2', prefix='1')
"""
FILL = """
INSERT INTO chatapp_message_index (rowid, text)
SELECT id, searchable_text(content) FROM chatapp_message
WHERE truncation_id IS NULL AND clear_id IS NULL
"""
ADD = """
INSERT INTO chatapp_message_index (rowid, text) VALUES (new.id, searchable_text(new.content));
"""
TAKE = """
INSERT INTO chatapp_message_index (chatapp_message_index, rowid, text)
VALUES ('delete', old.id, searchable_text(old.content));
"""
ON_INSERT = f"""
CREATE TRIGGER chatapp_message_index_insert AFTER INSERT ON chatapp_message
WHEN new.truncation_id IS NULL AND new.clear_id IS NULL
BEGIN {ADD} END
"""
ON_DELETE = f"""
CREATE TRIGGER chatapp_message_index_delete AFTER DELETE ON chatapp_message
WHEN old.truncation_id IS NULL AND old.clear_id IS NULL
BEGIN {TAKE} END
"""
ON_UPDATE = f"""
CREATE TRIGGER chatapp_message_index_update AFTER UPDATE OF content ON chatapp_message
WHEN new.content <> old.content AND new.truncation_id IS NULL AND new.clear_id IS NULL
BEGIN {TAKE} {ADD} END
"""


def on_sqlite(*statements: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    def run(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        if schema_editor.connection.vendor == "sqlite":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(
            on_sqlite(MAKE_TABLE, FILL, ON_INSERT, ON_DELETE, ON_UPDATE),
            on_sqlite(
                "DROP TRIGGER chatapp_message_index_insert",
                "DROP TRIGGER chatapp_message_index_delete",
                "DROP TRIGGER chatapp_message_index_update",
                "DROP TABLE chatapp_message_index",
            ),
        ),
    ]
