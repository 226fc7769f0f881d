from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.template import engines
from django.template.loader import get_template

from chatapp.live.context_bar import Segment
from chatapp.templatetags import figures, records
from chatapp.templatetags.page import icon

DASH = figures.NOTHING


@pytest.mark.parametrize(
    ("show", "value", "shown"),
    [
        # $0.004 is never $0.00, a context that holds something never 0 % full.
        (figures.usd, Decimal(0), "$0"),
        (figures.usd, Decimal("0.004"), "$0.004"),
        (figures.usd, Decimal("0.0123"), "$0.0123"),
        (figures.usd, Decimal("0.00001234"), "$0.0000123"),
        (figures.usd, Decimal("0.5"), "$0.50"),
        (figures.usd, Decimal("0.9996"), "$1.00"),
        (figures.usd, Decimal("12.346"), "$12.35"),
        (figures.usd, Decimal("1234.5"), "$1,234.50"),
        (figures.usd, None, DASH),
        (figures.duration, 0, "0.0 s"),
        (figures.duration, 0.03, "< 0.1 s"),
        (figures.duration, 8.42, "8.4 s"),
        (figures.duration, 59.97, "1 min 0 s"),
        (figures.duration, 72, "1 min 12 s"),
        (figures.duration, timedelta(hours=2, minutes=5), "2 h 5 min"),
        (figures.duration, None, DASH),
        (figures.tokens, 171808, "171,808"),
        (lambda count: figures.tokens(count, False), 171808, "≈ 171,808"),
        (figures.tokens, None, DASH),
        (figures.percent, 0.3, "< 1 %"),
        (figures.percent, 0, "0 %"),
        (figures.percent, 89.9, "89 %"),
        (figures.percent, None, DASH),
        (figures.moment, None, DASH),
        (figures.size, 1, "1 character"),
        (figures.size, 999, "999 characters"),
        (figures.size, 12_400, "12.4 k characters"),
    ],
)
def test_figures_are_shown_as_people_read_them(
    show: Callable[[Any], str], value: Any, shown: str
) -> None:
    """In their largest unit, with the digits that count; what is not known is a dash."""
    assert show(value) == shown


def test_numbers_in_attributes_ignore_the_locale(settings: LazySettings) -> None:
    """SVG understands no decimal comma."""
    settings.LANGUAGE_CODE = "de"
    assert figures.fixed(12.5) == "12.5"


def test_segments_lie_end_to_end() -> None:
    """Each begins where the one before it ends."""
    segments = [Segment("system", "System", 10, 1.0), Segment("tools", "Tools", 20, 2.5)]
    assert figures.end_to_end(segments) == [(0, segments[0]), (1.0, segments[1])]


def test_a_moment_carries_its_zone() -> None:
    """The page's script needs an unambiguous time."""
    html = figures.moment(datetime(2026, 11, 21, 8, 30, tzinfo=UTC), "time")
    assert 'datetime="2026-11-21T08:30:00+00:00"' in html
    assert "2026-11-21 08:30 UTC" in html


def test_an_icon_is_hidden_from_screen_readers() -> None:
    """Its meaning is in the words beside it."""
    assert 'aria-hidden="true"' in icon("fold")


def test_an_excerpt_says_what_a_message_holds() -> None:
    """Text, tool calls and results alike."""
    blocks = [{"type": "text", "text": "Read\nit."}, {"type": "tool_use", "name": "read_file"}]
    assert records.excerpt(blocks) == "Read it. · read_file"
    assert records.excerpt([{"type": "tool_result", "content": "found"}]) == "found"
    assert records.excerpt("a" * 200) == "a" * 119 + "…"


@pytest.mark.parametrize("name", ["403.html", "403_csrf.html", "404.html", "500.html"])
def test_error_pages_need_no_context(name: str) -> None:
    """They are shown when everything else failed."""
    assert "Palimpsest" in get_template(name).render({})


def test_no_template_needs_inline_script_or_style() -> None:
    """The content security policy would not run it."""
    folder = engines["django"].dirs[0]
    for file in folder.rglob("*.html"):
        html = file.read_text("utf-8")
        assert " style=" not in html, file
        assert " onclick=" not in html, file
        assert "<style" not in html, file
        assert "<script>" not in html, file
