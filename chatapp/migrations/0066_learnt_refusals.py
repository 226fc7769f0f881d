"""Profiles keep what their servers refuse of requests."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatapp", "0065_processes")]
    operations = [
        migrations.AddField(
            "profile", "learnt", models.JSONField(db_default={}, default=dict, editable=False)
        )
    ]
