from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0039_claims_and_scopes"),
    ]

    operations = [
        migrations.AddField(
            model_name="share",
            name="tools",
            field=models.BooleanField(default=False),
        ),
    ]
