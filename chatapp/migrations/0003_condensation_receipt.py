from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0002_calls_keep_their_estimate"),
    ]

    operations = [
        migrations.AddField(
            model_name="condensation",
            name="receipt",
            field=models.JSONField(default=list),
        ),
    ]
