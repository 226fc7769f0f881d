from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0041_settings_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="source",
            name="importer",
            field=models.CharField(blank=True, default="", max_length=120),
            preserve_default=False,
        ),
    ]
