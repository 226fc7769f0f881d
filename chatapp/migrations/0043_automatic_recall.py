import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0001_squashed_0042_source_importer"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="auto_recall",
            field=models.BooleanField(null=True, verbose_name="recall automatically"),
        ),
        migrations.AddField(
            model_name="preferences",
            name="auto_recall",
            field=models.BooleanField(
                default=True,
                help_text="Hidden passages that fit your message go to the model beside it.",
                verbose_name="recall automatically",
            ),
        ),
        migrations.AddField(
            model_name="preferences",
            name="recall_tokens",
            field=models.PositiveSmallIntegerField(
                default=1500,
                help_text="At most so many beside one message, and 2 % of the window.",
                validators=[
                    django.core.validators.MinValueValidator(100),
                    django.core.validators.MaxValueValidator(20000),
                ],
                verbose_name="tokens to recall",
            ),
        ),
    ]
