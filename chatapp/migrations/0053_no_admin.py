"""The admin is gone, and with it the table in which it noted what was changed there."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.recorder import MigrationRecorder

TABLE = "django_admin_log"


def drop(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Drop its table, which would keep users from being deleted; an older version makes it anew."""
    connection = schema_editor.connection
    if TABLE in connection.introspection.table_names():
        schema_editor.execute(f"DROP TABLE {TABLE}")
    MigrationRecorder(connection).migration_qs.filter(app="admin").delete()


class Migration(migrations.Migration):
    dependencies = [("chatapp", "0052_invitations")]

    operations = [migrations.RunPython(drop, migrations.RunPython.noop)]
