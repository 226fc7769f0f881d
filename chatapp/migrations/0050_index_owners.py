from collections.abc import Callable

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# Whose an entry is, and of which conversation: a search goes from a user's newest entries on, or
# from the words, and reads nothing else.
ADD = (
    "ALTER TABLE chatapp_message_index ADD owner_id integer, ADD conversation_id uuid",
    """
    UPDATE chatapp_message_index SET owner_id = c.owner_id, conversation_id = c.id
    FROM chatapp_message AS m JOIN chatapp_conversation AS c ON c.id = m.conversation_id
    WHERE m.id = rowid
    """,
    "ALTER TABLE chatapp_message_index ALTER owner_id SET NOT NULL",
    "ALTER TABLE chatapp_message_index ALTER conversation_id SET NOT NULL",
    "CREATE INDEX chatapp_message_index_owner ON chatapp_message_index (owner_id, rowid)",
)
TAKE = ("ALTER TABLE chatapp_message_index DROP owner_id, DROP conversation_id",)


def on_postgresql(*statements: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    def run(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        if schema_editor.connection.vendor == "postgresql":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0049_import_runs"),
    ]

    operations = [
        migrations.RunPython(on_postgresql(*ADD), on_postgresql(*TAKE)),
    ]
