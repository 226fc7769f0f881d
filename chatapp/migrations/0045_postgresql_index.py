from collections.abc import Callable

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# The words of messages where SQLite has FTS5. What is changed or deleted loses its entry, whoever
# does it; the application stores a new one.
MAKE = (
    "CREATE TABLE chatapp_message_index (rowid bigint PRIMARY KEY, text tsvector NOT NULL)",
    "CREATE INDEX chatapp_message_index_text ON chatapp_message_index USING gin (text)",
    """
    CREATE FUNCTION chatapp_message_index_forget() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM chatapp_message_index WHERE rowid = old.id;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER chatapp_message_index_forget
    AFTER DELETE OR UPDATE OF content ON chatapp_message
    FOR EACH ROW EXECUTE FUNCTION chatapp_message_index_forget()
    """,
)
DROP = (
    "DROP TRIGGER chatapp_message_index_forget ON chatapp_message",
    "DROP FUNCTION chatapp_message_index_forget",
    "DROP TABLE chatapp_message_index",
)


def on_postgresql(*statements: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    def run(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        if schema_editor.connection.vendor == "postgresql":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0044_named_prompts"),
    ]

    operations = [
        migrations.RunPython(on_postgresql(*MAKE), on_postgresql(*DROP)),
    ]
