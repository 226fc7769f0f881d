"""What the engine says of an attempt, in the columns of its record."""

from collections.abc import Callable, Sequence

import condense
from chatapp.context.runs import Run
from chatapp.models import Message, hiding


def name_writer(run: Run, attempt: condense.Attempt) -> dict[str, str]:
    """Name who writes the summary, where it is not the profile that answers."""
    writer = run.writer
    if not attempt.prompt or writer == run.profile:
        return {}
    return {"writer_name": writer.name, "writer_model": writer.model}


def told_by(reduction: condense.Reduction) -> dict[str, object]:
    """Return what a reduction tells, in the columns of its record."""
    return {
        "prompt": reduction.prompt,
        "summary": reduction.summary,
        "analysis": reduction.analysis,
        "notes": [*reduction.notes, *_said_by_validators(reduction)],
        "folded": reduction.folded.to_json() if reduction.folded else {},
    }


def _said_by_validators(reduction: condense.Reduction) -> list[str]:
    """Return what was checked, with each score and issue, as sentences for the record."""
    verdicts = reduction.verdicts
    checked = [
        v.name if v.score is None else f"{v.name} {v.score:.0%}" for v in verdicts if not v.issues
    ]
    said = [f"Checked: {', '.join(checked)}"] if checked else []
    return [*said, *(f"{v.name}: {issue}" for v in verdicts for issue in v.issues)]


def count_hidden(reduction: condense.Reduction, made: Message) -> dict[str, int]:
    """Count what was hidden as people see it; a clearing hides results, and no message."""
    if reduction.kind == "cleared":
        return {"results_hidden": reduction.count}
    return hiding.hidden_by(made.conversation_id, [made]).count_seen()


def receipt_of(
    reduction: condense.Reduction,
    effective: Sequence[condense.Message],
    on_disk: Callable[[str], bool] | None,
) -> condense.Receipt:
    """Return what the model still reads of the facts that a reduction hides, once it applies."""
    hidden = reduction.hidden_among(effective)
    kept = condense.replace_hidden(effective, reduction.hidden, reduction.message)
    # The agent has no tool that searches the history, so only files can be found again.
    return condense.receipt(hidden, kept, searchable=False, on_disk=on_disk)
