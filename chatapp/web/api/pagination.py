"""Pages of lists: each begins behind the last row of the one before."""

from collections.abc import Callable
from typing import Annotated, Any

from django.db.models import Model, QuerySet
from ninja import Query, Schema
from ninja.errors import HttpError
from pydantic import Field

from chatapp.models.pagination import behind, read_cursor, read_number, write_cursor
from chatapp.project.sentences import translate as _

LONGEST_PAGE = 100


class PageQuery(Schema):
    """The part of a list that is asked for."""

    after: str = ""
    limit: int = Field(40, ge=1, le=LONGEST_PAGE)


Part = Annotated[PageQuery, Query()]


def by_moment[M: Model](rows: "QuerySet[M]", column: str, part: PageQuery) -> dict[str, Any]:
    """Return a page of rows that are the newest first, by the moment in a column."""
    if part.after:
        if (place := read_cursor(part.after)) is None:
            raise _lost()
        rows = rows.filter(behind(column, place))
    return _page(rows, part.limit, lambda row: write_cursor(row, getattr(row, column)))


def by_number[M: Model](rows: "QuerySet[M]", column: str, part: PageQuery) -> dict[str, Any]:
    """Return a page of rows in the order of the numbers in a column."""
    if part.after:
        if (number := read_number(part.after)) is None:
            raise _lost()
        rows = rows.filter(**{f"{column}__gt": number})
    return _page(rows.order_by(column), part.limit, lambda row: str(getattr(row, column)))


def _page[M: Model](rows: "QuerySet[M]", limit: int, cursor: Callable[[M], str]) -> dict[str, Any]:
    found = list(rows[: limit + 1])
    more = len(found) > limit
    return {"items": found[:limit], "next": cursor(found[limit - 1]) if more else None}


def _lost() -> HttpError:
    return HttpError(422, _("Send the cursor that the last page gave as “next”."))
