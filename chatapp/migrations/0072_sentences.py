"""A place beside the columns of English sentences for what each was made of."""

from django.db import migrations, models

TABLES = ("backgrounddraft", "condensation", "importrun", "modelcall", "review", "source", "turn")


class Migration(migrations.Migration):
    dependencies = [("chatapp", "0071_gateway")]
    operations = [
        migrations.AddField(one, "sentences", models.JSONField(editable=False, null=True))
        for one in TABLES
    ]
