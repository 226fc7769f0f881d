from datetime import timedelta
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

import chatapp.models.fields


def link_tries(apps: Any, _editor: Any) -> None:
    """Link each try of before to the attempt that took its place, and write down what both took.

    A review of before is taken off the time of work as well.
    """
    rows = apps.get_model("chatapp", "Condensation").objects
    for one in rows.exclude(fell_back_to="").filter(message=None).order_by("started_at"):
        later = rows.filter(conversation=one.conversation_id, at_seq=one.at_seq)
        # The first that nothing took the place of, whatever came of it.
        ended = later.filter(started_at__gt=one.started_at, fell_back_to="")
        if head := ended.order_by("started_at").first():
            rows.filter(pk=one.pk).update(made_for=head)
    reviews_of = apps.get_model("chatapp", "Review").objects
    reviewed_ones = reviews_of.values("condensation")
    replaced = models.Q(pk__in=rows.exclude(made_for=None).values("made_for"))
    heads = rows.exclude(finished_at=None).filter(made_for=None)
    for head in heads.filter(replaced | models.Q(pk__in=reviewed_ones)):
        both = [head, *head.tries.all()]
        costs = [one.cost for one in both]
        reviews = reviews_of.filter(condensation__in=both, shown_at__lt=head.finished_at)
        ends = [(one.shown_at, min(one.answered_at or head.finished_at, head.finished_at)) for one in reviews]
        reviewed = sum((end - begin for begin, end in ends), timedelta())
        worked = head.finished_at - min(one.started_at for one in both) - reviewed
        rows.filter(pk=head.pk).update(
            total_cost=None if None in costs else sum(costs),
            total_measured=all(one.cost_measured for one in both),
            work_seconds=max(0.0, worked.total_seconds()),
            review_seconds=max(0.0, reviewed.total_seconds()),
        )


class Migration(migrations.Migration):

    dependencies = [("chatapp", "0060_named_window")]

    operations = [
        migrations.AddField(
            model_name="condensation",
            name="made_for",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="tries", to="chatapp.condensation", db_constraint=False),
        ),
        migrations.AddField(
            model_name="condensation",
            name="total_cost",
            field=chatapp.models.fields.usd(default=None),
        ),
        migrations.AddField(
            model_name="condensation",
            name="total_measured",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="condensation",
            name="work_seconds",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="condensation",
            name="review_seconds",
            field=models.FloatField(db_default=0, default=0),
        ),
        migrations.RemoveIndex(
            model_name="condensation",
            name="condensation_figures",
        ),
        migrations.AddIndex(
            model_name="condensation",
            index=models.Index(fields=["conversation", "kind", "status", "profile_name", "strategy", "trigger", "message", "tokens_before", "tokens_after", "cost", "cost_measured", "made_for", "total_cost", "total_measured", "work_seconds", "started_at", "finished_at", "id"], name="condensation_figures"),
        ),
        migrations.AlterField(
            model_name="review",
            name="status",
            field=models.CharField(choices=[("pending", "waiting"), ("accepted", "accepted"), ("edited", "changed and accepted"), ("again", "written again"), ("used", "refused by a rule, used all the same"), ("discarded", "discarded"), ("expired", "applied when its time was over"), ("withdrawn", "withdrawn")], default="pending", max_length=10),
        ),
        migrations.RunPython(link_tries, migrations.RunPython.noop),
    ]
