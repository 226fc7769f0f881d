"""Indexes that add up a long history without its rows, and room in the pages of hot tables."""

from django.db import migrations, models
from django.db.models import Q

from chatapp.migrations._operations import AddIndex, RemoveIndex, on

PLACE = ["conversation", "position", "seq"]
VISIBLE = Q(("hidden", False))
MADE = Q(
    ("condense_id__isnull", False),
    ("truncation_id__isnull", False),
    ("clear_id__isnull", False),
    _connector="OR",
)
# A third of a page stays free for the next versions of its rows, which then need no entry in an
# index where no column of one has changed.
HOT = ("turn", "modelcall", "conversation", "process")
LOOSEN = [f"ALTER TABLE chatapp_{one} SET (fillfactor = 70)" for one in HOT]
TIGHTEN = [f"ALTER TABLE chatapp_{one} RESET (fillfactor)" for one in HOT]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("chatapp", "0069_draft_pieces")]
    operations = [
        AddIndex(
            "message",
            models.Index(
                fields=[
                    *PLACE,
                    *("tokens", "results", "holds_results"),
                    *("condense_id", "truncation_id", "clear_id", "hidden"),
                ],
                condition=VISIBLE,
                name="message_visible",
            ),
        ),
        AddIndex("message", models.Index(fields=PLACE, condition=MADE, name="message_made")),
        AddIndex(
            "message",
            models.Index(
                fields=["conversation"], condition=Q(("claimed", True)), name="message_claim"
            ),
        ),
        RemoveIndex("message", "message_effective"),
        migrations.RunPython(on("postgresql", *LOOSEN), on("postgresql", *TIGHTEN)),
    ]
