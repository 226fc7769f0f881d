import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0062_feedback'),
    ]

    operations = [
        migrations.AddField(
            model_name='preferences',
            name='about_me',
            field=models.TextField(blank=True, db_default='', default='', help_text='Part of the system prompt of each of your conversations.', validators=[django.core.validators.MaxLengthValidator(4000, 'Shorten this to %(limit_value)d characters.')], verbose_name='about me and how to answer'),
        ),
    ]
