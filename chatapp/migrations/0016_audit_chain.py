import hashlib
import json
from datetime import UTC

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone

# As chatapp.models.audit wrote it then: what is on record stays as it was hashed.
FORMAT = "palimpsest audit 1"


def hashed(said: list[object]) -> str:
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def begin_chains(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give each conversation that is there an entry that says from when on it is on record."""
    conversations = apps.get_model("chatapp", "Conversation")
    entries = apps.get_model("chatapp", "AuditEntry")
    now = timezone.now()
    at = now.astimezone(UTC).isoformat(timespec="microseconds")
    for pk, last_seq in list(conversations.objects.values_list("pk", "last_seq")):
        facts = json.dumps({"last_seq": last_seq}, separators=(",", ":"))
        payload = '{"about":"","digests":{},"facts":' + facts + "}"
        previous = hashed([FORMAT, str(pk)])
        head = hashed([FORMAT, str(pk), 1, "beginning", at, payload, previous])
        entries.objects.create(
            conversation_id=pk,
            number=1,
            kind="beginning",
            at=now,
            payload=payload,
            previous=previous,
            hash=head,
        )
        conversations.objects.filter(pk=pk).update(audit_number=1, audit_hash=head)


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0015_saved_commands"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="audit_hash",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="conversation",
            name="audit_number",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="conversation",
            name="audit_seq",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("beginning", "Beginning"),
                            ("condensation", "Condensation"),
                            ("rewind", "Rewind"),
                            ("question", "Question"),
                            ("seal", "Seal"),
                        ],
                        max_length=20,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("payload", models.TextField()),
                ("previous", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
                ("openings", models.JSONField(default=dict)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="audit_entries",
                        to="chatapp.conversation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "number"), name="audit_number")
                ],
            },
        ),
        migrations.RunPython(begin_chains, migrations.RunPython.noop),
    ]
