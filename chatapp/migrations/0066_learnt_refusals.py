"""Profiles keep the refusals of their servers."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatapp", "0065_processes")]
    operations = [
        migrations.AddField(
            "profile", "learnt", models.JSONField(db_default={}, default=dict, editable=False)
        )
    ]
