"""Tables of a record: its sections and their columns; docs/export.md describes them.

A column that is added to a model is part of its section without a word here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Field, Model, QuerySet

import condense
from chatapp import models

MESSAGES_KEY = "messages"


@dataclass(frozen=True)
class Table:
    """A section of the file: the rows of a model, in the ``order`` in which they are numbered.

    Columns that are ``left_out`` belong to this server, or follow from the rest.
    """

    section: str
    model: type[Model]
    order: tuple[str, ...] = ("pk",)
    within: str = "conversation"
    left_out: frozenset[str] = frozenset()

    @cached_property
    def references(self) -> dict[str, str]:
        """The columns that hold the numbers of another section, with that section."""
        sections: dict[Any, str] = {one.model: one.section for one in TABLES}
        own = self.model._meta.concrete_fields  # noqa: SLF001 - Django's documented API
        found = {one.name: sections.get(one.related_model) for one in own}
        # A rewind is named by its id alone.
        found |= dict.fromkeys(found.keys() & {"rewind_parent"}, "rewinds")
        return {name: section for name, section in found.items() if section}

    @cached_property
    def columns(self) -> dict[str, "Field[Any, Any]"]:
        """The columns that are written unchanged, by their names."""
        own = self.model._meta.concrete_fields  # noqa: SLF001 - Django's documented API
        skipped = {*self.left_out, *self.references}
        return {
            one.name: one
            for one in own
            if not (one.primary_key or one.is_relation or one.name in skipped)
        }

    def rows_of(self, conversation: models.Conversation) -> "QuerySet[Any]":
        """Return a conversation's rows in their order."""
        rows: QuerySet[Any] = QuerySet(self.model)
        return rows.filter(**{self.within: conversation.pk}).order_by(*self.order)


def renamed(item: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return an item with other names for the messages that its values name."""
    if cleared := item.get("cleared"):
        item["cleared"] = {names[one]: lines for one, lines in cleared.items() if one in names}
    if item.get("condense_id") or item.get("truncation_id"):
        item["content"] = with_names(item["content"], names)
    if receipt := item.get("receipt"):
        item["receipt"] = [{**one, "source": names.get(one["source"], "")} for one in receipt]
    return item


def with_names(content: Any, names: Mapping[str, str]) -> Any:
    """Return a summary's or marker's content, with other names for the messages it carries."""
    said = condense.Message("user", condense.content_from_api(content))
    return condense.content_to_api(condense.readdress_pins(said, names).content)


TABLES = (
    Table(
        MESSAGES_KEY,
        models.Message,
        order=("seq",),
        left_out=frozenset({"results", "holds_results", "claimed"}),
    ),
    Table(
        "turns",
        models.Turn,
        order=("started_at", "pk"),
        left_out=frozenset({"nonce", "owner", "attempt", "offered_at", "doing", "zone"}),
    ),
    Table(
        "rewinds", models.Rewind, order=("created_at", "pk"), left_out=frozenset({"files_before"})
    ),
    Table(
        "condensations",
        models.Condensation,
        order=("started_at", "pk"),
        left_out=frozenset({"owner"}),
    ),
    Table("calls", models.ModelCall, left_out=frozenset({"owner"})),
    Table("tool_runs", models.ToolRun, within="turn__conversation"),
    Table("questions", models.Question, within="turn__conversation"),
    Table(
        "reviews",
        models.Review,
        order=("condensation__started_at", "condensation__pk", "ordinal"),
        within="condensation__conversation",
        left_out=frozenset({"proposal", "typed"}),
    ),
    Table("forks", models.Fork, order=("created_at", "pk")),
    Table("pins", models.Pin, order=("seq",)),
)
BY_SECTION = {table.section: table for table in TABLES}
