from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0004_drop_parent_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="condensation",
            name="folded",
            field=models.JSONField(default=dict),
        ),
    ]
