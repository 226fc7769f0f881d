"""Indexes of rated attempts and of tries, which are few."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from chatapp.migrations._operations import AddIndex

# By the name that Django gave it. SQLite would copy the table to change the field.
OLDER = "chatapp_condensation_made_for_id_40300eed"
DROP = f'DROP INDEX IF EXISTS "{OLDER}"'
CREATE = f'CREATE INDEX IF NOT EXISTS "{OLDER}" ON "chatapp_condensation" ("made_for_id")'
FIELD = models.ForeignKey(
    "chatapp.condensation",
    django.db.models.deletion.SET_NULL,
    null=True,
    related_name="tries",
    db_constraint=False,
    db_index=False,
)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("chatapp", "0073_folds")]
    operations = [
        AddIndex(
            "condensation",
            models.Index(
                fields=["made_for"],
                condition=Q(("made_for__isnull", False)),
                name="condensation_tries",
            ),
        ),
        AddIndex(
            "condensation",
            models.Index(
                fields=["conversation", "-rated_at"],
                condition=Q(("rated_at__isnull", False)),
                name="condensation_rated",
            ),
        ),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(DROP, CREATE)],
            [migrations.AlterField("condensation", "made_for", FIELD)],
        ),
    ]
