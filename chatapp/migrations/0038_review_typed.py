from collections.abc import Callable, Sequence

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# People read the summary of a part, which is in a marker, so from here on it is found.
BEFORE = "{0}.truncation_id IS NULL AND {0}.clear_id IS NULL"
PART = """{0}.clear_id IS NULL AND instr({0}.content, '"## Conversation Summary\\n')"""
NOW = f"({BEFORE} OR {PART})"

DROP = (
    "DROP TRIGGER chatapp_message_index_insert",
    "DROP TRIGGER chatapp_message_index_delete",
    "DROP TRIGGER chatapp_message_index_update",
)
PARTS = f"FROM chatapp_message m WHERE m.truncation_id IS NOT NULL AND {PART.format('m')}"
FILL = f"""
INSERT INTO chatapp_message_index (rowid, text) SELECT m.id, searchable_text(m.content) {PARTS}
"""
EMPTY = f"""
INSERT INTO chatapp_message_index (chatapp_message_index, rowid, text)
SELECT 'delete', m.id, searchable_text(m.content) {PARTS}
"""


def triggers(condition: str) -> Sequence[str]:
    old, new = condition.format("old"), condition.format("new")
    take = f"""
    INSERT INTO chatapp_message_index (chatapp_message_index, rowid, text)
    SELECT 'delete', old.id, searchable_text(old.content) WHERE {old};
    """
    add = f"""
    INSERT INTO chatapp_message_index (rowid, text)
    SELECT new.id, searchable_text(new.content) WHERE {new};
    """
    name, differs = "CREATE TRIGGER chatapp_message_index", "new.content <> old.content"
    on_update = f"{name}_update AFTER UPDATE OF content ON chatapp_message WHEN {differs}"
    return (
        f"{name}_insert AFTER INSERT ON chatapp_message WHEN {new} BEGIN {add} END",
        f"{name}_delete AFTER DELETE ON chatapp_message WHEN {old} BEGIN {take} END",
        f"{on_update} BEGIN {take} {add} END",
    )


def on_sqlite(*statements: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    def run(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        if schema_editor.connection.vendor == "sqlite":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0037_shares"),
    ]

    operations = [
        migrations.AddField(
            model_name="review",
            name="typed",
            field=models.JSONField(null=True),
        ),
        migrations.RunPython(
            on_sqlite(*DROP, *triggers(NOW), FILL),
            on_sqlite(EMPTY, *DROP, *triggers(BEFORE)),
        ),
    ]
