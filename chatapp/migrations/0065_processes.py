"""A row for each process, in place of signs of life for each turn and draft."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("chatapp", "0064_short_names")]
    operations = [
        migrations.CreateModel(
            "Process",
            [
                ("name", models.CharField(max_length=120, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("web", "Web"), ("worker", "Worker"), ("command", "Command")],
                        max_length=10,
                    ),
                ),
                ("workers", models.JSONField(default=list)),
                ("heartbeat_at", models.DateTimeField(db_default=Now())),
            ],
        ),
        migrations.RenameField("turn", "heartbeat_at", "offered_at"),
        migrations.RemoveField("backgrounddraft", "heartbeat_at"),
        migrations.AddIndex(
            "turn",
            models.Index(
                condition=models.Q(("finished_at", None)), fields=["owner"], name="turn_owner"
            ),
        ),
    ]
