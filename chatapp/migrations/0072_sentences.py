"""Columns for the templates and values of the sentences that are stored in English."""

from django.db import migrations, models

TABLES = ("backgrounddraft", "condensation", "importrun", "modelcall", "review", "source", "turn")


class Migration(migrations.Migration):
    dependencies = [("chatapp", "0071_gateway")]
    operations = [
        migrations.AddField(one, "sentences", models.JSONField(editable=False, null=True))
        for one in TABLES
    ]
